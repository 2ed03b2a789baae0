// Chrome's trace events out of a JSON text, one at a time as they stream by: a list of objects with
// a phase, a name, times and arguments, bare or under the key "traceEvents".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "support/json_stream.h"

namespace memtool::formats {

// What all writers of the form agree on. Texts are empty where the event lacks them.
struct TraceEvent {
  std::string phase;  // "X": a span; "i": an instant; "M": about a process or a thread
  std::string category;
  std::string name;
  std::string process;             // its id; numbers are written out
  std::string thread;              // likewise
  std::optional<double> time;      // in microseconds
  std::optional<double> duration;  // likewise
};

// RapidJSON's handler; the names of most functions are RapidJSON's. A Visitor has
//   void OnRootKey(std::string_view key): a key of the object around the list of events
//   void OnRootInteger(std::int64_t): its value
//   void OnEventBegin()
//   void OnArgumentKey(std::string_view key): a key of the event's "args"
//   void OnArgument(std::int64_t | std::uint64_t | double | std::string_view): its value, where
//     that is a text or a number (std::uint64_t: only those beyond std::int64_t)
//   void OnEvent(const TraceEvent&): it is complete
template <class Visitor>
class TraceEventHandler {
 public:
  TraceEventHandler(JsonStream& stream, const Limits& limits, Visitor& visitor)
      : stream_(stream), limits_(limits), visitor_(visitor) {}

  bool Null() { return EndValue(); }
  bool Bool(bool /*value*/) { return EndValue(); }
  bool Int(int value) { return Integer(std::int64_t{value}); }
  bool Uint(unsigned value) { return Integer(std::int64_t{value}); }
  bool Int64(std::int64_t value) { return Integer(value); }
  bool Uint64(std::uint64_t value) {
    return value <= INT64_MAX ? Integer(static_cast<std::int64_t>(value)) : Integer(value);
  }
  bool Double(double value) {
    if (InArguments()) {
      visitor_.OnArgument(value);
    } else if (InEvent()) {
      SetTime(value);
    }
    return EndValue();
  }
  static bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    if (InArguments()) {
      visitor_.OnArgument(std::string_view(text, size));
    } else if (InEvent() && text_ != nullptr) {
      text_->assign(text, size);
    }
    return EndValue();
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view key(text, size);
    stream_.TokenEnded();
    if (InArguments()) {
      visitor_.OnArgumentKey(key);
    } else if (InEvent()) {
      EventKey(key);
    } else if (depth_ == 1) {
      events_next_ = key == "traceEvents";
      visitor_.OnRootKey(key);
    }
    return true;
  }
  bool StartObject() {
    if (events_depth_ > 0 && depth_ == events_depth_) {
      BeginEvent();
    } else if (InEvent() && arguments_next_) {
      arguments_depth_ = depth_ + 1;
    }
    return Enter();
  }
  bool EndObject(rapidjson::SizeType) {
    if (InEvent()) {
      visitor_.OnEvent(event_);
    } else if (InArguments()) {
      arguments_depth_ = 0;
    }
    return Leave();
  }
  bool StartArray() {
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
  [[nodiscard]] bool InArguments() const {
    return arguments_depth_ > 0 && depth_ == arguments_depth_;
  }

  void BeginEvent() {
    for (std::string TraceEvent::*const text :
         {&TraceEvent::phase, &TraceEvent::category, &TraceEvent::name, &TraceEvent::process,
          &TraceEvent::thread}) {
      (event_.*text).clear();
    }
    event_.time.reset();
    event_.duration.reset();
    arguments_depth_ = 0;
    visitor_.OnEventBegin();
  }

  void EventKey(std::string_view key) {
    text_ = key == "ph"     ? &event_.phase
            : key == "cat"  ? &event_.category
            : key == "name" ? &event_.name
            : key == "pid"  ? &event_.process
            : key == "tid"  ? &event_.thread
                            : nullptr;
    time_ = key == "ts" ? &event_.time : key == "dur" ? &event_.duration : nullptr;
    arguments_next_ = key == "args";
  }

  template <class Number>
  bool Integer(Number value) {
    if (InArguments()) {
      visitor_.OnArgument(value);
    } else if (InEvent()) {
      if (text_ == &event_.process || text_ == &event_.thread) {
        *text_ = std::to_string(value);
      }
      SetTime(static_cast<double>(value));
    } else if constexpr (std::is_signed_v<Number>) {
      if (depth_ == 1) {
        visitor_.OnRootInteger(value);
      }
    }
    return EndValue();
  }

  void SetTime(double value) {
    if (time_ != nullptr) {
      *time_ = value;
    }
  }

  bool EndValue() {
    stream_.TokenEnded();
    return true;
  }
  bool Enter() {
    stream_.TokenEnded();
    if (depth_ >= limits_.depth) {
      ThrowRead(ErrorCode::kLimit, stream_.Offset(), {},
                "containers nested deeper than " + std::to_string(limits_.depth),
                "lift it with --max depth=N");
    }
    ++depth_;
    arguments_next_ = false;
    text_ = nullptr;
    time_ = nullptr;
    return true;
  }
  bool Leave() {
    stream_.TokenEnded();
    --depth_;
    return true;
  }

  JsonStream& stream_;
  const Limits& limits_;
  Visitor& visitor_;
  TraceEvent event_;
  std::string* text_ = nullptr;  // where the value of the key belongs, if anywhere
  std::optional<double>* time_ = nullptr;
  std::size_t depth_ = 0;            // containers that are open
  std::size_t events_depth_ = 0;     // of the list of events, once it is open
  std::size_t arguments_depth_ = 0;  // inside the "args" of an event
  bool events_next_ = false;
  bool arguments_next_ = false;
};

// Throws ReadError.
template <class Visitor>
void ReadTraceEvents(ByteWindow& in, const Limits& limits, Visitor& visitor) {
  JsonStream stream(in, limits);
  TraceEventHandler<Visitor> handler(stream, limits, visitor);
  ParseJson(stream, handler);
}

}  // namespace memtool::formats
