#include "oom_text/text_readers.h"

#include <string>
#include <utility>

#include "oom_text/scan.h"
#include "oom_text/tables/table_recording.h"

namespace memtool::formats {

namespace {

// The recording of a table, which keeps its log: a message says more than its table.
std::optional<Result<Recording>> ReadTable(ByteWindow& in, oom_text::TableKind kind) {
  std::string text;
  auto recording = oom_text::ToRecording(oom_text::ScanLog(in, &text), kind);
  if (recording && *recording) {
    (*recording)->metadata.log_text = std::move(text);
  }
  return recording;
}

Result<Recording> Read(ByteWindow& in, oom_text::TableKind kind, std::string_view what) {
  auto recording = ReadTable(in, kind);
  if (!recording) {
    return Fail(ErrorCode::kUnknownFormat, "this log has no " + std::string(what),
                "memtool oom explains messages without tables");
  }
  return *std::move(recording);
}

}  // namespace

Result<Recording> OomTextReader::Read(ByteWindow& in, const Limits& /*limits*/) const {
  return formats::Read(in, oom_text::TableKind::kAny, "table of XLA's buffers or chunks");
}

Result<Recording> BfcDumpReader::Read(ByteWindow& in, const Limits& /*limits*/) const {
  return formats::Read(in, oom_text::TableKind::kPool, "dump of an allocator's chunks");
}

std::optional<Result<Recording>> oom_text::ReadTables(ByteWindow& in) {
  return ReadTable(in, TableKind::kAny);
}

}  // namespace memtool::formats
