// The call stacks of a rocpd database: rows of tables of their own in schema 4; in schema 3 a text
// of JSON at the event, for which its producers have two forms.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "memtool/formats/limits.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording_builder.h"
#include "sqlite/database_file.h"

namespace memtool::formats::rocpd {

struct Frame {
  std::string function;
  std::string file;
  std::int64_t line = 0;
};

// The frames of a text of JSON, innermost first; none where it is no JSON.
// {"frames":[{"program_counter":{"function":...,"filename":...,"line_number":...}},...]} and
// "entries" for lines, as profiler-hub writes them; {"name":...,"file":...}, with "inlined" for
// what was inlined there, as rocprof-sys does.
std::optional<std::vector<Frame>> ParseFrames(std::string_view json, std::uint64_t depth);

// Those of the events of one process.
class CallStacks {
 public:
  CallStacks(sqlite::DatabaseFile& file, std::string_view suffix, RecordingBuilder& builder,
             const Limits& limits)
      : file_(file), suffix_(suffix), builder_(builder), limits_(limits) {}

  // Whether any event has one.
  Result<bool> Any();
  // Once; `events` are sorted.
  Result<void> Read(std::span<const std::int64_t> events);
  [[nodiscard]] StackId Of(std::int64_t event) const;

  // Frames beyond the limit, and texts that are no JSON.
  [[nodiscard]] std::uint64_t deep() const { return deep_; }
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }

 private:
  struct Row {
    std::int64_t event = 0;
    std::uint32_t depth = 0;  // 0 = innermost
    std::uint32_t frame = 0;
  };

  Result<void> ReadRows(std::span<const std::int64_t> events);
  Result<void> ReadTexts(std::span<const std::int64_t> events);
  StackId StackOf(std::string_view stack, std::string_view lines);
  LocationId LocationOf(const Frame& frame);
  StackId InternStack(std::span<const LocationId> locations);

  sqlite::DatabaseFile& file_;
  std::string suffix_;
  RecordingBuilder& builder_;
  const Limits& limits_;
  KeyMap<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, LocationId> locations_;
  KeyMap<std::string, StackId> known_;                    // by the bytes of locations
  KeyMap<std::string, StackId> texts_;                    // of schema 3
  std::vector<std::pair<std::int64_t, StackId>> stacks_;  // by event
  std::uint64_t deep_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace memtool::formats::rocpd
