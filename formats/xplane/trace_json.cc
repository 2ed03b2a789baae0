#include "xplane/trace_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/numbers.h"
#include "support/trace_event_handler.h"
#include "xplane/line_events.h"

namespace memtool::formats::xplane {

namespace {

// A stat whose text is a row of Process::texts.
struct HeldStat {
  StatKey key{};
  Stat::Kind kind{};
  std::int64_t integer = 0;  // of texts: the row
  double real = 0;
};

struct HeldEvent {
  LineEvent event;
  std::uint32_t first_stat = 0;  // in Process::stats
  std::uint32_t stat_count = 0;
};

struct Process {
  std::string name;
  std::map<std::string, std::vector<HeldEvent>> threads;
  std::vector<HeldStat> stats;
  ByteInterner texts;
  std::map<std::string, std::uint32_t> event_names;  // with their keys

  [[nodiscard]] bool IsDevice() const { return name.starts_with("/device:"); }
};

// Picoseconds of microseconds with a fraction.
std::optional<std::int64_t> Picos(const std::optional<double>& micros) {
  constexpr double kMax = 1e12;
  return micros && *micros > -kMax && *micros < kMax ? std::optional(std::llround(*micros * 1e6))
                                                     : std::nullopt;
}

// All arguments are text; those that are numbers are meant as such. Addresses take all 64 bits.
std::optional<std::int64_t> WholeNumber(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto number = ParseNumber<std::uint64_t>(text.substr(negative ? 1 : 0));
  return number ? std::optional(static_cast<std::int64_t>(negative ? 0 - *number : *number))
                : std::nullopt;
}

// Visitor of TraceEventHandler.
class Visitor {
 public:
  Visitor(TraceJson& out, const Limits& limits) : out_(out), limits_(limits) {}

  void OnRootKey(std::string_view /*key*/) {}
  void OnRootInteger(std::int64_t /*value*/) {}
  void OnEventBegin() {
    stats_.clear();
    texts_.clear();
    process_name_.clear();
  }
  void OnArgumentKey(std::string_view key) {
    key_ = ToStatKey(key);
    name_next_ = key == "name";
  }
  void OnArgument(std::int64_t value) { Hold({.kind = Stat::Kind::kInteger, .integer = value}); }
  void OnArgument(std::uint64_t value) { OnArgument(static_cast<std::int64_t>(value)); }
  void OnArgument(double value) { Hold({.kind = Stat::Kind::kReal, .real = value}); }
  void OnArgument(std::string_view text) {
    if (name_next_) {
      process_name_ = text;
    } else if (key_ == StatKey::kNone) {
      return;
    } else if (const auto number = WholeNumber(text)) {
      OnArgument(*number);
    } else {
      Hold({.kind = Stat::Kind::kText, .integer = static_cast<std::int64_t>(texts_.size())});
      texts_.emplace_back(text);
    }
  }

  void OnEvent(const TraceEvent& event) {
    if (event.phase == "M") {
      if (event.name == "process_name" && !process_name_.empty()) {
        processes_[event.process].name = process_name_;
      }
      return;
    }
    if (event.phase != "X" && event.phase != "i" && event.phase != "I") {
      return;
    }
    ++out_.events;
    Process& process = processes_[event.process];
    if (process.IsDevice()) {
      return;
    }
    const auto begin = Picos(event.time);
    const auto duration = Picos(event.duration.value_or(0));
    if (!begin || !duration || *duration < 0 || event.name.empty()) {
      ++out_.bad_events;
      return;
    }
    const auto name = process.event_names.try_emplace(
        event.name, static_cast<std::uint32_t>(process.event_names.size() + 1));
    process.threads[event.thread].push_back(
        {.event = {.name = name.first->second, .offset_ps = *begin, .duration_ps = *duration},
         .first_stat = static_cast<std::uint32_t>(process.stats.size()),
         .stat_count = static_cast<std::uint32_t>(stats_.size())});
    for (HeldStat stat : stats_) {
      if (stat.kind == Stat::Kind::kText) {
        const std::string& text = texts_[static_cast<std::size_t>(stat.integer)];
        stat.integer = process.texts.Intern(std::as_bytes(std::span(text)));
      }
      process.stats.push_back(stat);
    }
  }

  // Once all events are there.
  void Finish() {
    for (auto& [pid, process] : processes_) {
      AddPlane(process);
      process = {};
    }
  }

 private:
  void Hold(HeldStat stat) {
    stat.key = key_;
    if (key_ != StatKey::kNone) {
      stats_.push_back(stat);
    }
  }

  void AddPlane(Process& process) {
    Plane& plane = out_.space.planes.emplace_back();
    plane.name = process.name.empty() ? "/host:CPU" : process.name;
    if (!plane.IsHost()) {
      return;
    }
    for (const auto& [name, key] : process.event_names) {
      plane.event_names.emplace(key, name);
    }
    LineEvents line(plane, out_.space, limits_);
    std::vector<KeyedStat> stats;
    for (auto& [tid, events] : process.threads) {
      // A caller and what it calls may begin at one time.
      std::stable_sort(events.begin(), events.end(), [](const HeldEvent& a, const HeldEvent& b) {
        return std::pair(a.event.offset_ps, -a.event.duration_ps) <
               std::pair(b.event.offset_ps, -b.event.duration_ps);
      });
      for (const HeldEvent& held : events) {
        stats.clear();
        for (const HeldStat& stat :
             std::span(process.stats).subspan(held.first_stat, held.stat_count)) {
          stats.push_back(
              {.key = stat.key,
               .stat = {.kind = stat.kind, .integer = stat.integer, .real = stat.real}});
          if (stat.kind == Stat::Kind::kText) {
            stats.back().stat.bytes = process.texts[static_cast<std::uint32_t>(stat.integer)];
          }
        }
        line.Add(held.event, stats);
      }
      line.EndLine(0);
      events = {};
    }
  }

  TraceJson& out_;
  const Limits& limits_;
  StatKey key_{};
  bool name_next_ = false;
  std::string process_name_;                  // of the event that is read
  std::vector<HeldStat> stats_;               // likewise; of texts: rows of texts_
  std::vector<std::string> texts_;            // likewise
  std::map<std::string, Process> processes_;  // by pid
};

}  // namespace

TraceJson ReadTraceJson(ByteWindow& in, const Limits& limits) {
  TraceJson trace;
  Visitor visitor(trace, limits);
  ReadTraceEvents(in, limits, visitor);
  visitor.Finish();
  return trace;
}

}  // namespace memtool::formats::xplane
