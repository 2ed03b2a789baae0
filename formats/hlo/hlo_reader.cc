#include "hlo/hlo_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

#include "hlo/hlo_history.h"
#include "hlo/hlo_json.h"
#include "hlo/hlo_program.h"
#include "hlo/hlo_text.h"
#include "memtool/formats/byte_window.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/wire.h"

namespace memtool::formats {

namespace {

constexpr std::size_t kMaxNameLength = 4096;

// A name that a compiler gives; others do not begin like this.
bool IsName(const wire::Field& field) {
  return field.type == wire::kLength && !field.bytes.empty() &&
         field.bytes.size() <= kMaxNameLength &&
         std::all_of(field.bytes.begin(), field.bytes.end(),
                     [](std::byte b) { return b >= std::byte{' '} && b < std::byte{0x7f}; });
}

// Steps into a message whose end may lie beyond the head.
void StepInto(ByteCursor& cursor, std::uint64_t number) {
  const std::uint64_t offset = cursor.offset();
  if (cursor.Varint() != (number << 3U | wire::kLength)) {
    ThrowRead(ErrorCode::kMalformed, offset, {}, "another field");
  }
  cursor.Varint();
}

hlo::HloProgram ReadJson(ByteWindow& in, const Limits& limits) {
  const std::string bytes = hlo::BytesOfHloJson(in, limits);
  return hlo::ReadHloProto(ByteCursor(std::as_bytes(std::span(bytes)), 0));
}

// The rest of the input.
std::span<const std::byte> Whole(ByteWindow& in) {
  // A module comes before its buffers, and which of its instructions are needed only they tell:
  // the whole is in memory, as it was in the compiler's.
  constexpr std::size_t kStep = std::size_t{1} << 20U;
  std::size_t wanted = kStep;
  while (in.Fill(wanted).size() >= wanted) {
    wanted *= 2;
  }
  return in.buffered();
}

hlo::HloProgram ReadBytes(ByteWindow& in) {
  const std::uint64_t start = in.offset();
  const std::span<const std::byte> bytes = Whole(in);
  hlo::HloProgram program = hlo::ReadHloProto(ByteCursor(bytes, start));
  in.Advance(bytes.size());
  return program;
}

void Begin(std::string_view name, std::string_view display, RecordingBuilder& builder) {
  builder.Intern({});
  builder.metadata().format = name;
  builder.metadata().format_display = display;
  builder.metadata().origin = {.framework = Framework::kJax, .kind = RecordingKind::kProgram};
  builder.metadata().frames_are_scopes = true;
}

// What the text states beside its allocations, and what it leaves out.
void AddTextFacts(const hlo::TextProgram& read, RecordingBuilder& builder) {
  const std::int64_t sum = read.program.Total();
  if (read.total) {
    builder.AddSetting("stated total bytes", fmt::format("{}", *read.total));
  }
  const std::int64_t off = read.total ? SaturatingSubtract(*read.total, sum) : 0;
  if (read.not_shown > 0 && off > read.off) {
    builder.AddDiagnostic(
        Severity::kNote, "not_shown",
        fmt::format("allocations that the report does not show, {} together", FormatSize(off)),
        read.not_shown);
  } else if (off > read.off || off < -read.off) {
    builder.AddDiagnostic(Severity::kDamage, "total_differs",
                          fmt::format("the allocations add up to {} bytes, the text states {}",
                                      FormatCount(sum), FormatCount(*read.total)),
                          1);
  }
  builder.AddDiagnostic(Severity::kDamage, "damaged_line",
                        "lines of allocations or values that could not be read", read.damaged);
  builder.AddDiagnostic(
      Severity::kNote, "rounded_sizes",
      fmt::format("sizes are rounded as the report prints them: up to {} off, each",
                  FormatSize(read.precision)),
      read.precision > 0 ? 1 : 0);
  if (read.program.traces.empty()) {
    builder.AddBlindSpot(
        "when buffers are in use",
        "the text has no live ranges: *live-range.txt has them, and *.hlo.pb a heap trace");
  }
}

}  // namespace

// HloProto.hlo_module with its name, the name of its entry computation, and a computation's name.
Match HloReader::Sniff(std::span<const std::byte> head) const {
  if (hlo::IsHloJson(AsText(head))) {
    return Match::kCertain;
  }
  try {
    ByteCursor cursor(head, 0);
    StepInto(cursor, 1);
    const wire::Field name = wire::Next(cursor);
    const wire::Field entry = wire::Next(cursor);
    if (name.number != 1 || !IsName(name) || entry.number != 2 || !IsName(entry)) {
      return Match::kNo;
    }
    StepInto(cursor, 3);
    const wire::Field computation = wire::Next(cursor);
    return computation.number == 1 && IsName(computation) ? Match::kCertain : Match::kNo;
  } catch (const ReadError&) {
    return Match::kNo;
  }
}

Result<Recording> HloReader::Read(ByteWindow& in, const Limits& limits) const {
  constexpr std::size_t kHead = std::size_t{64} << 10U;
  const std::uint64_t start = in.offset();
  const bool json = hlo::IsHloJson(AsText(in.Fill(kHead)));
  const hlo::HloProgram program = json ? ReadJson(in, limits) : ReadBytes(in);
  if (program.allocations.empty()) {
    ThrowRead(ErrorCode::kMalformed, start, "buffer_assignment",
              "a program without buffers: it was dumped before they were assigned",
              "take the dump of after_optimizations");
  }
  RecordingBuilder builder;
  Begin(name(),
        json ? "compiled program of XLA (HloProto, JSON)" : "compiled program of XLA (HloProto)",
        builder);
  hlo::AddProgram(program, builder);
  return std::move(builder).Finish();
}

Match HloTextReader::Sniff(std::span<const std::byte> head) const {
  return hlo::DetectTextDump(AsText(head)) == hlo::TextDump::kNone ? Match::kNo : Match::kCertain;
}

Result<Recording> HloTextReader::Read(ByteWindow& in, const Limits& /*limits*/) const {
  const std::uint64_t start = in.offset();
  const std::span<const std::byte> bytes = Whole(in);
  const hlo::TextDump dump = hlo::DetectTextDump(AsText(bytes));
  const hlo::TextProgram read = hlo::ReadHloText(AsText(bytes), dump);
  in.Advance(bytes.size());
  if (read.program.allocations.empty()) {
    ThrowRead(ErrorCode::kMalformed, start, {}, "no allocation of a program in this text",
              "give a *buffer-assignment.txt or *memory-usage-report.txt of --xla_dump_to");
  }
  RecordingBuilder builder;
  Begin(name(),
        dump == hlo::TextDump::kUsageReport ? "memory usage report of a compiled program of XLA"
                                            : "buffer assignment of a compiled program of XLA",
        builder);
  hlo::AddProgram(read.program, builder);
  AddTextFacts(read, builder);
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
