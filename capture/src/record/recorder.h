// The interface of this folder: what the wrappers, CUPTI and the public header report. Every
// function may be called from any thread, and none fails: what cannot be written is counted.
#pragma once

#include <cstdint>

#include "wire.h"

namespace memtool::capture {

// What a caller knows about an event besides its numbers. The thread and its tag are added here.
struct Attributes {
  // The domain that it is entered in.
  wire::Space space = wire::Space::kDevicePointer;
  wire::Kind kind = wire::Kind::kDevice;
  wire::Level level = wire::Level::kDriver;
  std::int32_t device = -1;  // -1 = host, or not known (frees)
  const char* name = "device";
  // The driver's handles, 0 = none.
  std::uint64_t context = 0;
  std::uint64_t stream = 0;
  std::uint64_t pool = 0;
};

// Whether events are wanted.
bool Recording();
void SetRecording(bool on);
// Reads the settings, once: the library's constructor, or before it a wrapper or the public header,
// because the constructors of libraries that a program is linked with come earlier than ours.
void StartUp();

// --- events

void RecordAlloc(const Attributes& attributes, std::uint64_t key, std::uint64_t size,
                 bool estimated = false);
void RecordFree(const Attributes& attributes, std::uint64_t key);
void RecordFreeFailed(const Attributes& attributes, std::uint64_t key, std::uint64_t status);
// `free_bytes`: what the driver says is free, or UINT64_MAX.
void RecordFailed(const Attributes& attributes, std::uint64_t size, std::uint64_t status,
                  std::uint64_t free_bytes);

// Events that are a tag and a few numbers.
struct Numbers {
  std::uint64_t values[4] = {};
  std::uint32_t count = 0;
  bool with_stack = false;
  // Not when this log has them already: calls that ask, which a program may make all the time.
  bool once = false;
};
void RecordPlain(wire::Tag tag, const Attributes& attributes, const Numbers& numbers);

void RecordMark(const char* name, std::int64_t value);
// From a signal handler: the mark "snapshot", before the next event.
void WantSnapshot();

// For the calling thread.
void PushTag(const char* name);
void PopTag();

// --- the log

struct Totals {
  std::uint64_t events;
  std::uint64_t dropped;
  std::uint64_t bytes;  // of the log
};
Totals GetTotals();
const char* LogPath();
// A driver function that was handed out without a wrapper, because in doubt.
void CountUnknownEntry();
// An event of a domain that has no name of its own.
void CountLostDomain();

// Who reports events, and why it cannot (0 = it can); `subscriber` as in the header. A log is made
// for it only when it cannot.
void RecordBackend(wire::Backend backend, std::uint32_t status, const char* subscriber);

// What this process kept from the shim.
struct BlindSpots {
  std::uint32_t libraries = 0;  // bound to the driver past the wrappers
  std::uint32_t drivers = 0;    // loaded into other namespaces
};
// When the process ends: writes down what `look` finds, also where no event made a log. Not where
// CUPTI reports the calls, which sees these too.
void RecordBlindSpots(BlindSpots (*look)());

void CloseLog();

// Around fork().
void BeforeFork();
void AfterForkInParent();
void AfterForkInChild();

}  // namespace memtool::capture
