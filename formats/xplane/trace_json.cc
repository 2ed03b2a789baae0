#include "xplane/trace_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "support/json_stream.h"
#include "support/wire.h"

namespace memtool::formats::xplane {

namespace {

// Messages of protobuf, written end to end; numbers of fields: xplane.proto.
class Message {
 public:
  void Number(std::uint64_t field, std::uint64_t value) {
    Varint(field << 3U | wire::kVarint);
    Varint(value);
  }
  void Bytes(std::uint64_t field, std::string_view bytes) {
    Varint(field << 3U | wire::kLength);
    Varint(bytes.size());
    bytes_ += bytes;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  void Clear() { bytes_.clear(); }

 private:
  void Varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_ += static_cast<char>(value | 0x80U);
      value >>= 7U;
    }
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// Names with keys, as a plane has them for its events and their stats.
class Names {
 public:
  std::uint32_t Key(const std::string& name) {
    return keys_.try_emplace(name, static_cast<std::uint32_t>(keys_.size() + 1)).first->second;
  }
  // Entries of a map<int64, {id 1, name 2}>.
  void Write(std::uint64_t field, Message& plane) const {
    for (const auto& [name, key] : keys_) {
      Message value;
      value.Number(1, key);
      value.Bytes(2, name);
      Message entry;
      entry.Number(1, key);
      entry.Bytes(2, value.bytes());
      plane.Bytes(field, entry.bytes());
    }
  }

 private:
  std::map<std::string, std::uint32_t> keys_;
};

struct LineEvent {
  std::int64_t begin_ps = 0;
  std::int64_t duration_ps = 0;
  std::string event;  // XEvent
};

struct Process {
  std::string name;
  std::map<std::string, std::vector<LineEvent>> threads;
  Names events;
  Names stats;

  [[nodiscard]] bool IsDevice() const { return name.starts_with("/device:"); }
};

// Picoseconds of microseconds with a fraction.
std::optional<std::int64_t> Picos(double micros) {
  constexpr double kMost = 1e12;
  return micros > -kMost && micros < kMost ? std::optional(std::llround(micros * 1e6))
                                           : std::nullopt;
}

// All arguments are text; those that are numbers are meant as such. Addresses take all 64 bits.
std::optional<std::uint64_t> WholeNumber(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data() + (negative ? 1 : 0), text.data() + text.size(), number);
  if (text.size() == (negative ? 1 : 0) || error != std::errc{} ||
      end != text.data() + text.size()) {
    return std::nullopt;
  }
  return negative ? std::uint64_t{0} - number : number;
}

// RapidJSON's handler; the names are RapidJSON's.
class Handler {
 public:
  Handler(JsonStream& stream, const Limits& limits) : stream_(stream), limits_(limits) {}

  bool Null() { return Skip(); }
  bool Bool(bool /*value*/) { return Skip(); }
  bool Int(int value) { return Whole(value); }
  bool Uint(unsigned value) { return Whole(value); }
  bool Int64(std::int64_t value) { return Whole(value); }
  bool Uint64(std::uint64_t value) {
    Value(std::to_string(value));
    return Number(static_cast<double>(value));
  }
  bool Double(double value) {
    Value(fmt::format("{}", value));
    return Number(value);
  }
  static bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    Value({text, size});
    return Skip();
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    stream_.TokenEnded();
    key_.assign(text, size);
    return true;
  }
  bool StartObject() {
    if (events_depth_ > 0 && depth_ == events_depth_) {
      Begin();
    } else if (InEvent() && key_ == "args") {
      args_depth_ = depth_ + 1;
    }
    return Enter();
  }
  bool EndObject(rapidjson::SizeType) {
    if (InEvent()) {
      EndEvent();
    } else if (InArgs()) {
      args_depth_ = 0;
    }
    return Leave();
  }
  bool StartArray() {
    if (depth_ == 0 || (depth_ == 1 && key_ == "traceEvents")) {
      events_depth_ = depth_ + 1;
    }
    return Enter();
  }
  bool EndArray(rapidjson::SizeType) {
    if (depth_ == events_depth_) {
      events_depth_ = 0;
    }
    return Leave();
  }

  TraceJson Finish() {
    TraceJson made{.space = {}, .events = events_, .bad_events = bad_events_};
    for (auto& [pid, process] : processes_) {
      const std::string plane = PlaneOf(process);
      Message space;
      space.Bytes(1, plane);
      const auto bytes = std::as_bytes(std::span(space.bytes()));
      made.space.insert(made.space.end(), bytes.begin(), bytes.end());
      process = {};
    }
    return made;
  }

 private:
  [[nodiscard]] bool InEvent() const { return events_depth_ > 0 && depth_ == events_depth_ + 1; }
  [[nodiscard]] bool InArgs() const { return args_depth_ > 0 && depth_ == args_depth_; }

  void Begin() {
    phase_.clear();
    name_.clear();
    pid_.clear();
    tid_.clear();
    args_.clear();
    time_ = std::numeric_limits<double>::quiet_NaN();
    duration_ = 0;
    args_depth_ = 0;
  }
  bool Enter() {
    stream_.TokenEnded();
    if (depth_ >= limits_.depth) {
      ThrowRead(ErrorCode::kLimit, stream_.Offset(), {},
                "containers nested deeper than " + std::to_string(limits_.depth),
                "lift it with --limit depth=N");
    }
    ++depth_;
    return true;
  }
  bool Leave() {
    stream_.TokenEnded();
    --depth_;
    return true;
  }
  bool Skip() {
    stream_.TokenEnded();
    return true;
  }
  bool Whole(std::int64_t value) {
    Value(std::to_string(value));
    return Number(static_cast<double>(value));
  }
  bool Number(double value) {
    if (InEvent() && key_ == "ts") {
      time_ = value;
    } else if (InEvent() && key_ == "dur") {
      duration_ = value;
    }
    return Skip();
  }
  void Value(std::string_view text) {
    if (InArgs()) {
      args_.emplace_back(key_, text);
    } else if (InEvent()) {
      std::string* const field = key_ == "ph"     ? &phase_
                                 : key_ == "name" ? &name_
                                 : key_ == "pid"  ? &pid_
                                 : key_ == "tid"  ? &tid_
                                                  : nullptr;
      if (field != nullptr) {
        *field = text;
      }
    }
  }

  void EndEvent() {
    if (phase_ == "M") {
      if (name_ == "process_name") {
        for (const auto& [key, value] : args_) {
          processes_[pid_].name = key == "name" ? value : processes_[pid_].name;
        }
      }
      return;
    }
    if (phase_ != "X" && phase_ != "i" && phase_ != "I") {
      return;
    }
    ++events_;
    Process& process = processes_[pid_];
    if (process.IsDevice()) {
      return;
    }
    const auto begin = Picos(time_);
    const auto duration = Picos(duration_);
    if (!begin || !duration || *duration < 0 || name_.empty()) {
      ++bad_events_;
      return;
    }
    process.threads[tid_].push_back({.begin_ps = *begin,
                                     .duration_ps = *duration,
                                     .event = EventOf(process, *begin, *duration)});
  }

  std::string EventOf(Process& process, std::int64_t begin, std::int64_t duration) {
    Message event;
    event.Number(1, process.events.Key(name_));
    event.Number(2, static_cast<std::uint64_t>(begin));
    if (duration > 0) {
      event.Number(3, static_cast<std::uint64_t>(duration));
    }
    for (const auto& [key, value] : args_) {
      Message stat;
      stat.Number(1, process.stats.Key(key));
      if (const auto number = WholeNumber(value)) {
        stat.Number(4, *number);
      } else {
        stat.Bytes(5, value);
      }
      event.Bytes(4, stat.bytes());
    }
    return event.bytes();
  }

  static std::string PlaneOf(Process& process) {
    Message plane;
    plane.Bytes(2, process.name.empty() ? std::string_view("/host:CPU") : process.name);
    std::uint64_t id = 0;
    for (auto& [tid, events] : process.threads) {
      // A caller and what it calls may begin at one time.
      std::stable_sort(events.begin(), events.end(), [](const LineEvent& a, const LineEvent& b) {
        return std::pair(a.begin_ps, -a.duration_ps) < std::pair(b.begin_ps, -b.duration_ps);
      });
      Message line;
      line.Number(1, ++id);
      line.Bytes(2, tid);
      for (const LineEvent& event : events) {
        line.Bytes(4, event.event);
      }
      plane.Bytes(3, line.bytes());
      events = {};
    }
    process.events.Write(4, plane);
    process.stats.Write(5, plane);
    return plane.bytes();
  }

  JsonStream& stream_;
  const Limits& limits_;
  std::uint64_t depth_ = 0;
  std::uint64_t events_depth_ = 0;
  std::uint64_t args_depth_ = 0;
  std::string key_;
  std::string phase_;
  std::string name_;
  std::string pid_;
  std::string tid_;
  double time_ = 0;
  double duration_ = 0;
  std::vector<std::pair<std::string, std::string>> args_;
  std::map<std::string, Process> processes_;  // by pid
  std::uint64_t events_ = 0;
  std::uint64_t bad_events_ = 0;
};

}  // namespace

TraceJson ReadTraceJson(ByteWindow& in, const Limits& limits) {
  JsonStream stream(in, limits);
  Handler handler(stream, limits);
  ParseJson(stream, handler);
  return handler.Finish();
}

}  // namespace memtool::formats::xplane
