#include "rocpd/call_stacks.h"

#include <fmt/format.h>
#include <rapidjson/memorystream.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "memtool/profile/base/numbers.h"
#include "support/byte_cursor.h"
#include "support/json.h"

namespace memtool::formats::rocpd {

namespace {

using sqlite::Except;
using sqlite::TableScan;

constexpr std::string_view kRows = "rocpd_call_stack";
constexpr std::string_view kEvents = "rocpd_event";
constexpr std::string_view kEmpty = "{}";  // what producers write where there is no stack

// An object is a frame when it names a function. What is inlined into it lies within it, and ends
// before it does.
struct FramesHandler : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, FramesHandler> {
  explicit FramesHandler(std::uint64_t depth) : most(depth) {}

  bool Default() { return true; }
  bool StartObject() {
    open.emplace_back();
    return open.size() <= most;
  }
  bool Key(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    key.assign(text, size);
    return true;
  }
  bool String(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    const std::string_view value(text, size);
    if (open.empty()) {
      return true;
    }
    if (key == "function" || key == "name") {
      open.back().function = value;
    } else if (key == "filename" || key == "file" || key == "location") {
      open.back().file = value;
    } else if (key == "line") {
      SetLine(ParseNumber<std::uint64_t>(value).value_or(0));
    }
    return true;
  }
  bool Uint(unsigned value) { return Uint64(value); }
  bool Uint64(std::uint64_t value) {
    if (key == "line_number" || key == "line") {
      SetLine(value);
    }
    return true;
  }
  bool EndObject(rapidjson::SizeType /*size*/) {
    if (!open.back().function.empty()) {
      frames.push_back(std::move(open.back()));
    }
    open.pop_back();
    return true;
  }

  void SetLine(std::uint64_t value) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (!open.empty() && value <= kMost) {
      open.back().line = static_cast<std::int64_t>(value);
    }
  }

  std::uint64_t most;
  std::string key;
  std::vector<Frame> open;
  std::vector<Frame> frames;
};

// What the lines of an event say of the innermost frame: where it is, and what was inlined there.
void AddLines(std::vector<Frame> lines, std::vector<Frame>& stack) {
  std::vector<Frame> inlined;
  for (Frame& line : lines) {
    if (stack.empty() || line.function != stack.front().function) {
      inlined.push_back(std::move(line));
    } else if (stack.front().file.empty()) {
      stack.front() = std::move(line);
    }
  }
  stack.insert(stack.begin(), std::make_move_iterator(inlined.begin()),
               std::make_move_iterator(inlined.end()));
}

}  // namespace

std::optional<std::vector<Frame>> ParseFrames(std::string_view json, std::uint64_t depth) {
  rapidjson::MemoryStream stream(json.data(), json.size());
  FramesHandler handler(depth);
  JsonReader reader;
  return reader.Parse<rapidjson::kParseIterativeFlag>(stream, handler)
             ? std::optional(std::move(handler.frames))
             : std::nullopt;
}

Result<bool> CallStacks::Any() {
  for (const auto& [table, column] : {std::pair(kRows, std::string_view("event_id")),
                                      std::pair(kEvents, std::string_view("call_stack"))}) {
    auto scan = file_.Scan(std::string(table) + suffix_, {column}, Except{column, kEmpty});
    MEMTOOL_TRY(scan);
    const auto row = *scan ? (*scan)->Next() : Result<bool>(false);
    MEMTOOL_TRY(row);
    if (*row && (*scan)->Has(0)) {
      return true;
    }
  }
  return false;
}

Result<void> CallStacks::Read(std::span<const std::int64_t> events) {
  MEMTOOL_TRY(ReadRows(events));
  MEMTOOL_TRY(ReadTexts(events));
  std::stable_sort(stacks_.begin(), stacks_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return {};
}

StackId CallStacks::Of(std::int64_t event) const {
  const auto at =
      std::lower_bound(stacks_.begin(), stacks_.end(), event,
                       [](const auto& stack, std::int64_t wanted) { return stack.first < wanted; });
  return at != stacks_.end() && at->first == event ? at->second : StackId();
}

Result<void> CallStacks::ReadRows(std::span<const std::int64_t> events) {
  std::vector<Row> rows;
  KeyMap<std::int64_t, std::uint32_t> frame_index;  // by rocpd_info_pc
  MEMTOOL_TRY(file_.ForEach(
      std::string(kRows) + suffix_, {"event_id", "depth", "pc_id"}, [&](const TableScan& row) {
        const std::int64_t event = row.Number(0).value_or(-1);
        const std::int64_t depth = row.Number(1).value_or(-1);
        if (event < 0 || depth < 0 || !std::binary_search(events.begin(), events.end(), event)) {
          return;
        }
        if (static_cast<std::uint64_t>(depth) >= limits_.depth) {
          ++deep_;
          return;
        }
        const auto known = frame_index.emplace(row.Number(2).value_or(-1),
                                               static_cast<std::uint32_t>(frame_index.size()));
        rows.push_back({.event = event,
                        .depth = static_cast<std::uint32_t>(depth),
                        .frame = known.first->second});
      }));
  if (rows.empty()) {
    return {};
  }
  std::vector<LocationId> frames(frame_index.size());
  MEMTOOL_TRY(file_.ForEach(
      "rocpd_info_pc" + suffix_, {"id", "function", "file", "line"}, [&](const TableScan& row) {
        const auto known = frame_index.find(row.Number(0).value_or(-1));
        if (known != frame_index.end()) {
          frames[known->second] = LocationOf({.function = std::string(row.Text(1)),
                                              .file = std::string(row.Text(2)),
                                              .line = row.Number(3).value_or(0)});
        }
      }));
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.event, a.depth) < std::tie(b.event, b.depth);
  });
  std::vector<LocationId> stack;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    LocationId& frame = frames[rows[i].frame];
    frame = frame.valid() ? frame : LocationOf({});
    stack.push_back(frame);
    if (i + 1 == rows.size() || rows[i + 1].event != rows[i].event) {
      stacks_.emplace_back(rows[i].event, InternStack(stack));
      stack.clear();
    }
  }
  return {};
}

Result<void> CallStacks::ReadTexts(std::span<const std::int64_t> events) {
  return file_.ForEach(
      std::string(kEvents) + suffix_, {"id", "call_stack", "line_info"},
      [&](const TableScan& row) {
        const auto event = row.Number(0);
        if (!event || !row.Has(1) || !std::binary_search(events.begin(), events.end(), *event)) {
          return;
        }
        if (const StackId stack = StackOf(row.Text(1), row.Text(2)); stack.valid()) {
          stacks_.emplace_back(*event, stack);
        }
      },
      Except{"call_stack", kEmpty});
}

// Of the texts of an event, which are the same for many.
StackId CallStacks::StackOf(std::string_view stack, std::string_view lines) {
  // Texts have their sizes before them, so that no two pairs are one.
  const auto [known, added] =
      texts_.try_emplace(fmt::format("{},{}{}", stack.size(), stack, lines));
  if (!added) {
    return known->second;
  }
  auto frames = ParseFrames(stack, limits_.depth);
  auto inlined = lines.empty() ? std::vector<Frame>() : ParseFrames(lines, limits_.depth);
  damaged_ += frames && inlined ? 0 : 1;
  if (!frames) {
    return {};
  }
  if (inlined) {
    AddLines(*std::move(inlined), *frames);
  }
  if (frames->size() > limits_.depth) {
    deep_ += frames->size() - limits_.depth;
    frames->resize(limits_.depth);
  }
  std::vector<LocationId> locations;
  for (const Frame& frame : *frames) {
    locations.push_back(LocationOf(frame));
  }
  known->second = InternStack(locations);
  return known->second;
}

LocationId CallStacks::LocationOf(const Frame& frame) {
  const StringId name = builder_.Intern(frame.function);
  const StringId file = builder_.Intern(frame.file);
  const auto [known, added] = locations_.try_emplace({name.value(), file.value(), frame.line});
  if (added) {
    const std::array<Line, 1> line{
        {{.function = builder_.AddFunction({.name = name, .system_name = name, .filename = file}),
          .line = frame.line}}};
    known->second = builder_.AddLocation({}, line);
  }
  return known->second;
}

StackId CallStacks::InternStack(std::span<const LocationId> locations) {
  if (locations.empty()) {
    return {};
  }
  const auto [known, added] = known_.try_emplace(std::string(AsText(std::as_bytes(locations))));
  known->second = added ? builder_.AddStack(locations) : known->second;
  return known->second;
}

}  // namespace memtool::formats::rocpd
