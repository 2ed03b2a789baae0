// A Writer turns a Recording into the bytes of one format. Writers are stateless and reentrant.
// To add one: like a reader, see ARCHITECTURE.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/filter.h"

namespace memtool::formats {

// Receives the next bytes. Writing stops at its first error and returns it.
using ByteSink = std::function<Result<void>(std::string_view bytes)>;

// What a format can store of a recording.
enum class Written : std::uint8_t {
  kSamples,    // all samples, whatever WriteOptions say
  kSelection,  // the samples that WriteOptions select
  kHistory,    // the events and the allocator's state at their end
  kTimeline,   // what the events make of memory over time, for pictures
  kAll,        // samples, events, state and whatever else there is, at a moment
  kRecording,  // the same, as it was read
};

struct WriteOptions {
  std::shared_ptr<const Filter> filter;  // null = all samples, frame mode app
  std::string sample_type;               // see ChooseValue; empty = the default
  // For kTimeline: bytes by category; null = none. By reference.
  const Keywords* keywords = nullptr;
  std::string device{};  // for kTimeline: only this device; empty = all
  // Called with sentences for people about what the output omits or approximates.
  std::function<void(const std::string& text)> note{};
};

class Writer {
 public:
  virtual ~Writer() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;     // "pprof"
  [[nodiscard]] virtual std::string_view summary() const = 0;  // one line for help
  // The usual endings of such files' names, the most common first: ".pb.gz".
  [[nodiscard]] virtual std::span<const std::string_view> endings() const = 0;
  [[nodiscard]] virtual Written writes() const = 0;
  // Not for terminals.
  [[nodiscard]] virtual bool binary() const { return false; }
  // Errors: kUnsupported when the recording lacks what the format holds; kLimit for more than it
  // can hold; kUsage for options that do not fit the recording; those of `sink`.
  virtual Result<void> Write(const Recording& recording, const WriteOptions& options,
                             const ByteSink& sink) const = 0;

  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
};

// All writers, in the order in which help lists them.
std::span<const Writer* const> Writers();

// All bytes of `recording` in the format of the writer `name`. Errors: those of Write(); kUsage
// when there is no such writer, kUnsupported when this build was made without it.
Result<std::string> WriteAs(std::string_view name, const Recording& recording,
                            const WriteOptions& options = {});
// The same, handed to `sink` as they are made. Errors: also those of `sink`.
Result<void> WriteAs(std::string_view name, const Recording& recording, const WriteOptions& options,
                     const ByteSink& sink);

}  // namespace memtool::formats
