#include "ascend/memscope_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "ascend/csv/csv_values.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "support/byte_cursor.h"
#include "support/history/name_stacks.h"
#include "support/history/tensor_ledger.h"
#include "support/read_error.h"

namespace memtool::formats::ascend {

namespace {

std::int64_t BytesOf(std::string_view attributes, std::string_view key) {
  const auto bytes = ParseNumber<std::int64_t>(FindAttribute(attributes, key));
  return bytes && *bytes >= 0 ? *bytes : -1;
}

DomainKind KindOf(std::int32_t device, std::string_view type) {
  return device >= 0             ? DomainKind::kDevice
         : type == "HOST_PINNED" ? DomainKind::kPinned
                                 : DomainKind::kCpu;
}

}  // namespace

std::uint32_t MemscopeEvents::Intern(std::string_view text) {
  if (text.size() > limits_.string_bytes) {
    ThrowRead(ErrorCode::kLimit, 0, {}, "a text longer than the limit on strings",
              "--max string-bytes=SIZE raises it");
  }
  return texts_.Intern(std::as_bytes(std::span(text.data(), text.size())));
}

bool MemscopeEvents::Add(const MemscopeRow& row) {
  const auto time = ParseMemscopeTime(row.time);
  if (calls_.size() + edges_.size() >= std::min<std::uint64_t>(limits_.samples, UINT32_MAX)) {
    ThrowRead(ErrorCode::kLimit, 0, {}, fmt::format("more than {} events", limits_.samples),
              "lift it with --max samples=N");
  }
  if (row.event == "MALLOC" || row.event == "FREE") {
    return time && AddCall(row, *time, row.event == "FREE");
  }
  if (row.event == "OP_LAUNCH") {
    const auto id = ParseNumber<std::uint64_t>(row.id);
    const bool begins = row.type.ends_with("_START");
    if (!time || !id || (!begins && !row.type.ends_with("_END"))) {
      return false;
    }
    edges_.push_back({.time = *time,
                      .id = *id,
                      .thread = Intern(row.thread),
                      .name = Intern(row.name),
                      .begins = begins});
    return true;
  }
  if (row.event == "MSTX" && row.type == "Mark" && time) {
    history_.marks.push_back({.name = std::string(row.name), .begin = *time, .end = *time});
  }
  return true;  // accesses, kernels and snapshots say nothing about allocations
}

bool MemscopeEvents::AddCall(const MemscopeRow& row, std::int64_t time, bool frees) {
  const std::string_view pointer = row.pointer.empty() || row.pointer == "N/A"
                                       ? FindAttribute(row.attributes, "addr")
                                       : row.pointer;
  const auto address = ParsePointer(pointer);
  const auto id = ParseNumber<std::uint64_t>(row.id);
  const auto process = ParseNumber<std::int64_t>(row.process);
  Call call{.time = time,
            .id = id.value_or(0),
            .address = address.value_or(0),
            .size = BytesOf(row.attributes, "size"),
            .used = BytesOf(row.attributes, "used"),
            .total = BytesOf(row.attributes, "total"),
            .thread = Intern(row.thread),
            .python_stack = Intern(row.python_stack),
            .c_stack = Intern(row.c_stack),
            .owner = Intern(FindAttribute(row.attributes, "owner")),
            .frees = frees};
  if (!address || !id || !process || (!frees && call.size < 0)) {
    return false;
  }
  Place place{.device = ParseDevice(row.device).value_or(-1),
              .process = *process,
              .type = std::string(row.type)};
  auto known = ledgers_.find(place);
  if (known == ledgers_.end()) {
    if (ledgers_.size() == kMaxLedgers) {
      ++left_out_;
      return true;
    }
    processes_.insert(place.process);
    known = ledgers_.emplace(std::move(place), Ledger()).first;
  }
  known->second.push_back(static_cast<std::uint32_t>(calls_.size()));
  calls_.push_back(call);
  return true;
}

// Operators nest; what never ends does so with the recording.
void MemscopeEvents::PairEdges() {
  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.thread, a.id, a.time) < std::tie(b.thread, b.id, b.time);
  });
  std::vector<Edge> open;
  const auto close = [&](std::size_t from, std::int64_t end) {
    for (; open.size() > from; open.pop_back()) {
      spans_.push_back({.begin = open.back().time,
                        .end = std::max(end, open.back().time),
                        .name = open.back().name,
                        .thread = open.back().thread});
    }
  };
  for (const Edge& edge : edges_) {
    if (!open.empty() && open.back().thread != edge.thread) {
      close(0, INT64_MAX);
    }
    if (edge.begins) {
      open.push_back(edge);
      continue;
    }
    // Ends that lack their begin end nothing. Deep nesting is not searched for ever.
    constexpr std::size_t kSearched = 64;
    for (std::size_t i = open.size(); i > open.size() - std::min(open.size(), kSearched); --i) {
      if (open[i - 1].name == edge.name) {
        close(i - 1, edge.time);
        break;
      }
    }
  }
  close(0, INT64_MAX);
  edges_ = {};
}

void MemscopeEvents::Finish() {
  PairEdges();
  history_.streams = {0};
  history_.clock = Clock::kUnix;
  CodeStacks code(
      builder_, spans_,
      [this](std::uint32_t text) { return PlaceOfPythonCall(AsText(texts_[text])); },
      limits_.depth);
  std::vector<CodeInstant> instants;
  instants.reserve(calls_.size());
  for (const Call& call : calls_) {
    instants.push_back({.time = call.time, .thread = call.thread});
  }
  around_ = code.Around(instants);
  DomainId driver;
  std::pair<std::int32_t, std::int64_t> of;  // whose driver it is
  for (auto& [place, calls] : ledgers_) {
    const std::pair now(place.device, place.process);
    driver = now == of ? driver : DomainId();
    const DomainId domain(history_.domains.size());
    AddTrace(place, calls, driver, code);
    if (place.driver()) {
      driver = domain;
      of = now;
    }
  }
  std::stable_sort(history_.marks.begin(), history_.marks.end(),
                   [](const Mark& a, const Mark& b) { return a.begin < b.begin; });
  builder_.SetHistory(std::move(history_));
  AddDiagnostics(code.cut());
}

// A ledger while its calls are replayed.
struct MemscopeEvents::Walk {
  Trace trace;
  KeyMap<std::uint64_t, std::int64_t> live;  // sizes by address
  TotalsCheck check;
  std::int64_t freed_before = 0;
  std::int64_t reserved = -1;
};

void MemscopeEvents::Push(const Walk& walk, Event event, LabelSetId labels) {
  event.domain = static_cast<std::uint8_t>(walk.trace.blocks.value());
  history_.events.push_back(event);
  history_.labels.push_back(labels);
}

void MemscopeEvents::Reserve(Walk& walk, const Call& call) {
  if (call.total < 0 || call.total == walk.reserved) {
    return;
  }
  if (walk.reserved < 0) {
    walk.trace.preexisting_reserved = call.total;
  } else {
    Push(walk,
         {.size = Magnitude(SaturatingSubtract(call.total, walk.reserved)),
          .time = call.time,
          .action = call.total > walk.reserved ? Action::kSegmentAlloc : Action::kSegmentFree},
         LabelSetId(0U));
  }
  walk.reserved = call.total;
}

// A free ends what its allocation took, whatever it says itself. None where neither is known.
std::optional<std::int64_t> MemscopeEvents::SizeOf(Walk& walk, const Call& call) {
  if (!call.frees) {
    walk.live[call.address] = call.size;
    return call.size;
  }
  const auto opened = walk.live.find(call.address);
  if (opened != walk.live.end()) {
    const std::int64_t size = opened->second;
    walk.live.erase(opened);
    return size;
  }
  if (call.size < 0) {
    ++unknown_frees_;
    return std::nullopt;
  }
  walk.freed_before = SaturatingAdd(walk.freed_before, call.size);
  return call.size;
}

void MemscopeEvents::AddTrace(const Place& place, Ledger& calls, DomainId driver,
                              CodeStacks& code) {
  std::sort(calls.begin(), calls.end(), [this](std::uint32_t a, std::uint32_t b) {
    return std::tie(calls_[a].time, calls_[a].id, a) < std::tie(calls_[b].time, calls_[b].id, b);
  });
  const DomainId domain(history_.domains.size());
  history_.domains.push_back(
      {.name = place.type,
       .device = place.device,
       .kind = KindOf(place.device, place.type),
       .level = place.driver() ? DomainLevel::kDriver : DomainLevel::kAllocator,
       .parent = driver});
  Walk walk{.trace = {.device = place.device,
                      .name = NameOf(place),
                      .first_event = history_.events.size(),
                      .blocks = domain,
                      .segments = domain}};
  for (const std::uint32_t row : calls) {
    const Call& call = calls_[row];
    Reserve(walk, call);
    const auto size = SizeOf(walk, call);
    if (!size) {
      continue;
    }
    walk.check.Add(call.frees ? SaturatingSubtract(0, *size) : *size, call.used);
    walk.check.EndMoment();
    Push(walk,
         {.key = call.address,
          .size = *size,
          .time = call.time,
          .stack = StackOf(row, code),
          .action = call.frees ? Action::kFreeCompleted : Action::kAlloc},
         LabelsOf(call.owner));
  }
  Trace& trace = walk.trace;
  trace.event_count = history_.events.size() - trace.first_event;
  trace.checked_changes = walk.check.checked();
  trace.agreeing_changes = walk.check.agreeing();
  trace.preexisting_bytes =
      std::max<std::int64_t>(SaturatingSubtract(walk.check.base(), walk.freed_before), 0);
  history_.traces.push_back(std::move(trace));
}

// The call's own stack, a frame per line, the innermost first; else the operators around it.
StackId MemscopeEvents::StackOf(std::uint32_t row, CodeStacks& code) {
  const Call& call = calls_[row];
  const bool python = !texts_[call.python_stack].empty();
  const std::uint32_t text = python ? call.python_stack : call.c_stack;
  std::string_view lines = AsText(texts_[text]);
  if (lines.empty()) {
    return code.GetStack(around_[row]);
  }
  const auto [known, added] = stacks_.try_emplace(text, 0U);
  if (added) {
    std::vector<std::uint32_t> frames;
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      const std::string_view line = lines.substr(0, end);
      if (!line.empty() && frames.size() < limits_.depth) {
        frames.push_back(Intern(line));
      }
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    std::reverse(frames.begin(), frames.end());
    for (const std::uint32_t frame : frames) {
      known->second = code.GetNode(known->second, frame);
    }
  }
  return code.GetStack(known->second);
}

LabelSetId MemscopeEvents::LabelsOf(std::uint32_t owner) {
  const std::string_view text = AsText(texts_[owner]);
  if (text.empty()) {
    return LabelSetId(0U);
  }
  const auto [known, added] = labels_.try_emplace(owner, LabelSetId(0U));
  if (added) {
    const Label label{
        .key = builder_.Intern("owner"), .text = builder_.Intern(text), .unit = StringId(0U)};
    known->second = builder_.InternLabels(std::span(&label, 1));
  }
  return known->second;
}

// PyTorch's allocator is what is meant by the device's memory; others say who they are.
std::string MemscopeEvents::NameOf(const Place& place) const {
  std::string name = place.device < 0 ? "host" : fmt::format("NPU:{}", place.device);
  name += place.type == "PTA" ? "" : " " + place.type;
  return processes_.size() > 1 ? fmt::format("{} (pid {})", name, place.process) : name;
}

void MemscopeEvents::AddDiagnostics(std::uint64_t cut) const {
  builder_.AddDiagnostic(Severity::kWarning, "unknown_free",
                         "frees without a size whose allocation the recording does not hold",
                         unknown_frees_);
  builder_.AddDiagnostic(Severity::kDamage, "skipped_row",
                         "calls beyond 250 combinations of process, device and allocator",
                         left_out_);
  builder_.AddDiagnostic(Severity::kNote, "deep_stack",
                         "stacks deeper than --max depth: outermost frames left out", cut);
}

}  // namespace memtool::formats::ascend
