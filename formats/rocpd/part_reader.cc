#include "rocpd/part_reader.h"

#include <fmt/format.h>
#include <rapidjson/memorystream.h>

#include <algorithm>
#include <array>

#include "support/json.h"
#include "support/read_error.h"

namespace memtool::formats::rocpd {

namespace {

using rocm::Level;
using sqlite::Except;
using sqlite::TableScan;

constexpr std::size_t kMaxRanges = 200'000;
constexpr std::size_t kNoName = SIZE_MAX;

template <class Value>
using Words = std::array<std::pair<std::string_view, Value>, 4>;
constexpr Words<Type> kTypes{{{"ALLOC", Type::kAlloc},
                              {"FREE", Type::kFree},
                              {"REALLOC", Type::kRealloc},
                              {"RECLAIM", Type::kReclaim}}};
constexpr Words<Level> kLevels{
    {{"REAL", Level::kReal}, {"VIRTUAL", Level::kVirtual}, {"SCRATCH", Level::kScratch}, {}}};

template <class Value>
std::optional<Value> Find(const Words<Value>& words, std::string_view text) {
  const auto* found = std::find_if(words.begin(), words.end(), [text](const auto& word) {
    return !text.empty() && word.first == text;
  });
  return found == words.end() ? std::nullopt : std::optional(found->second);
}

// What a program called a range of roctx: {"message":"forward"}.
struct MessageHandler : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, MessageHandler> {
  bool Default() {
    is_message = false;
    return true;
  }
  bool Key(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    is_message = std::string_view(text, size) == "message";
    return true;
  }
  bool String(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    if (is_message) {
      message.assign(text, size);
    }
    return Default();
  }

  bool is_message = false;
  std::string message;
};

std::string MessageOf(std::string_view json) {
  if (json.find("message") == std::string_view::npos) {
    return {};
  }
  rapidjson::MemoryStream stream(json.data(), json.size());
  MessageHandler handler;
  JsonReader reader;
  reader.Parse<rapidjson::kParseIterativeFlag>(stream, handler);
  return std::move(handler.message);
}

}  // namespace

Result<void> PartReader::ReadMemory(RecordingBuilder& builder, const Limits& limits) {
  MEMTOOL_TRY(ReadAbout());
  MEMTOOL_TRY(ReadTracks());
  CallStacks stacks(file_, suffix_, builder, limits);
  const auto with_stacks = stacks.Any();
  MEMTOOL_TRY(with_stacks);
  const std::size_t first = out_.memory.size();
  MEMTOOL_TRY(
      ForEach("rocpd_memory_allocate",
              {"pid", "tid", "agent_id", "queue_id", "stream_id", "track_id", "type", "level",
               "start", "end", "start_id", "end_id", "address", "size", "event_id"},
              [&](const TableScan& row) {
                if (AddMemory(row) && *with_stacks) {
                  constexpr int kEvent = 14;
                  events_.push_back(row.Number(kEvent).value_or(-1));
                }
              }));
  return *with_stacks ? ReadStacks(stacks, first) : Result<void>{};
}

// Of the rows from `first` on, which are those of events_.
Result<void> PartReader::ReadStacks(CallStacks& stacks, std::size_t first) {
  RowVector<std::int64_t> wanted = events_;
  std::sort(wanted.begin(), wanted.end());
  MEMTOOL_TRY(stacks.Read({wanted.data(), wanted.size()}));
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const StackId stack = stacks.Of(events_[i]);
    out_.memory[first + i].stack = stack;
    out_.has_call_stacks = out_.has_call_stacks || stack.valid();
  }
  events_ = {};
  out_.deep_frames += stacks.deep();
  out_.damaged_stacks += stacks.damaged();
  return {};
}

Result<void> PartReader::ReadAround(const ThreadTimes& times) {
  MEMTOOL_TRY(ReadRangeNames());
  MEMTOOL_TRY(ForEach("rocpd_region",
                      {"pid", "tid", "agent_id", "queue_id", "stream_id", "track_id", "start",
                       "end", "start_id", "end_id", "name_id", "event_id"},
                      [&](const TableScan& row) { AddRegion(row, times); }));
  times_ = {};
  MEMTOOL_TRY(ReadMessages());
  return ReadNames();
}

Result<void> PartReader::ReadAbout() {
  MEMTOOL_TRY(ForEach("rocpd_metadata", {"tag", "value"}, [this](const TableScan& row) {
    if (row.Text(0) == "schema_version") {
      out_.version = row.Text(1);
    }
  }));
  MEMTOOL_TRY(ForEach("rocpd_info_node", {"hostname"},
                      [this](const TableScan& row) { out_.host = row.Text(0); }));
  MEMTOOL_TRY(ForEach("rocpd_info_process", {"id", "pid", "command"}, [this](const TableScan& row) {
    const std::int64_t id = row.Number(0).value_or(-1);
    out_.processes.emplace(std::pair(part_, id), Process{.pid = row.Number(1).value_or(id),
                                                         .command = std::string(row.Text(2))});
  }));
  return ForEach("rocpd_info_agent", {"id", "type", "type_index"}, [this](const TableScan& row) {
    const std::string_view type = row.Text(1);
    const std::int64_t index = row.Number(2).value_or(-1);
    if (index >= 0 && index <= INT32_MAX) {
      out_.agents.emplace(std::pair(part_, row.Number(0).value_or(-1)),
                          rocm::ParseAgent(fmt::format("{} {}", type, index)));
    }
  });
}

// Schema 4 keeps places and times in tables of their own.
Result<void> PartReader::ReadTracks() {
  MEMTOOL_TRY(ForEach("rocpd_track", {"id", "pid", "tid", "agent_id", "queue_id", "stream_id"},
                      [this](const TableScan& row) {
                        tracks_.emplace(row.Number(0).value_or(-1),
                                        Track{.process = row.Number(1).value_or(-1),
                                              .thread = row.Number(2).value_or(-1),
                                              .agent = row.Number(3),
                                              .queue = row.Number(4).value_or(0),
                                              .stream = row.Number(5).value_or(0)});
                      }));
  return ForEach("rocpd_timestamp", {"id", "value"}, [this](const TableScan& row) {
    const auto id = row.Number(0);
    const auto time = row.Number(1);
    if (id && time) {
      times_.Add(*id, *time);
    }
  });
}

// Of a row that begins with pid, tid, agent_id, queue_id, stream_id and track_id.
PartReader::Track PartReader::TrackOf(const TableScan& row) const {
  enum : int { kProcess, kThread, kAgent, kQueue, kStream, kTrack };
  if (const auto track = row.Number(kTrack)) {
    const auto known = tracks_.find(*track);
    return known == tracks_.end() ? Track{} : known->second;
  }
  return {.process = row.Number(kProcess).value_or(-1),
          .thread = row.Number(kThread).value_or(-1),
          .agent = row.Number(kAgent),
          .queue = row.Number(kQueue).value_or(0),
          .stream = row.Number(kStream).value_or(0)};
}

bool PartReader::AddMemory(const TableScan& row) {
  enum : int { kType = 6, kLevel, kStart, kEnd, kStartId, kEndId, kAddress, kSize };
  const auto type = Find(kTypes, row.Text(kType));
  const auto level = Find(kLevels, row.Text(kLevel));
  const bool ends = type == Type::kFree || type == Type::kReclaim;
  const auto time = row.Number(ends ? kStart : kEnd);
  const auto when = time ? time : times_.At(row.Number(ends ? kStartId : kEndId));
  const bool scratch = level == Level::kScratch;
  const auto address = scratch ? std::optional<std::int64_t>(0) : row.Number(kAddress);
  const std::int64_t size = row.Number(kSize).value_or(ends ? 0 : -1);
  if (!type || !level || !when || !address || size < 0) {
    ++out_.damaged_rows;
    return false;
  }
  if (ends && !scratch && *address == 0) {
    ++out_.null_frees;
    return false;
  }
  const Track track = TrackOf(row);
  out_.memory.push_back({.time = *when,
                         .address = static_cast<std::uint64_t>(scratch ? track.queue : *address),
                         .size = size,
                         .stack = {},
                         .place = MemoryRow::Place(OriginOf(track, *level), *type)});
  return true;
}

std::uint32_t PartReader::OriginOf(const Track& track, Level level) {
  LastOrigin& last = last_.at(track.agent ? 1 : 0);
  if (last.origin && track == last.track && level == last.level) {
    return *last.origin;
  }
  const Origin origin{.source = SourceOf({part_, track.process, track.agent.value_or(-1), level}),
                      .thread = ThreadOf(track.process, track.thread),
                      .stream = static_cast<std::uint32_t>(track.stream)};
  const auto [known, added] =
      origin_index_.emplace(std::tuple(origin.source, origin.thread, origin.stream),
                            static_cast<std::uint32_t>(out_.origins.size()));
  if (added) {
    constexpr std::size_t kMost = std::size_t{1} << (32U - MemoryRow::kTypeBits);
    if (out_.origins.size() == kMost) {
      ThrowRead(ErrorCode::kLimit, 0, {}, "more than a billion threads and streams");
    }
    out_.origins.push_back(origin);
  }
  last = {.track = track, .level = level, .origin = known->second};
  return known->second;
}

std::uint32_t PartReader::SourceOf(const Source& source) {
  const auto [known, added] =
      source_index_.emplace(source, static_cast<std::uint32_t>(out_.sources.size()));
  if (added) {
    out_.sources.push_back(source);
  }
  return known->second;
}

std::uint32_t PartReader::ThreadOf(std::int64_t process, std::int64_t thread) {
  const auto [known, added] = thread_index_.emplace(std::pair(process, thread), out_.thread_count);
  out_.thread_count += added ? 1 : 0;
  return known->second;
}

// Ranges of roctx are regions that are called as the function that began them.
Result<void> PartReader::ReadRangeNames() {
  return ForEach("rocpd_string", {"id", "string"}, [this](const TableScan& row) {
    if (row.Text(1).starts_with("roctx")) {
      range_names_.insert(row.Number(0).value_or(-1));
    }
  });
}

void PartReader::AddRegion(const TableScan& row, const ThreadTimes& times) {
  enum : int { kStart = 6, kEnd, kStartId, kEndId, kName, kEvent };
  const auto start = row.Number(kStart);
  const auto begin = start ? start : times_.At(row.Number(kStartId));
  const auto stop = row.Number(kEnd);
  const auto end = stop ? stop : times_.At(row.Number(kEndId));
  const auto string = row.Number(kName);
  if (!begin || !end || *end < *begin || !string) {
    return;
  }
  const Track track = TrackOf(row);
  const auto thread = thread_index_.find(std::pair(track.process, track.thread));
  const bool around =
      thread != thread_index_.end() && times.AnyWithin(thread->second, *begin, *end);
  const bool is_range = range_names_.contains(*string);
  Unnamed unnamed{.event = row.Number(kEvent).value_or(-1), .span = kNoName, .range = kNoName};
  if (around) {
    unnamed.span = out_.spans.size();
    out_.spans.push_back(
        {.begin = *begin, .end = *end, .name = NameOf(*string), .thread = thread->second});
  }
  if (is_range && out_.ranges.size() < kMaxRanges) {
    unnamed.range = out_.ranges.size();
    out_.ranges.push_back({.begin = *begin, .end = *end, .name = NameOf(*string)});
  } else {
    out_.ranges_left_out += is_range ? 1 : 0;
  }
  if (is_range && (around || unnamed.range != kNoName)) {
    unnamed_.push_back(unnamed);
  }
}

std::uint32_t PartReader::NameOf(std::int64_t string) {
  const auto [known, added] = name_index_.emplace(string, 0);
  if (added) {
    known->second = AddName({}, range_names_.contains(string));
  }
  return known->second;
}

std::uint32_t PartReader::AddName(std::string text, bool is_range) {
  out_.names.push_back(std::move(text));
  out_.is_range.push_back(is_range);
  return static_cast<std::uint32_t>(out_.names.size() - 1);
}

Result<void> PartReader::ReadMessages() {
  if (unnamed_.empty()) {
    return {};
  }
  const auto earlier = [](const Unnamed& a, const Unnamed& b) { return a.event < b.event; };
  std::stable_sort(unnamed_.begin(), unnamed_.end(), earlier);
  return ForEach(
      "rocpd_event", {"id", "extdata"},
      [&](const TableScan& row) {
        const auto [first, last] =
            std::equal_range(unnamed_.begin(), unnamed_.end(),
                             Unnamed{.event = row.Number(0).value_or(-1)}, earlier);
        const std::string message = first == last ? std::string() : MessageOf(row.Text(1));
        if (message.empty()) {
          return;
        }
        const auto [known, added] = message_index_.emplace(message, 0);
        if (added) {
          known->second = AddName(message, true);
        }
        for (auto at = first; at != last; ++at) {
          if (at->span != kNoName) {
            out_.spans[at->span].name = known->second;
          }
          if (at->range != kNoName) {
            out_.ranges[at->range].name = known->second;
          }
        }
      },
      Except{"extdata", "{}"});
}

Result<void> PartReader::ReadNames() {
  return ForEach("rocpd_string", {"id", "string"}, [this](const TableScan& row) {
    const auto known = name_index_.find(row.Number(0).value_or(-1));
    if (known != name_index_.end()) {
      out_.names[known->second] = row.Text(1);
    }
  });
}

}  // namespace memtool::formats::rocpd
