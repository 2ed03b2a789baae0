// Remembers lists by their bytes: those of a pickle that consist of memo references only, arrays of
// JSON. A snapshot repeats a few hundred stacks a million times: comparing bytes is several times
// faster than following them. What begins with the bytes of a whole list is that list, so its end
// need not be searched for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/data_value.h"

namespace memtool::formats {

class KnownRuns {
 public:
  struct Run {
    std::size_t begin = 0;  // in bytes_
    std::size_t size = 0;
    Value value;  // the list
  };

  // The remembered run that `ahead` begins with, or nullptr.
  [[nodiscard]] const Run* Find(std::span<const std::byte> ahead) const;
  // `run`: all of a list, from its first byte to the one that ends it.
  void Add(std::span<const std::byte> run, const Value& value);

 private:
  static constexpr std::size_t kGroups = std::size_t{1} << 14U;
  static constexpr std::size_t kWays = 4;

  // Runs that begin with the same bytes. When there are too many, those with enough bytes move to
  // groups of prefixes twice as long.
  struct Group {
    std::uint64_t hash = 0;  // 0 = free
    std::uint8_t count = 0;
    bool deeper = false;
    std::array<std::uint32_t, kWays> runs{};
  };

  [[nodiscard]] std::size_t Slot(std::uint64_t hash) const;
  [[nodiscard]] std::span<const std::byte> Bytes(const Run& run) const {
    return std::span(bytes_).subspan(run.begin, run.size);
  }
  void Place(std::uint32_t run, std::size_t prefix);
  void Split(Group& group, std::size_t prefix);

  std::vector<Group> groups_;  // kGroups of them once there is a run
  std::size_t used_ = 0;
  std::vector<Run> runs_;
  std::vector<std::byte> bytes_;
};

}  // namespace memtool::formats
