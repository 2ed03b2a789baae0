#include "kineto/trace_events.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "support/json_stream.h"

namespace memtool::formats::kineto {

namespace {

// Keys of an event and of its args that are looked at.
enum class Field : std::uint8_t {
  kNone,
  kPhase,
  kCategory,
  kName,
  kThread,
  kTime,
  kDuration,
  kBytes,
  kAddress,
  kDevice,
  kDeviceType,
  kAllocated,
  kReserved,
};

Field FieldOf(std::string_view key, bool args) {
  static constexpr std::pair<std::string_view, Field> kOfEvent[]{
      {"ph", Field::kPhase},   {"cat", Field::kCategory}, {"name", Field::kName},
      {"tid", Field::kThread}, {"ts", Field::kTime},      {"dur", Field::kDuration}};
  static constexpr std::pair<std::string_view, Field> kOfArgs[]{
      {"Bytes", Field::kBytes},
      {"Addr", Field::kAddress},
      {"Device Id", Field::kDevice},
      {"Device Type", Field::kDeviceType},
      {"Total Allocated", Field::kAllocated},
      {"Total Reserved", Field::kReserved}};
  const auto find = [key](const auto& table) {
    const auto* it = std::find_if(std::begin(table), std::end(table),
                                  [key](const auto& each) { return each.first == key; });
    return it == std::end(table) ? Field::kNone : it->second;
  };
  return args ? find(kOfArgs) : find(kOfEvent);
}

// Microseconds with a fraction in nanoseconds.
std::optional<std::int64_t> Nanos(double micros) {
  constexpr double kMost = 4e15;  // the year 2096
  return micros > -kMost && micros < kMost ? std::optional(std::llround(micros * 1000.0))
                                           : std::nullopt;
}

struct EventFields {
  std::string phase;
  std::string category;
  std::string name;
  std::string thread;
  double time = 0;
  double duration = 0;
  std::optional<std::int64_t> bytes;
  std::optional<std::uint64_t> address;
  std::int64_t device = -1;
  std::int64_t device_type = -1;
  std::int64_t allocated = -1;
  std::int64_t reserved = -1;

  void Clear() {
    phase.clear();
    category.clear();
    name.clear();
    thread.clear();
    time = duration = std::numeric_limits<double>::quiet_NaN();
    bytes.reset();
    address.reset();
    device = device_type = allocated = reserved = -1;
  }
};

// RapidJSON's handler; the names are RapidJSON's.
class Handler {
 public:
  Handler(JsonStream& stream, const Limits& limits, TraceEvents& out)
      : stream_(stream), limits_(limits), out_(out) {
    event_.Clear();
  }

  bool Null() { return Skip(); }
  bool Bool(bool /*value*/) { return Skip(); }
  bool Int(int value) { return Whole(value); }
  bool Uint(unsigned value) { return Whole(value); }
  bool Int64(std::int64_t value) { return Whole(value); }
  bool Uint64(std::uint64_t value) {
    if (value <= INT64_MAX) {
      return Whole(static_cast<std::int64_t>(value));
    }
    if (InArgs() && field_ == Field::kAddress) {
      event_.address = value;
    }
    return Number(static_cast<double>(value));
  }
  bool Double(double value) { return Number(value); }
  static bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view value(text, size);
    if (InEvent()) {
      switch (field_) {
        case Field::kPhase:
          event_.phase = value;
          break;
        case Field::kCategory:
          event_.category = value;
          break;
        case Field::kName:
          event_.name = value;
          break;
        case Field::kThread:
          event_.thread = value;
          break;
        default:
          break;
      }
    }
    return Skip();
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view key(text, size);
    stream_.TokenEnded();
    if (depth_ == 1) {
      events_next_ = key == "traceEvents";
      base_time_next_ = key == "baseTimeNanoseconds";
    } else if (InEvent()) {
      args_next_ = key == "args";
      field_ = FieldOf(key, false);
    } else if (InArgs()) {
      field_ = FieldOf(key, true);
    }
    return true;
  }
  bool StartObject() {
    if (events_depth_ > 0 && depth_ == events_depth_) {
      event_.Clear();
      args_depth_ = 0;
    } else if (InEvent() && args_next_) {
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
    // A bare list of events is a trace too.
    if (depth_ == 0 || (depth_ == 1 && events_next_)) {
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

 private:
  [[nodiscard]] bool InEvent() const { return events_depth_ > 0 && depth_ == events_depth_ + 1; }
  [[nodiscard]] bool InArgs() const { return args_depth_ > 0 && depth_ == args_depth_; }

  bool Skip() {
    stream_.TokenEnded();
    field_ = Field::kNone;
    base_time_next_ = false;
    return true;
  }
  bool Enter() {
    stream_.TokenEnded();
    if (depth_ >= limits_.depth) {
      ThrowRead(ErrorCode::kLimit, stream_.Offset(), {},
                "containers nested deeper than " + std::to_string(limits_.depth),
                "lift it with --limit depth=N");
    }
    ++depth_;
    args_next_ = false;
    return true;
  }
  bool Leave() {
    stream_.TokenEnded();
    --depth_;
    return true;
  }

  bool Whole(std::int64_t value) {
    if (depth_ == 1 && base_time_next_) {
      out_.base_time = value;
    } else if (InEvent() && field_ == Field::kThread) {
      event_.thread = std::to_string(value);
    } else if (InArgs()) {
      TakeArgument(value);
    }
    return Number(static_cast<double>(value));
  }

  void TakeArgument(std::int64_t value) {
    switch (field_) {
      case Field::kBytes:
        event_.bytes = value;
        break;
      case Field::kAddress:
        event_.address = static_cast<std::uint64_t>(value);
        break;
      case Field::kDevice:
        event_.device = value;
        break;
      case Field::kDeviceType:
        event_.device_type = value;
        break;
      case Field::kAllocated:
        event_.allocated = value;
        break;
      case Field::kReserved:
        event_.reserved = value;
        break;
      default:
        break;
    }
  }

  bool Number(double value) {
    if (InEvent() && field_ == Field::kTime) {
      event_.time = value;
    } else if (InEvent() && field_ == Field::kDuration) {
      event_.duration = value;
    }
    return Skip();
  }

  void EndEvent() {
    ++out_.events;
    const bool span = event_.phase == "X" && IsCode(event_.category);
    const bool instant = event_.phase == "i" && event_.category == "cpu_instant_event";
    if (!span && !instant) {
      return;
    }
    const auto time = Nanos(event_.time);
    if (!time) {
      ++out_.bad_times;
    } else if (span) {
      AddSpan(*time);
    } else if (event_.name == "[memory]") {
      AddMemory(*time, false);
    } else if (event_.name == "[OutOfMemory]") {
      AddMemory(*time, true);
    }
  }

  static bool IsCode(std::string_view category) {
    return category == "cpu_op" || category == "python_function" || category == "user_annotation";
  }

  void AddSpan(std::int64_t begin) {
    const auto duration = Nanos(event_.duration);
    if (!duration || *duration < 0) {
      ++out_.bad_times;
      return;
    }
    if (event_.category == "user_annotation" && event_.name.starts_with("ProfilerStep#")) {
      out_.steps.push_back({.name = event_.name, .begin = begin, .end = begin + *duration});
      return;
    }
    out_.spans.push_back({.begin = begin,
                          .end = begin + *duration,
                          .name = out_.names.Intern(std::as_bytes(std::span(event_.name))),
                          .thread = ThreadIndex()});
  }

  void AddMemory(std::int64_t time, bool failed) {
    if (failed && event_.bytes.value_or(-1) < 0) {
      out_.out_of_memory.push_back(time);
      return;
    }
    if (!event_.bytes || *event_.bytes == std::numeric_limits<std::int64_t>::min()) {
      ++out_.bad_times;
      return;
    }
    if (!event_.address && !failed) {
      ++out_.without_address;
    }
    constexpr std::int64_t kCpu = 0;  // c10::DeviceType
    constexpr std::int64_t kMostDevices = 65536;
    const bool cpu = event_.device_type == kCpu || event_.device < 0;
    out_.memory.push_back(
        {.time = time,
         .address = event_.address.value_or(0),
         .bytes = *event_.bytes,
         .allocated = event_.allocated,
         .reserved = event_.reserved,
         .device = cpu ? -1 : static_cast<std::int32_t>(std::min(event_.device, kMostDevices)),
         .thread = ThreadIndex(),
         .failed = failed});
  }

  std::uint32_t ThreadIndex() {
    if (thread_index_.empty() || event_.thread != last_thread_) {
      last_thread_ = event_.thread;
      const auto [it, added] =
          thread_index_.emplace(event_.thread, static_cast<std::uint32_t>(out_.threads.size()));
      if (added) {
        out_.threads.push_back(event_.thread);
      }
      last_index_ = it->second;
    }
    return last_index_;
  }

  JsonStream& stream_;
  const Limits& limits_;
  TraceEvents& out_;
  EventFields event_;
  Field field_ = Field::kNone;
  std::size_t depth_ = 0;         // containers that are open
  std::size_t events_depth_ = 0;  // of the list of events, once it is open
  std::size_t args_depth_ = 0;    // inside the args of an event
  bool events_next_ = false;
  bool args_next_ = false;
  bool base_time_next_ = false;
  std::map<std::string, std::uint32_t> thread_index_;
  std::string last_thread_;
  std::uint32_t last_index_ = 0;
};

}  // namespace

TraceEvents ReadTraceEvents(ByteWindow& in, const Limits& limits) {
  TraceEvents events;
  JsonStream stream(in, limits);
  Handler handler(stream, limits, events);
  ParseJson(stream, handler);
  return events;
}

}  // namespace memtool::formats::kineto
