#include "capture_log/log_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "capture_log/log/log_header.h"
#include "memtool/profile/base/sizes.h"

namespace memtool::formats::capture_log {

namespace {

const char* StopText(wire::Stop stop) {
  switch (stop) {
    case wire::Stop::kMaxBytes:
      return "the log reached its largest size (MEMTOOL_CAPTURE_MAX_BYTES)";
    case wire::Stop::kDiskFull:
      return "the disk was full";
    case wire::Stop::kFileLimit:
      return "the limit on file sizes (RLIMIT_FSIZE) was reached";
    case wire::Stop::kMapFailed:
      return "the file could not be mapped";
    case wire::Stop::kFileLost:
      return "the program closed the log's descriptor, and the log was moved or removed";
    case wire::Stop::kReserveFailed:
      return "the file system refused to reserve space";
    default:
      return nullptr;
  }
}

const char* PythonText(wire::PythonState state) {
  switch (state) {
    case wire::PythonState::kUnsupported:
      return "Python frames are missing: no table for this interpreter's version";
    case wire::PythonState::kSelfTest:
      return "Python frames are missing: the self-test disagreed with the interpreter";
    default:
      return nullptr;
  }
}

// What a user can do about a backend that records nothing.
std::string BackendText(const wire::Header& header) {
  constexpr std::string_view kInstead = "; --backend preload needs no CUPTI";
  switch (header.backend_status) {
    case wire::kNoCupti:
      return fmt::format("CUPTI's library was not found (MEMTOOL_CAPTURE_CUPTI names it){}",
                         kInstead);
    case wire::kCuptiOtherSubscriber: {
      const std::string holder = FixedText(header.subscriber);
      return fmt::format(
          "CUPTI serves one subscriber at a time, and {} is one already: end that profiler or "
          "debugger{}",
          holder.empty() ? "another tool" : holder, kInstead);
    }
    case wire::kCuptiPrivileges:
      return fmt::format(
          "CUPTI needs more privileges than this user has: the administrator can open it to all "
          "users (driver option NVreg_RestrictProfilingToAdminUsers=0){}",
          kInstead);
    case wire::kCuptiHypervisor:
      return fmt::format("CUPTI is not allowed on this virtual GPU by its hypervisor{}", kInstead);
    default:
      return fmt::format("CUPTI refused with error {}{}", header.backend_status, kInstead);
  }
}

// Counters of the writer. The codes are part of memtool's JSON output.
void NoteCounters(RecordingBuilder& builder, const wire::Header& header) {
  builder.AddDiagnostic(Severity::kWarning, "dropped_events", "events that were not written",
                        header.dropped);
  builder.AddDiagnostic(Severity::kWarning, "folded_stacks",
                        "stacks that were cut because a table was full", header.folded);
  builder.AddDiagnostic(Severity::kWarning, "shared_lanes",
                        "events without their thread, stream and tag, because a table was full",
                        header.shared_attributes);
  builder.AddDiagnostic(
      Severity::kWarning, "lost_tags",
      "tags that are missing: pushed more than 16 deep, or with more names than a table holds",
      header.lost_tags);
  builder.AddDiagnostic(Severity::kWarning, "lost_domains",
                        "events of more allocators than a table holds: they are in 'other domains'",
                        header.lost_domains);
  builder.AddDiagnostic(Severity::kNote, "unwind_stops",
                        "stacks whose outer part could not be followed", header.unwind_stops);
  builder.AddDiagnostic(Severity::kNote, "cut_stacks",
                        "stacks that go deeper than was recorded (MEMTOOL_CAPTURE_DEPTH)",
                        header.cut_stacks);
  builder.AddDiagnostic(Severity::kWarning, "lost_mappings",
                        "loaded objects that are not in the log, because a table was full: "
                        "addresses in them have no names",
                        header.lost_mappings);
  builder.AddDiagnostic(Severity::kWarning, "unknown_entries",
                        "functions of the driver that are newer than the capture library: "
                        "what they allocate is not seen",
                        header.unknown_entries);
  builder.AddDiagnostic(Severity::kWarning, "past_libraries",
                        "libraries that the dynamic linker bound to the driver past the capture "
                        "library (RTLD_DEEPBIND): what they allocate is not seen",
                        header.past_libraries);
  builder.AddDiagnostic(Severity::kWarning, "past_drivers",
                        "drivers that were loaded into other namespaces (dlmopen): what is "
                        "allocated through them is not seen",
                        header.past_drivers);
}

}  // namespace

void NoteSymbols(RecordingBuilder& builder, std::uint64_t without_libdw) {
  builder.AddDiagnostic(
      Severity::kWarning, "no_libdw",
      "native addresses without names, because libdw is not installed (Debian: libdw1)",
      without_libdw);
}

void NoteHeader(RecordingBuilder& builder, const wire::Header& header, std::uint64_t events) {
  if (const char* why = StopText(static_cast<wire::Stop>(header.stop_reason)); why != nullptr) {
    builder.AddDiagnostic(Severity::kWarning, "stopped_early",
                          fmt::format("recording ended early: {}", why), 1);
  }
  if (header.backend_status != 0) {
    builder.AddDiagnostic(Severity::kWarning, "no_backend",
                          "nothing was recorded: " + BackendText(header), 1);
  }
  NoteCounters(builder, header);
  if ((header.flags & wire::kEndedCleanly) == 0) {
    builder.AddDiagnostic(Severity::kNote, "not_ended",
                          "the process did not end by exit: "
                          "it was killed, left by _exit, ran another program, or is still running",
                          1);
  }
  if (events < header.events) {
    builder.AddDiagnostic(Severity::kDamage, "lost_events",
                          "events that were written and are not readable here",
                          header.events - events);
  }
  if (const char* why = PythonText(static_cast<wire::PythonState>(header.python_state));
      why != nullptr) {
    builder.AddDiagnostic(Severity::kWarning, "no_python", why, 1);
  }
  builder.AddDiagnostic(
      Severity::kNote, "lost_python",
      "stacks without their Python part: the thread may have been in any of several interpreters, "
      "and did not hold their lock",
      header.lost_python);
}

void NotePython(RecordingBuilder& builder, const wire::Header& header) {
  if (static_cast<wire::PythonState>(header.python_state) == wire::PythonState::kUnverified) {
    builder.AddDiagnostic(Severity::kNote, "unverified_python",
                          "Python frames were never compared with the interpreter's own: "
                          "no call came from a thread that held its lock",
                          1);
  }
}

void NoteCalls(RecordingBuilder& builder, const CallCounts& counts) {
  builder.AddDiagnostic(
      Severity::kNote, "unknown_frees",
      "frees of memory that was allocated before the recording, or while it was off",
      counts.unknown_frees);
  builder.AddDiagnostic(Severity::kNote, "refused_frees", "frees that the driver refused",
                        counts.refused_frees);
  builder.AddDiagnostic(Severity::kNote, "failed_calls",
                        "allocations that failed for other reasons than memory",
                        counts.failed_calls);
  builder.AddDiagnostic(
      Severity::kNote, "graph_nodes",
      fmt::format("allocations in graphs, {} in all, which the calls do not take: what launches "
                  "of CUDA graphs took is in the ledger 'graphs'",
                  FormatSize(static_cast<std::int64_t>(
                      std::min<std::uint64_t>(counts.graph_bytes, INT64_MAX)))),
      counts.graph_nodes);
  builder.AddDiagnostic(Severity::kNote, "estimated_sizes",
                        "arrays, whose sizes were worked out from their descriptors",
                        counts.estimated);
  builder.AddDiagnostic(Severity::kNote, "shared_memory",
                        "pieces of other processes' memory that were opened here: not counted",
                        counts.imports);
  builder.AddDiagnostic(Severity::kDamage, "lost_definitions", "events whose definitions are lost",
                        counts.unknown_attributes);
  builder.AddDiagnostic(Severity::kNote, "reused_addresses",
                        "allocations at an address whose free was not recorded", counts.reopened);
}

void NoteThreads(RecordingBuilder& builder, const wire::Header& header,
                 const HistoryBuilder::InFlight& in_flight) {
  if (header.shared_attributes == 0) {
    builder.AddDiagnostic(Severity::kNote, "racing_threads",
                          fmt::format("threads of one device or of the host: where they allocate "
                                      "and free at the same time, a peak "
                                      "may be too low, by at most {}, one call of each",
                                      FormatSize(in_flight.bytes)),
                          in_flight.threads);
  }
}

void Describe(RecordingBuilder& builder, const wire::Header& header) {
  Metadata& metadata = builder.metadata();
  const std::string rank = FixedText(header.rank);
  metadata.format_display = fmt::format("capture log of process {} on {}{}{}", header.pid,
                                        FixedText(header.host), rank.empty() ? "" : ", ", rank);
  metadata.origin = {.framework = Framework::kDriver,
                     .kind = RecordingKind::kDriverLog,
                     .host = FixedText(header.host),
                     .process = header.pid,
                     .rank = rank};
  metadata.time_nanos = static_cast<std::int64_t>(header.start_unix & INT64_MAX);
  builder.AddSetting("program", FixedText(header.executable));
  builder.AddBlindSpot("CUDA context and modules", "the driver takes them without a call");
  builder.AddBlindSpot("pools", "what a stream-ordered pool holds beyond its allocations");
  builder.AddBlindSpot("calls at the same time",
                       "each is written next to the driver's, not with it: a peak may lack one "
                       "call of each thread");
  builder.AddBlindSpot("other processes", "a log holds one process");
}

}  // namespace memtool::formats::capture_log
