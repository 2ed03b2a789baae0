// What a driver did, from bytes: allocations, frees, refusals and ends of contexts on two devices.
// It is written as a capture log, while books are kept of what each device holds; the reader of the
// log must come to the same totals.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "../../capture/wire.h"
#include "common/log_maker.h"
#include "common/reading.h"
#include "memtool/profile/replay/replay.h"
#include "targets.h"

namespace {

using namespace memtool;
using namespace memtool::fuzz;

constexpr std::size_t kDevices = 2;
constexpr std::size_t kContexts = 2;  // of each device

struct Book {
  std::int64_t live = 0;
  std::int64_t peak = 0;
  std::uint64_t events = 0;
};

struct Owned {
  std::int64_t size = 0;
  std::size_t device = 0;
  std::size_t context = 0;
};

class Driver {
 public:
  Driver() {
    using wire::Tag;
    log_.Record(Number(Tag::kThread), {1, 4711}, "main");
    for (std::size_t device = 0; device < kDevices; ++device) {
      // id, space, kind, level, device + 1
      log_.Record(Number(Tag::kDomain), {device + 1, 0, 0, 0, device + 1}, "device");
      for (std::size_t context = 0; context < kContexts; ++context) {
        // id, thread, domain, context, stream, pool, tag
        log_.Record(Number(Tag::kAttributeSet), {Attributes(device, context), 1, device + 1,
                                                 Context(device, context), 0, 0, 0});
      }
    }
  }

  // Three bytes a step: what, where, how much.
  void Step(std::uint8_t what, std::uint8_t where, std::uint8_t much) {
    const std::size_t device = where % kDevices;
    const std::size_t context = where / kDevices % kContexts;
    const std::uint64_t step = much;
    switch (what % 8) {
      case 0:
      case 1:
      case 2:
        return Alloc(device, context, step, SizeOf(what, much));
      case 3:
      case 4:
        return Free(where, step, false);
      case 5:
        return Free(where, step, true);
      case 6:
        return what < 0xc0 ? Fail(device, context, step) : EndContext(device, context, step);
      default:
        return what < 0xc0 ? UnknownFree(device, context, step) : log_.NextChunk();
    }
  }

  void Check(bool sealed) {
    const auto bytes = log_.Finish(sealed);
    const auto recording = ReadAs("capture_log", bytes);
    Require(recording.has_value(), "a whole log cannot be read");
    const auto& found = recording->diagnostics;
    Require(std::none_of(found.begin(), found.end(),
                         [](const Diagnostic& one) { return one.severity == Severity::kDamage; }),
            "a whole log is damaged");
    std::array<Book, kDevices> read{};
    for (const Trace& trace : recording->history->traces) {
      const TraceSummary summary = Replay(*recording, trace).Summarize();
      Book& book = read.at(static_cast<std::size_t>(trace.device));
      Require(book.events == 0, "two lists of one device");
      Require(summary.base_bytes == 0, "bytes from before a log that holds everything");
      book = {.live = summary.end_bytes, .peak = summary.peak_bytes, .events = summary.events};
    }
    for (std::size_t device = 0; device < kDevices; ++device) {
      const std::string who = "of device " + std::to_string(device);
      Require(read.at(device).live == books_.at(device).live, "other live bytes " + who);
      Require(read.at(device).peak == books_.at(device).peak, "another peak " + who);
      Require(read.at(device).events >= books_.at(device).events, "events are missing " + who);
    }
  }

 private:
  static std::uint8_t Number(wire::Tag tag) { return static_cast<std::uint8_t>(tag); }
  static std::uint64_t Attributes(std::size_t device, std::size_t context) {
    return 1 + device * kContexts + context;
  }
  static std::uint64_t Context(std::size_t device, std::size_t context) {
    return 0x100 + Attributes(device, context);
  }
  // From a byte to half a tebibyte, in blocks and odd.
  static std::int64_t SizeOf(std::uint8_t what, std::uint8_t much) {
    return (std::int64_t{much} + 1) << (what / 8 % 32);
  }

  void Alloc(std::size_t device, std::size_t context, std::uint64_t step, std::int64_t size) {
    // Addresses are used again, as drivers do.
    std::uint64_t address = 0x7f0000000000;
    while (live_.contains(address)) {
      address += 0x1f0;
    }
    log_.Alloc(step, Attributes(device, context), address, static_cast<std::uint64_t>(size));
    live_[address] = {.size = size, .device = device, .context = context};
    Book& book = books_.at(device);
    book.live += size;
    book.peak = std::max(book.peak, book.live);
    ++book.events;
  }

  void Free(std::uint8_t which, std::uint64_t step, bool refused) {
    if (live_.empty()) {
      return;
    }
    const auto found = std::next(live_.begin(), static_cast<std::ptrdiff_t>(which % live_.size()));
    const auto [address, owned] = *found;
    const std::uint64_t attributes = Attributes(owned.device, owned.context);
    log_.Free(step, attributes, address);
    if (refused) {
      // attributes, key, status
      log_.Record(Number(wire::Tag::kFreeFailed), {1, attributes, address, 1});
      return;
    }
    books_.at(owned.device).live -= owned.size;
    ++books_.at(owned.device).events;
    live_.erase(found);
  }

  void Fail(std::size_t device, std::size_t context, std::uint64_t step) {
    // attributes, stack, size, status, free + 1
    log_.Record(Number(wire::Tag::kFailed),
                {step, Attributes(device, context), 0, 1U << 30U, 2, 1});
    ++books_.at(device).events;
  }

  void EndContext(std::size_t device, std::size_t context, std::uint64_t step) {
    log_.Record(Number(wire::Tag::kContextEnd),
                {step, Attributes(device, context), Context(device, context), device + 1});
    std::erase_if(live_, [&](const auto& one) {
      const bool ends = one.second.device == device && one.second.context == context;
      books_.at(device).live -= ends ? one.second.size : 0;
      books_.at(device).events += ends ? 1 : 0;
      return ends;
    });
  }

  void UnknownFree(std::size_t device, std::size_t context, std::uint64_t step) {
    log_.Free(step, Attributes(device, context), 0x1000);
  }

  LogMaker log_;
  std::map<std::uint64_t, Owned> live_;
  std::array<Book, kDevices> books_{};
};

}  // namespace

int memtool::fuzz::FuzzCaptureBooks(const std::uint8_t* data, std::size_t size) {
  // Enough for several chunks; every further one costs 64 KiB.
  constexpr std::size_t kMaxSteps = 2000;
  if (size == 0) {
    return 0;
  }
  Driver driver;
  for (std::size_t i = 1; i + 2 < size && i / 3 < kMaxSteps; i += 3) {
    driver.Step(data[i], data[i + 1], data[i + 2]);
  }
  driver.Check(data[0] % 2 == 0);
  return 0;
}
