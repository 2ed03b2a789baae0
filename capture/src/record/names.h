// Names that outlive a log: those of tags, which stay pushed in a forked child, and of marks that
// come before the first event. The caller holds the log's lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtool::capture {

struct Name {
  const char* text = nullptr;
  std::size_t length = 0;
};

inline constexpr std::uint32_t kMaxNames = 12288;

// The same id for the same text, from 1; 0 when there is no room for another.
std::uint32_t InternName(const Name& name);
Name ToName(std::uint32_t id);

}  // namespace memtool::capture
