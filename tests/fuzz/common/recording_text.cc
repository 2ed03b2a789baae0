#include "common/recording_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "memtool/profile/base/escape.h"
#include "memtool/profile/replay/replay.h"

namespace memtool::fuzz {

namespace {

template <class... Values>
void Append(std::string& out, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Values>(values)...);
}

// With its length, so that no two lists of texts look alike.
void AppendText(std::string& out, std::string_view text) {
  Append(out, " {}:", text.size());
  out += text;
}

class Writer {
 public:
  explicit Writer(const Recording& recording) : recording_(recording) {}

  std::string Samples() {
    if (!recording_.profile) {
      return {};
    }
    const Profile& profile = *recording_.profile;
    std::string out;
    for (const SampleType& type : profile.types) {
      AppendText(out, recording_.Text(type.type));
      AppendText(out, recording_.Text(type.unit));
    }
    AppendText(out, recording_.Text(profile.default_type));
    out += "\n";
    std::map<std::string, std::vector<std::uint64_t>> sums;
    for (std::size_t i = 0; i < profile.size(); ++i) {
      auto& row = sums[Stack(profile.stacks[i]) + Labels(profile.label_sets[i])];
      row.resize(profile.types.size());
      for (std::size_t type = 0; type < row.size(); ++type) {
        row[type] += static_cast<std::uint64_t>(profile.values[type][i]);
      }
    }
    for (const auto& [row, values] : sums) {
      Append(out, "{} = {}\n", row, fmt::join(values, " "));
    }
    return out;
  }

  std::string Events() {
    if (!recording_.history) {
      return {};
    }
    const History& history = *recording_.history;
    std::string out;
    for (const Trace& trace : history.traces) {
      Append(out, "trace {} overflowed {} before {} {} listed {}", trace.device, trace.overflowed,
             trace.preexisting_bytes, trace.preexisting_reserved, trace.listed_before);
      AppendText(out, trace.name);
      out += "\n";
      for (std::uint64_t i = 0; i < trace.event_count; ++i) {
        Event(out, history, trace.first_event + i);
      }
    }
    for (const Mark& mark : history.marks) {
      Append(out, "mark {} {} {}", mark.device, mark.begin, mark.end);
      AppendText(out, mark.name);
      out += "\n";
    }
    State(out, history);
    for (const Setting& setting : recording_.settings) {
      out += "setting";
      AppendText(out, setting.name);
      AppendText(out, setting.value);
      out += "\n";
    }
    return out;
  }

  std::string DeviceEvents() {
    // The first list of each device, by device: that is how a snapshot has them.
    std::map<std::int32_t, const Trace*> traces;
    for (const Trace& trace : recording_.history->traces) {
      if (trace.device >= 0 && trace.event_count > 0) {
        traces.emplace(trace.device, &trace);
      }
    }
    std::string out;
    for (const auto& [device, trace] : traces) {
      Append(out, "device {}\n", device);
      for (const memtool::Event& event : GetEvents(recording_, *trace)) {
        const auto stream = recording_.history->streams[event.stream];
        Append(out, "{} {:x} {} {} stream {:x}", static_cast<int>(event.action), event.key,
               event.size, event.time, stream);
        Frames(out, event.stack);
        out += "\n";
      }
    }
    return out;
  }

 private:
  void Frames(std::string& out, StackId stack) const {
    if (!stack.valid()) {
      return;
    }
    for (const LocationId location : recording_.Stack(stack)) {
      for (const Line& line : recording_.Lines(recording_.At(location))) {
        const Function function =
            line.function.valid() ? recording_.functions[line.function.value()] : Function{};
        Append(out, " | {} {} {}", ToUtf8(recording_.Text(function.name)),
               ToUtf8(recording_.Text(function.filename)), line.line);
      }
    }
  }

  // Texts of stacks are made once: histories repeat them.
  const std::string& Stack(StackId id) {
    const std::uint32_t key = id.valid() ? id.value() : UINT32_MAX;
    const auto [found, added] = stacks_.try_emplace(key);
    if (added && id.valid()) {
      for (const LocationId location : recording_.Stack(id)) {
        Location(found->second, recording_.At(location));
      }
    }
    return found->second;
  }

  void Location(std::string& out, const memtool::Location& location) {
    Append(out, " @{:x}{}", location.address, location.folded ? "f" : "");
    if (location.mapping.valid()) {
      const Mapping& mapping = recording_.mappings[location.mapping.value()];
      Append(out, " [{:x} {:x} {:x} {}{}{}{}", mapping.start, mapping.limit, mapping.offset,
             mapping.has_functions, mapping.has_filenames, mapping.has_line_numbers,
             mapping.has_inline_frames);
      AppendText(out, recording_.Text(mapping.filename));
      AppendText(out, recording_.Text(mapping.build_id));
      out += "]";
    }
    for (const Line& line : recording_.Lines(location)) {
      if (!line.function.valid()) {
        continue;
      }
      const Function& function = recording_.functions[line.function.value()];
      AppendText(out, recording_.Text(function.name));
      AppendText(out, recording_.Text(function.system_name));
      AppendText(out, recording_.Text(function.filename));
      Append(out, " {}:{}:{}", function.start_line, line.line, line.column);
    }
  }

  std::string Labels(LabelSetId set) const {
    std::string out;
    for (const Label& label : recording_.Labels(set)) {
      const std::string_view text = recording_.Text(label.text);
      const std::string_view unit = recording_.Text(label.unit);
      if (text.empty() && label.number == 0 && unit.empty()) {
        continue;
      }
      out += " #";
      AppendText(out, recording_.Text(label.key));
      if (label.numeric) {
        Append(out, " {}", label.number);
        AppendText(out, unit);
      } else {
        AppendText(out, text);
      }
    }
    return out;
  }

  void Event(std::string& out, const History& history, std::uint64_t row) {
    const memtool::Event& event = history.events[row];
    Append(out, "{} {:x} {} {} stream {:x}{}{}\n", static_cast<int>(event.action), event.key,
           event.size, event.time, history.streams[event.stream], Stack(event.stack),
           history.labels.empty() ? std::string() : Labels(history.labels[row]));
  }

  void State(std::string& out, const History& history) {
    if (!recording_.state) {
      return;
    }
    for (const Segment& segment : recording_.state->segments) {
      Append(out, "segment {} {:x} {} {} {} {} stream {:x} {}{}{} pool {} {}{}\n", segment.device,
             segment.address, segment.size, segment.allocated, segment.active, segment.requested,
             history.streams[segment.stream], segment.small, segment.expandable, segment.host,
             segment.pool_owner, segment.pool_id, Stack(segment.stack));
      for (std::uint32_t i = 0; i < segment.block_count; ++i) {
        const Block& block = recording_.state->blocks[segment.first_block + i];
        // What was requested means nothing of a block that nobody has.
        Append(out, "block {:x} {} {} {}{}\n", block.address, block.size,
               block.state == BlockState::kInactive ? 0 : block.requested,
               static_cast<int>(block.state), Stack(block.stack));
      }
    }
  }

  const Recording& recording_;
  std::map<std::uint32_t, std::string> stacks_;
};

}  // namespace

std::string SamplesText(const Recording& recording) {
  return Writer(recording).Samples();
}

std::string DeviceEventsText(const Recording& recording) {
  return recording.history ? Writer(recording).DeviceEvents() : std::string();
}

std::string HistoryText(const Recording& recording) {
  return Writer(recording).Events();
}

}  // namespace memtool::fuzz
