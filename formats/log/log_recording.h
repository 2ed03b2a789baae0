// Statements → a recording: what each process held on each device over time, as allocations whose
// names are the amounts' titles.
//
// - A part is one allocation; a later line about the same thing replaces it, unless lines add up.
// - A level (allocated, reserved, used) rises by an allocation and falls by freeing the latest ones
//   first, so that what is live at any line is what the line says, and a row is the stage at which
//   it was added. Levels make rows only where no parts do.
// - What the device has free says how much was taken from it since the first such line.
// - A new run frees what the one before held.
// Plans and sums make no rows. A failure is an event of the process, rank or device that its
// message names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "log/statement_scan.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool::formats::log {

// A message that says that memory ran out.
struct LogFailure {
  std::uint64_t line = 0;
  std::int64_t time = kNoTime;
  std::string prefix;  // of its line: "(Worker_TP1 pid=72)"
  std::optional<int> rank;
  std::optional<int> device;
  std::int64_t requested = 0;        // bytes; 0 = it does not say
  std::optional<std::int64_t> free;  // by the driver
};

// What was read, in words.
struct LogForm {
  std::string_view display = "log";  // "log of vLLM"
  std::string_view noun = "a log";
  // A level's rows are the stages at which it rose; else it is one row, and they are labels.
  bool rows_by_stage = true;
};

// `failures`: by line. Errors: those of RecordingBuilder::Finish.
Result<Recording> ToRecording(const Statements& statements, std::span<const LogFailure> failures,
                              const LogForm& form = {});

}  // namespace memtool::formats::log
