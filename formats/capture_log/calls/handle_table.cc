#include "capture_log/calls/handle_table.h"

namespace memtool::formats::capture_log {

void HandleTable::Add(std::uint64_t handle, const Allocation& allocation) {
  index_[handle] = handles_.size();
  handles_.push_back({.allocation = allocation, .value = handle});
}

void HandleTable::Retain(std::uint64_t handle) {
  if (const auto found = index_.find(handle); found != index_.end()) {
    ++handles_[found->second].references;
  }
}

bool HandleTable::EndIfUnused(const Call& call, std::size_t handle, Ended& ended) {
  Handle& row = handles_[handle];
  if (row.gone || row.references > 0 || row.mappings > 0) {
    return false;
  }
  row.gone = true;
  if (const auto found = index_.find(row.value); found != index_.end() && found->second == handle) {
    index_.erase(found);
  }
  if (!row.allocation.imported) {
    ended.handles.emplace_back(handle,
                               history_.AddEnd(call, row.allocation.place, Action::kFreeCompleted));
  }
  return true;
}

std::optional<HandleTable::Ended> HandleTable::Release(const Call& call, std::uint64_t handle) {
  const auto found = index_.find(handle);
  if (found == index_.end()) {
    return std::nullopt;
  }
  const std::size_t at = found->second;
  Ended ended{.released = at};
  --handles_[at].references;
  const bool gone = EndIfUnused(call, at, ended);
  if (const Handle& row = handles_[at]; !gone && row.references == 0 && !row.allocation.imported) {
    ended.requested = history_.AddEnd(call, row.allocation.place, Action::kFreeRequested);
  }
  return ended;
}

void HandleTable::Map(const Call& call, std::uint64_t handle, std::uint64_t address,
                      std::uint64_t size) {
  const auto found = index_.find(handle);
  if (found == index_.end()) {
    return;
  }
  const auto [mapping, added] = mapped_.emplace(address, Mapping{.handle = found->second});
  if (!added) {
    return;
  }
  Handle& row = handles_[found->second];
  ++row.mappings;
  if (!row.allocation.imported) {
    mapping->second.range = history_.OpenRange(call, row.allocation.place, address, size);
  }
}

HandleTable::Ended HandleTable::Unmap(const Call& call, std::uint64_t address, std::uint64_t size) {
  Ended ended;
  auto at = mapped_.lower_bound(address);
  while (at != mapped_.end() && at->first - address < size) {
    const Mapping mapping = at->second;
    ended.mappings.emplace_back(*at);
    if (!handles_[mapping.handle].allocation.imported) {
      history_.CloseRange(call, mapping.range);
    }
    --handles_[mapping.handle].mappings;
    EndIfUnused(call, mapping.handle, ended);
    at = mapped_.erase(at);
  }
  return ended;
}

void HandleTable::Restore(const Ended& ended) {
  for (const auto& [handle, event] : ended.handles) {
    handles_[handle].gone = false;
    index_.emplace(handles_[handle].value, handle);
    history_.Refuse(event);
  }
  for (const auto& [address, mapping] : ended.mappings) {
    ++handles_[mapping.handle].mappings;
    mapped_.emplace(address, mapping);
    if (!handles_[mapping.handle].allocation.imported) {
      history_.ReopenRange(mapping.range);
    }
  }
  if (ended.released) {
    ++handles_[*ended.released].references;
  }
  if (ended.requested) {
    history_.Refuse(*ended.requested);
  }
}

}  // namespace memtool::formats::capture_log
