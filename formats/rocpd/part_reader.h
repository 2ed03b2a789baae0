// The tables of one process in a rocpd database: those of one suffix, whose numbers refer to each
// other.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rocpd/call_stacks.h"
#include "rocpd/tables.h"
#include "rocpd/times.h"

namespace memtool::formats::rocpd {

class PartReader {
 public:
  PartReader(sqlite::DatabaseFile& file, std::string suffix, std::uint32_t part, Tables& out)
      : file_(file), suffix_(std::move(suffix)), part_(part), out_(out) {}

  // All rows of memory; then, once those of all parts are in order, what was around them.
  Result<void> ReadMemory(RecordingBuilder& builder, const Limits& limits);
  Result<void> ReadAround(const ThreadTimes& times);

 private:
  struct Track {
    std::int64_t process = -1;
    std::int64_t thread = -1;
    std::optional<std::int64_t> agent;
    std::int64_t queue = 0;
    std::int64_t stream = 0;
    friend bool operator==(const Track&, const Track&) = default;
  };
  template <class Visit>
  Result<void> ForEach(std::string_view table, std::initializer_list<std::string_view> columns,
                       Visit visit, std::optional<sqlite::Except> except = {}) {
    return file_.ForEach(std::string(table) + suffix_, columns, visit, except);
  }
  Result<void> ReadAbout();
  Result<void> ReadTracks();
  Result<void> ReadRangeNames();
  Result<void> ReadStacks(CallStacks& stacks, std::size_t first);
  // True when it is one.
  bool AddMemory(const sqlite::TableScan& row);
  void AddRegion(const sqlite::TableScan& row, const ThreadTimes& times);
  Result<void> ReadMessages();
  Result<void> ReadNames();

  [[nodiscard]] Track TrackOf(const sqlite::TableScan& row) const;
  std::uint32_t OriginOf(const Track& track, rocm::Level level);
  std::uint32_t SourceOf(const Source& source);
  std::uint32_t ThreadOf(std::int64_t process, std::int64_t thread);
  std::uint32_t NameOf(std::int64_t string);
  std::uint32_t AddName(std::string text, bool is_range);

  sqlite::DatabaseFile& file_;
  std::string suffix_;
  std::uint32_t part_;
  Tables& out_;
  Timestamps times_;
  KeyMap<std::int64_t, Track> tracks_;
  RowVector<std::int64_t> events_;  // of each row of memory, where any has a call stack
  KeyMap<Source, std::uint32_t> source_index_;
  KeyMap<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> origin_index_;
  // Those of the last allocation and of the last free, which may have no agent: most have the same.
  struct LastOrigin {
    Track track;
    rocm::Level level = rocm::Level::kReal;
    std::optional<std::uint32_t> origin;
  };
  std::array<LastOrigin, 2> last_;
  KeyMap<std::pair<std::int64_t, std::int64_t>, std::uint32_t> thread_index_;
  KeySet<std::int64_t> range_names_;                // strings that are functions of roctx
  KeyMap<std::int64_t, std::uint32_t> name_index_;  // by string
  // Ranges whose names are in their events: rows of spans and of ranges.
  struct Unnamed {
    std::int64_t event = 0;
    std::size_t span = 0;
    std::size_t range = 0;
  };
  std::vector<Unnamed> unnamed_;
  KeyMap<std::string, std::uint32_t> message_index_;
};

}  // namespace memtool::formats::rocpd
