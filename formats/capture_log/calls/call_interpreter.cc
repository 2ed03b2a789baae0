#include "capture_log/calls/call_interpreter.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace memtool::formats::capture_log {

namespace {

// Keys of one trace come from several spaces: arrays and handles are kept apart from pointers.
std::uint64_t KeyInTrace(wire::Space space, std::uint64_t key) {
  const bool pointer = space <= wire::Space::kHostPointer || space >= wire::Space::kUser;
  return pointer ? key : key ^ static_cast<std::uint64_t>(space) << 56U;
}

}  // namespace

CallCounts CallInterpreter::counts() const {
  CallCounts counts = counts_;
  counts.unknown_attributes = attribution_.unknown();
  return counts;
}

void CallInterpreter::Alloc(const Call& call) {
  const AttributesRow* attributes = attribution_.GetAttributes(call);
  const DomainRow* domain =
      attributes == nullptr ? nullptr : attribution_.DomainInPool(*attributes);
  if (domain == nullptr) {
    return;
  }
  counts_.estimated += call.estimated ? 1 : 0;
  Call row = call;
  row.key = KeyInTrace(domain->space, call.key);
  const PointerTable::Key key(domain->space, call.key);
  const bool is_handle = domain->space == wire::Space::kVmmHandle;
  if (is_handle) {
    row.key ^= handles_.CountUse(call.key) << 48U;
  } else {
    counts_.reopened += pointers_.EndForgotten(call, key) ? 1 : 0;
  }
  // As the log names it: `domain` may have another name, from its pool.
  const bool pooled = attribution_.GetDomain(*attributes)->name == "async";
  const Allocation allocation{.place = history_.Add(row, *attributes, *domain, Action::kAlloc),
                              .context = attributes->context,
                              .pooled = pooled};
  if (is_handle) {
    handles_.Add(call.key, allocation);
  } else {
    pointers_.Add(key, allocation);
  }
}

void CallInterpreter::Free(const Call& call) {
  const AttributesRow* attributes = attribution_.GetAttributes(call);
  const DomainRow* domain = attributes == nullptr ? nullptr : attribution_.GetDomain(*attributes);
  if (domain == nullptr) {
    return;
  }
  LastFree& last = last_free_[attributes->thread];
  last = {.key = call.key, .effect = NothingKnown{}};
  if (auto ended = pointers_.Free(call, {domain->space, call.key}); ended) {
    last.effect = std::move(*ended);
  } else if (domain->space == wire::Space::kDevicePointer && graph_pointers_.erase(call.key) > 0) {
    // Memory of a graph: it is freed with the graph's own.
    last.effect = GraphPointerFreed{};
  } else {
    ++counts_.unknown_frees;
  }
}

void CallInterpreter::Mark(const Call& call, const std::string& name, std::int64_t value) {
  history_.AddMark(call, name, value);
}

// numbers: size, the driver's status, bytes that it said are free + 1.
void CallInterpreter::Failed(const Call& call) {
  const AttributesRow* attributes = attribution_.GetAttributes(call);
  const DomainRow* domain =
      attributes == nullptr ? nullptr : attribution_.DomainInPool(*attributes);
  if (domain == nullptr) {
    return;
  }
  constexpr std::uint64_t kOutOfMemory = 2;
  const bool oom = call.numbers[1] == kOutOfMemory;
  counts_.failed_calls += oom ? 0 : 1;
  Call row = call;
  row.key = call.numbers[2] == 0 ? 0 : call.numbers[2] - 1;
  row.size = static_cast<std::int64_t>(
      std::min<std::uint64_t>(call.numbers[0], std::numeric_limits<std::int64_t>::max()));
  history_.Add(row, *attributes, *domain, oom ? Action::kOom : Action::kOther);
}

// numbers: handle.
void CallInterpreter::Release(const Call& call) {
  const AttributesRow* attributes = attribution_.GetAttributes(call);
  if (attributes == nullptr) {
    return;
  }
  LastFree& last = last_free_[attributes->thread];
  last = {.key = call.numbers[0], .effect = NothingKnown{}};
  if (auto ended = handles_.Release(call, call.numbers[0]); ended) {
    last.effect = std::move(*ended);
  } else {
    ++counts_.unknown_frees;
  }
}

// numbers: address, size.
void CallInterpreter::Unmap(const Call& call) {
  if (const AttributesRow* attributes = attribution_.GetAttributes(call); attributes != nullptr) {
    last_free_[attributes->thread] = {
        .key = call.numbers[0], .effect = handles_.Unmap(call, call.numbers[0], call.numbers[1])};
  }
}

// No memory moves, but a refusal that follows is about this call, not about the unmapping before
// it.
void CallInterpreter::Unreserve(const Call& call) {
  if (const AttributesRow* attributes = attribution_.GetAttributes(call); attributes != nullptr) {
    last_free_[attributes->thread] = {.key = call.numbers[0], .effect = AddressesReleased{}};
  }
}

// numbers: context, device + 1.
void CallInterpreter::ContextEnd(const Call& call) {
  const std::uint64_t context = call.numbers[0];
  const AttributesRow* attributes = attribution_.GetAttributes(call);
  if (context == 0 || attributes == nullptr) {
    return;
  }
  last_free_[attributes->thread] = {.key = context, .effect = pointers_.EndContext(call, context)};
}

// numbers: key, size.
void CallInterpreter::Import(const Call& call) {
  const AttributesRow* attributes = attribution_.GetAttributes(call);
  const DomainRow* domain = attributes == nullptr ? nullptr : attribution_.GetDomain(*attributes);
  if (domain == nullptr) {
    return;
  }
  ++counts_.imports;
  if (domain->space == wire::Space::kVmmHandle) {
    handles_.Add(call.numbers[0], {.imported = true});
  } else {
    pointers_.Import({domain->space, call.numbers[0]});
  }
}

// numbers: pool, operation, device + 1. The next creation is the earliest that can reuse a
// destroyed pool's handle.
void CallInterpreter::Pool(const Call& call) {
  if (call.numbers[1] == static_cast<std::uint64_t>(wire::PoolOp::kCreate)) {
    attribution_.SetPool(
        call.numbers[0], call,
        static_cast<std::int32_t>(std::min<std::uint64_t>(call.numbers[2], INT32_MAX)) - 1);
  } else if (call.numbers[1] == static_cast<std::uint64_t>(wire::PoolOp::kCreateAnywhere)) {
    attribution_.SetPool(call.numbers[0], call, std::nullopt);
  }
}

// numbers: operation, pointer, size.
void CallInterpreter::GraphNode(const Call& call) {
  if (call.numbers[0] == static_cast<std::uint64_t>(wire::GraphOp::kFree)) {
    graph_pointers_.erase(call.numbers[1]);
    return;
  }
  ++counts_.graph_nodes;
  counts_.graph_bytes += std::min(call.numbers[2], UINT64_MAX - counts_.graph_bytes);
  graph_pointers_.insert(call.numbers[1]);
}

// numbers: key, the driver's status.
void CallInterpreter::FreeFailed(const Call& call) {
  const AttributesRow* attributes = attribution_.GetAttributes(call);
  if (attributes == nullptr) {
    return;
  }
  ++counts_.refused_frees;
  LastFree& last = last_free_[attributes->thread];
  if (last.key == call.numbers[0]) {
    TakeBack(last);
    last = {};
  }
}

void CallInterpreter::TakeBack(const LastFree& last) {
  if (std::holds_alternative<NothingKnown>(last.effect)) {
    counts_.unknown_frees -= counts_.unknown_frees > 0 ? 1 : 0;
  } else if (std::holds_alternative<GraphPointerFreed>(last.effect)) {
    graph_pointers_.insert(last.key);
  } else if (const auto* pointer = std::get_if<PointerTable::Ended>(&last.effect)) {
    pointers_.Restore(*pointer);
  } else if (const auto* handles = std::get_if<HandleTable::Ended>(&last.effect)) {
    handles_.Restore(*handles);
  } else if (const auto* context = std::get_if<ContextEnded>(&last.effect)) {
    for (const PointerTable::Ended& ended : *context) {
      pointers_.Restore(ended);
    }
  }
}

void CallInterpreter::Other(wire::Tag tag, const Call& call) {
  switch (tag) {
    case wire::Tag::kFailed:
      return Failed(call);
    case wire::Tag::kFreeFailed:
      return FreeFailed(call);
    case wire::Tag::kRelease:
      return Release(call);
    case wire::Tag::kRetain:
      return handles_.Retain(call.numbers[0]);
    case wire::Tag::kMap:
      return handles_.Map(call, call.numbers[0], call.numbers[1], call.numbers[2]);
    case wire::Tag::kUnmap:
      return Unmap(call);
    case wire::Tag::kUnreserve:
      return Unreserve(call);
    case wire::Tag::kImport:
      return Import(call);
    case wire::Tag::kContextEnd:
      return ContextEnd(call);
    case wire::Tag::kPool:
      return Pool(call);
    case wire::Tag::kGraphNode:
      return GraphNode(call);
    default:
      return;  // reserved addresses: no memory moves
  }
}

}  // namespace memtool::formats::capture_log
