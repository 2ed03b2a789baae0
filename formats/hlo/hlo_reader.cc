#include "hlo/hlo_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "hlo/hlo_history.h"
#include "hlo/hlo_program.h"
#include "memtool/formats/byte_window.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/wire.h"

namespace memtool::formats {

namespace {

constexpr std::size_t kLongestName = 4096;

// A name that a compiler gives; others do not begin like this.
bool IsName(const wire::Field& field) {
  return field.type == wire::kLength && !field.bytes.empty() &&
         field.bytes.size() <= kLongestName &&
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

}  // namespace

// HloProto.hlo_module with its name, the name of its entry computation, and a computation's name.
Match HloReader::Sniff(std::span<const std::byte> head) const {
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

Result<Recording> HloReader::Read(ByteWindow& in, const Limits& /*limits*/) const {
  // A module comes before its buffers, and which of its instructions are needed only they tell:
  // the whole is in memory, as it was in the compiler's.
  constexpr std::size_t kStep = std::size_t{1} << 20U;
  const std::uint64_t start = in.offset();
  std::size_t wanted = kStep;
  while (in.Fill(wanted).size() >= wanted) {
    wanted *= 2;
  }
  const std::span<const std::byte> bytes = in.buffered();
  const hlo::HloProgram program = hlo::ReadHloProto(ByteCursor(bytes, start));
  in.Advance(bytes.size());
  if (program.allocations.empty()) {
    ThrowRead(ErrorCode::kMalformed, start, "buffer_assignment",
              "a program without buffers: it was dumped before they were assigned",
              "take the dump of after_optimizations");
  }
  RecordingBuilder builder;
  builder.Intern({});
  builder.metadata().format = name();
  builder.metadata().format_display = "compiled program of XLA (HloProto)";
  builder.metadata().origin = {.framework = Framework::kJax, .kind = RecordingKind::kProgram};
  builder.metadata().frames_are_scopes = true;
  hlo::AddProgram(program, builder);
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
