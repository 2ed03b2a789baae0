#include "oom_text/text_readers.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "log/log_recording.h"
#include "oom_text/scan.h"
#include "oom_text/tables/table_recording.h"

namespace memtool::formats {

namespace {

// What a log without a table says.
Result<Recording> FromStatements(const OomLog& log) {
  std::vector<log::LogFailure> failures;
  for (const OomMessage& message : log.messages) {
    const auto bytes = [](const std::optional<OomNumber>& number) {
      return number ? std::optional(number->bytes) : std::nullopt;
    };
    failures.push_back({.line = message.line,
                        .time = message.time.value_or(kNoTime),
                        .prefix = message.prefix,
                        .rank = message.rank,
                        .device = message.gpu,
                        .requested = bytes(message.requested_bytes).value_or(0),
                        .free = bytes(message.free)});
  }
  return log::ToRecording(log.statements, failures);
}

// A single report of a process is for commands that ask for one.
bool IsRecording(const OomLog& found) {
  return !found.statements.list.empty() && !found.statements.report;
}

// Keeps the log: a message says more than its table.
Result<Recording> WithText(Result<Recording> recording, std::string text) {
  if (recording) {
    recording->metadata.log_text = std::move(text);
  }
  return recording;
}

Result<Recording> ReadTable(ByteWindow& in, oom_text::TableKind kind, std::string_view what) {
  std::string text;
  auto recording = oom_text::ToRecording(oom_text::ScanLog(in, nullptr, &text), kind);
  if (!recording) {
    return Fail(ErrorCode::kUnknownFormat, "this log has no " + std::string(what),
                "memtool oom explains messages without tables");
  }
  return WithText(*std::move(recording), std::move(text));
}

}  // namespace

Result<Recording> LogReader::Read(ByteWindow& in, const Limits& /*limits*/) const {
  std::string text;
  const OomLog found = oom_text::ScanLog(in, nullptr, &text);
  if (!IsRecording(found)) {
    return Fail(ErrorCode::kUnknownFormat,
                "this log says nothing about memory that a pattern knows",
                "memtool info --print-patterns");
  }
  return WithText(FromStatements(found), std::move(text));
}

Result<Recording> OomTextReader::Read(ByteWindow& in, const Limits& /*limits*/) const {
  return ReadTable(in, oom_text::TableKind::kAny, "table of XLA's buffers or chunks");
}

Result<Recording> BfcDumpReader::Read(ByteWindow& in, const Limits& /*limits*/) const {
  return ReadTable(in, oom_text::TableKind::kPool, "dump of an allocator's chunks");
}

std::optional<Result<Recording>> oom_text::ReadText(ByteWindow& in,
                                                    const log::PatternTable* patterns) {
  std::string text;
  const OomLog found = ScanLog(in, patterns, &text);
  auto recording = ToRecording(found, TableKind::kAny);
  if (!recording && IsRecording(found)) {
    recording = FromStatements(found);
  }
  return recording ? std::optional(WithText(*std::move(recording), std::move(text))) : std::nullopt;
}

}  // namespace memtool::formats
