// Files that a command writes: whole or not at all.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "output/sink.h"

namespace memtool::commands {

// Writes a file under a temporary name in its folder and renames it, so that no half-written file
// ever has the name. "-" writes to `streams.out`. Of a file that is replaced, mode, access list,
// owner and group are kept; a symbolic link stays and what it names is written; devices and pipes
// are written in place. Errors: kUsage when `path` is one of `streams.inputs`; kOutput, also for a
// file that is read-only or whose owner cannot be kept.
Result<void> WriteWholeFile(const std::string& path, std::string_view bytes, Streams& streams);

// The same for bytes that are made while they are written: `produce` hands them to the function
// that it is given, and passes its errors on. Nothing replaces a file when it fails. Errors: also
// those of `produce`.
using ByteSink = std::function<Result<void>(std::string_view bytes)>;
using ByteProducer = std::function<Result<void>(const ByteSink& byte_sink)>;
Result<void> StreamWholeFile(const std::string& path, const ByteProducer& produce,
                             Streams& streams);

// What is written to it goes to `take` in pieces, until that fails; Flush() tells.
class CallbackSink final : public Sink {
 public:
  explicit CallbackSink(const ByteSink& byte_sink) : sink_(byte_sink) {}
  void WriteBytes(std::string_view bytes) override;
  Result<void> Flush() override;
  void Discard() override { pending_.clear(); }

 private:
  const ByteSink& sink_;
  std::string pending_;
  Result<void> state_;
};

// Adds to the end of a file, which is made where it is not there: logs and summaries that others
// write to as well. Errors: kOutput.
Result<void> AppendToFile(const std::string& path, std::string_view bytes);

// Writes a file that only its owner can read, under a name of its own in the folder for temporary
// files. Returns the path. Errors: kOutput.
Result<std::string> WriteTemporary(std::string_view ending, std::string_view bytes);
// The same for bytes that are made while they are written. Errors: also those of `produce`.
Result<std::string> StreamTemporary(std::string_view ending, const ByteProducer& produce);

// True when both names lead to one file, also to one that does not exist yet.
bool SameTarget(const std::string& one, const std::string& other);

// What to say of a write that failed with errno `number`.
Error NotWritable(const std::string& name, int number);

}  // namespace memtool::commands
