#include "kineto/trace_events.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "support/trace_event_handler.h"

namespace memtool::formats::kineto {

namespace {

// Arguments that are looked at.
enum class Argument : std::uint8_t {
  kNone,
  kBytes,
  kAddress,
  kDevice,
  kDeviceType,
  kAllocated,
  kReserved,
};

Argument ToArgument(std::string_view key) {
  static constexpr std::pair<std::string_view, Argument> kArguments[]{
      {"Bytes", Argument::kBytes},
      {"Addr", Argument::kAddress},
      {"Device Id", Argument::kDevice},
      {"Device Type", Argument::kDeviceType},
      {"Total Allocated", Argument::kAllocated},
      {"Total Reserved", Argument::kReserved}};
  const auto* it = std::find_if(std::begin(kArguments), std::end(kArguments),
                                [key](const auto& each) { return each.first == key; });
  return it == std::end(kArguments) ? Argument::kNone : it->second;
}

// Microseconds with a fraction in nanoseconds.
std::optional<std::int64_t> Nanos(const std::optional<double>& micros) {
  constexpr double kMax = 4e15;  // the year 2096
  return micros && *micros > -kMax && *micros < kMax ? std::optional(std::llround(*micros * 1000.0))
                                                     : std::nullopt;
}

struct Arguments {
  std::optional<std::int64_t> bytes;
  std::optional<std::uint64_t> address;
  std::int64_t device = -1;
  std::int64_t device_type = -1;
  std::int64_t allocated = -1;
  std::int64_t reserved = -1;
};

class Visitor {
 public:
  explicit Visitor(TraceEvents& out) : out_(out) {}

  void OnRootKey(std::string_view key) { base_time_next_ = key == "baseTimeNanoseconds"; }
  void OnRootInteger(std::int64_t value) {
    out_.base_time = base_time_next_ ? value : out_.base_time;
  }
  void OnEventBegin() { arguments_ = {}; }
  void OnArgumentKey(std::string_view key) { argument_ = ToArgument(key); }
  void OnArgument(double /*value*/) {}
  void OnArgument(std::string_view /*value*/) {}
  void OnArgument(std::uint64_t value) {
    if (argument_ == Argument::kAddress) {
      arguments_.address = value;
    }
  }
  void OnArgument(std::int64_t value) {
    switch (argument_) {
      case Argument::kBytes:
        arguments_.bytes = value;
        break;
      case Argument::kAddress:
        arguments_.address = static_cast<std::uint64_t>(value);
        break;
      case Argument::kDevice:
        arguments_.device = value;
        break;
      case Argument::kDeviceType:
        arguments_.device_type = value;
        break;
      case Argument::kAllocated:
        arguments_.allocated = value;
        break;
      case Argument::kReserved:
        arguments_.reserved = value;
        break;
      case Argument::kNone:
        break;
    }
  }

  void OnEvent(const TraceEvent& event) {
    ++out_.events;
    const bool span = event.phase == "X" && IsCode(event.category);
    const bool instant = event.phase == "i";  // those of PyTorch 1.8 have no category
    if (!span && !instant) {
      return;
    }
    const auto time = Nanos(event.time);
    if (!time) {
      ++out_.bad_times;
    } else if (span) {
      AddSpan(event, *time);
    } else if (event.name == "[memory]") {
      AddMemory(event, *time, false);
    } else if (event.name == "[OutOfMemory]") {
      AddMemory(event, *time, true);
    }
  }

 private:
  static bool IsCode(std::string_view category) {
    return category == "cpu_op" || category == "python_function" || category == "user_annotation" ||
           category == "Operator";  // as PyTorch 1.8 called a cpu_op
  }

  void AddSpan(const TraceEvent& event, std::int64_t begin) {
    const auto duration = Nanos(event.duration);
    if (!duration || *duration < 0) {
      ++out_.bad_times;
      return;
    }
    if (event.category == "user_annotation" && event.name.starts_with("ProfilerStep#")) {
      out_.steps.push_back({.name = event.name, .begin = begin, .end = begin + *duration});
      return;
    }
    out_.spans.push_back({.begin = begin,
                          .end = begin + *duration,
                          .name = out_.names.Intern(std::as_bytes(std::span(event.name))),
                          .thread = ThreadIndex(event.thread)});
  }

  void AddMemory(const TraceEvent& event, std::int64_t time, bool failed) {
    if (failed && arguments_.bytes.value_or(-1) < 0) {
      out_.out_of_memory.push_back(time);
      return;
    }
    if (!arguments_.bytes || *arguments_.bytes == std::numeric_limits<std::int64_t>::min()) {
      ++out_.bad_times;
      return;
    }
    if (!arguments_.address && !failed) {
      ++out_.without_address;
    }
    constexpr std::int64_t kCpu = 0;  // c10::DeviceType
    constexpr std::int64_t kMaxDevices = 65536;
    const bool cpu = arguments_.device_type == kCpu || arguments_.device < 0;
    out_.memory.push_back(
        {.time = time,
         .address = arguments_.address.value_or(0),
         .bytes = *arguments_.bytes,
         .allocated = arguments_.allocated,
         .reserved = arguments_.reserved,
         .device = cpu ? -1 : static_cast<std::int32_t>(std::min(arguments_.device, kMaxDevices)),
         .thread = ThreadIndex(event.thread),
         .failed = failed});
  }

  std::uint32_t ThreadIndex(const std::string& thread) {
    if (thread_index_.empty() || thread != last_thread_) {
      last_thread_ = thread;
      const auto [it, added] =
          thread_index_.emplace(thread, static_cast<std::uint32_t>(out_.threads.size()));
      if (added) {
        out_.threads.push_back(thread);
      }
      last_index_ = it->second;
    }
    return last_index_;
  }

  TraceEvents& out_;
  Arguments arguments_;
  Argument argument_ = Argument::kNone;
  bool base_time_next_ = false;
  std::map<std::string, std::uint32_t> thread_index_;
  std::string last_thread_;
  std::uint32_t last_index_ = 0;
};

}  // namespace

TraceEvents ReadTraceEvents(ByteWindow& in, const Limits& limits) {
  TraceEvents events;
  Visitor visitor(events);
  formats::ReadTraceEvents(in, limits, visitor);
  return events;
}

}  // namespace memtool::formats::kineto
