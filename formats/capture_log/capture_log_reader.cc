#include "capture_log/capture_log_reader.h"

#include <utility>

#include "capture_log/calls/call_interpreter.h"
#include "capture_log/calls/history_builder.h"
#include "capture_log/chunk_reader.h"
#include "capture_log/decoder.h"
#include "capture_log/log/log_header.h"
#include "capture_log/log_notes.h"
#include "capture_log/stacks/stack_maker.h"
#include "capture_log/stacks/symbols.h"

namespace memtool::formats {

Match CaptureLogReader::Sniff(std::span<const std::byte> head) const {
  return capture_log::HasMagic(head) ? Match::kCertain : Match::kNo;
}

Result<Recording> CaptureLogReader::Read(ByteWindow& in, const Limits& /*limits*/) const {
  using namespace capture_log;  // NOLINT(google-build-using-namespace): its parts, put together
  const wire::Header header = ReadHeader(in);
  RecordingBuilder builder;
  Definitions definitions;
  HistoryBuilder history(builder, definitions,
                         static_cast<std::int64_t>(header.start_unix & INT64_MAX));
  CallInterpreter calls(definitions, history);
  Decoder decoder(definitions, calls);
  ChunkReader(in, header, builder, decoder).ReadAll();
  NoteHeader(builder, header, decoder.events());
  if (definitions.codes.Find(1) != nullptr) {
    NotePython(builder, header);
  }
  NoteCalls(builder, calls.counts());
  NoteThreads(builder, header, history.GetInFlight());
  Describe(builder, header);
  Symbols symbols(FixedText(header.executable));
  StackMaker stacks(builder, definitions, symbols);
  builder.SetHistory(history.Finish(stacks));
  NoteSymbols(builder, symbols.without_libdw());
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
