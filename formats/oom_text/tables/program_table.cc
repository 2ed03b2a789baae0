// What XLA's compiler prints of a program that does not fit.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "memtool/profile/base/numbers.h"
#include "oom_text/tables/table_rows.h"
#include "oom_text/words/phrases.h"
#include "support/trimmed.h"
#include "xla/op_name.h"

namespace memtool::formats::oom_text {

namespace {

constexpr std::size_t kMaxCellText = 4096;  // of one name or shape

using Number = std::optional<OomNumber>;

// "NAME SIZE": false where the row does not begin with the name; a size that cannot be read is
// absent.
bool TakeNamed(std::string_view row, std::string_view name, Number& size) {
  Phrases in(row);
  if (!in.Take(name)) {
    return false;
  }
  Number found;
  if (in.TakeSize(found)) {
    size = found;
  }
  return true;
}

// The value of op_name="…" or source_line=12 in an operator's row.
std::string_view Attribute(std::string_view row, std::string_view key) {
  const std::size_t at = row.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  std::string_view rest = row.substr(at + key.size());
  if (!rest.starts_with('"')) {
    return rest.substr(0, rest.find(' '));
  }
  rest.remove_prefix(1);
  std::size_t end = 0;
  while (end < rest.size() && rest[end] != '"') {
    end += rest[end] == '\\' ? 2 : 1;
  }
  return rest.substr(0, std::min(end, rest.size()));
}

// "Size: 2.00G" behind "Buffer 3:" or "3.".
std::string_view BehindNumber(std::string_view row) {
  std::size_t at = 0;
  while (at < row.size() && row[at] >= '0' && row[at] <= '9') {
    ++at;
  }
  return at > 0 && at < row.size() && row[at] == '.' ? row.substr(at + 1) : std::string_view();
}

// As bits, in the order in which a message has them.
enum Heading : unsigned {
  kStats = 1,
  kPeak = 2,
  kCapacity = 4,
  kTotalUsage = 8,
  kHeap = 16,
  kPersistent = 32,
  kRequirement = 64,
  kMaxValue = 128,
};

// "Total hbm usage >= 65.05G:": the space between the words, and the size behind them.
struct Spaced {
  std::string_view before;
  std::string_view behind;
};

bool TakeSpaced(std::string_view row, const Spaced& words, std::string_view& space, Number& size) {
  row = Trimmed(row);
  if (!row.starts_with(words.before)) {
    return false;
  }
  row.remove_prefix(words.before.size());
  constexpr std::size_t kMaxLength = 16;
  const std::size_t end = row.find(' ');
  if (end == 0 || end > kMaxLength || !row.substr(end).starts_with(words.behind)) {
    return false;
  }
  space = row.substr(0, end);
  Phrases(row.substr(end + words.behind.size())).TakeSize(size);
  return true;
}

struct Found {
  unsigned heading = 0;  // 0 = the row is none
  std::string_view space{};
  Number size{};
};

Found HeadingIn(std::string_view row) {
  Found found;
  row = Trimmed(row);
  constexpr std::array<std::pair<std::string_view, unsigned>, 5> kPlain{
      {{"BufferAssignment stats:", kStats},
       {"Peak buffers:", kPeak},
       {"Heap allocator status:", kHeap},
       {"Persistent allocations include", kPersistent},
       {"Largest program allocations in ", kMaxValue}}};
  for (const auto& [words, heading] : kPlain) {
    if (row.starts_with(words)) {
      found.heading = heading;
      if (heading == kMaxValue) {
        const std::string_view rest = row.substr(words.size());
        found.space = rest.substr(0, rest.find(':'));
      }
      return found;
    }
  }
  if (TakeNamed(row, "HBM capacity", found.size) && found.size) {
    found.heading = kCapacity;
    found.space = "hbm";
  } else if (TakeSpaced(row, {"Total ", " usage >="}, found.space, found.size)) {
    found.heading = kTotalUsage;
  } else if (TakeSpaced(row, {"Program ", " requirement "}, found.space, found.size)) {
    found.heading = kRequirement;
  }
  return found;
}

}  // namespace

bool ProgramTable::IsHeading(std::string_view row) {
  return HeadingIn(row).heading != 0;
}

bool ProgramTable::Begins(std::string_view row) const {
  const unsigned heading = HeadingIn(row).heading;
  // Headings come in one order: an earlier one than the last begins another table.
  return heading != 0 && seen_ >= heading;
}

bool ProgramTable::HasFigures() const {
  return table_.total || table_.program || table_.temporaries || table_.capacity ||
         !table_.buffers.empty();
}

bool ProgramTable::TakeHeading(std::string_view row) {
  const Found found = HeadingIn(row);
  if (found.heading == 0) {
    return false;
  }
  seen_ |= found.heading;
  open_ = false;
  constexpr std::size_t kMaxSpaceLength = 16;
  if (!found.space.empty()) {
    table_.space = found.space.substr(0, kMaxSpaceLength);
  }
  switch (found.heading) {
    case kCapacity:
      table_.capacity = found.size;
      part_ = Part::kRuntime;
      break;
    case kTotalUsage:
      table_.total = found.size;
      part_ = Part::kTotal;
      break;
    case kRequirement:
      table_.program = found.size;
      part_ = Part::kProgram;
      break;
    case kHeap:
    case kPersistent:
      part_ = Part::kRuntime;
      break;
    case kPeak:
    case kMaxValue:
      part_ = Part::kBuffers;
      break;
    default:
      part_ = Part::kNone;
      break;
  }
  return true;
}

// Of GPUs and CPUs: "preallocated temp allocation:    3.83GiB".
bool ProgramTable::TakeAssignment(std::string_view row) {
  Number whole_fragmentation;  // of all allocations together: nothing that one could act on
  const std::array<std::pair<std::string_view, Number*>, 7> rows{
      {{"parameter allocation:", &table_.arguments},
       {"constant allocation:", &table_.constants},
       {"maybe_live_out allocation:", &table_.outputs},
       {"preallocated temp allocation:", &table_.temporaries},
       {"preallocated temp fragmentation:", &table_.fragmentation},
       {"total allocation:", &table_.total},
       {"total fragmentation:", &whole_fragmentation}}};
  for (const auto& [name, size] : rows) {
    if (TakeNamed(row, name, *size)) {
      table_.damaged += size->has_value() ? 0 : 1;
      return true;
    }
  }
  return false;
}

// Of a TPU's runtime: what was there when a program was loaded.
bool ProgramTable::TakeRuntime(std::string_view row) {
  Phrases in(row);
  if (in.Take("Currently allocated:")) {
    Number rounded;
    Number exact;
    table_.damaged += in.TakeSize(rounded) ? 0 : 1;
    const bool reported = in.Take("(") && in.TakeGrouped(exact) && exact;
    table_.allocated = reported ? exact : rounded;
    return true;
  }
  return TakeNamed(row, "Max free chunk", table_.largest_free);
}

bool ProgramTable::TakeTotal(std::string_view row) {
  Phrases in(row);
  if (in.Take("reserved(") && in.SkipTo(")", kMaxCellText)) {
    in.TakeSize(table_.reserved);
    return true;
  }
  if (in.Take("heap allocations (without fragmentation)")) {
    in.TakeSize(table_.heap);
    return true;
  }
  // "arguments       unknown size" is printed, and is no size.
  return TakeNamed(row, "reserved", table_.reserved) ||
         TakeNamed(row, "arguments", table_.arguments) || TakeNamed(row, "program", table_.program);
}

// "HLO temp 63.79G (100.0% utilization: Unpadded (63.58G) Padded (63.58G), 0.3% fragmentation
// (210.89M))", up to 2019 without what is padded.
bool ProgramTable::TakeTemporaries(std::string_view row) {
  Phrases in(row);
  if (!in.Take("HLO temp")) {
    return false;
  }
  if (!in.TakeSize(table_.temporaries)) {
    ++table_.damaged;
    return true;
  }
  constexpr std::size_t kReach = 64;
  if (in.SkipTo("Unpadded (", kReach)) {
    in.TakeSize(table_.unpadded);
    if (in.SkipTo("Padded (", kReach)) {
      in.TakeSize(table_.padded);
    }
  }
  if (in.SkipTo("fragmentation (", kReach)) {
    in.TakeSize(table_.fragmentation);
  }
  return true;
}

bool ProgramTable::TakeProgram(std::string_view row) {
  Number own_reserved;  // a few KiB
  return TakeTemporaries(row) || TakeNamed(row, "global", table_.globals) ||
         TakeNamed(row, "scoped", table_.scoped) || TakeNamed(row, "overlays", table_.overlays) ||
         TakeNamed(row, "reserved", own_reserved);
}

bool ProgramTable::StartsBuffer(std::string_view row) {
  const std::string_view numbered = Trimmed(BehindNumber(row));
  const bool plain = row.starts_with("Buffer ") && row.ends_with(':');
  if (!plain && !numbered.starts_with("Size:")) {
    return false;
  }
  open_ = table_.buffers.size() < kMaxBuffers;
  if (!open_) {
    ++table_.left_out;
    return true;
  }
  table_.buffers.emplace_back();
  if (!plain) {
    Number size;
    TakeNamed(numbered, "Size:", size);
    table_.buffers.back().size = size.value_or(OomNumber{});
  }
  return true;
}

void ProgramTable::TakeOperator(std::string_view row) {
  OomBuffer& buffer = table_.buffers.back();
  buffer.op_name = Attribute(row, "op_name=").substr(0, kMaxCellText);
  if (buffer.op_name.empty()) {
    buffer.op_name = Attribute(row, "op_type=").substr(0, kMaxCellText);
  }
  buffer.file = Attribute(row, "source_file=").substr(0, kMaxCellText);
  std::string_view line = Attribute(row, "source_line=");
  buffer.line = std::max<std::int64_t>(TakeNumber<std::int64_t>(line).value_or(0), 0);
}

// A row of a buffer with a size in it.
bool ProgramTable::TakeFigure(std::string_view row) {
  OomBuffer& buffer = table_.buffers.back();
  Number size;
  if (TakeNamed(row, "Size:", size)) {
    buffer.size = size.value_or(OomNumber{});
    return true;
  }
  if (TakeNamed(row, "Unpadded size:", buffer.unpadded)) {
    return true;
  }
  Phrases in(row);
  if (!in.Take("Extra memory due to padding:")) {
    return false;
  }
  table_.damaged += in.TakeSize(buffer.padding) ? 0 : 1;
  if (in.Take("(")) {
    // No device has a thousand times a thousand: a number that long is damage.
    constexpr double kMax = 1e9;
    std::string_view rest = in.rest().substr(0, in.rest().find('x'));
    const double times = TakeNumber<double>(rest).value_or(0);
    buffer.expansion = times > 0 && times < kMax ? times : 0;
  }
  return true;
}

bool ProgramTable::TakeBuffer(std::string_view row) {
  if (StartsBuffer(row)) {
    return true;
  }
  if (!open_) {
    return false;
  }
  OomBuffer& buffer = table_.buffers.back();
  if (row.starts_with("=====")) {
    open_ = false;
    return true;
  }
  if (row.starts_with("Operator:")) {
    TakeOperator(row);
    return true;
  }
  const std::array<std::pair<std::string_view, std::string*>, 5> texts{
      {{"XLA Label:", &buffer.instruction},
       {"XLA label:", &buffer.instruction},
       {"Entry Parameter Subshape:", &buffer.shape},
       {"Shape:", &buffer.shape},
       {"Allocation type:", &buffer.allocation}}};
  for (const auto& [name, text] : texts) {
    if (row.starts_with(name)) {
      *text = Trimmed(row.substr(name.size())).substr(0, kMaxCellText);
      buffer.argument = buffer.argument || name.starts_with("Entry") ||
                        (text == &buffer.allocation && text->find("rgument") != text->npos);
      return true;
    }
  }
  return TakeFigure(row);
}

bool ProgramTable::Take(std::string_view row) {
  row = Trimmed(row);
  if (TakeHeading(row)) {
    return true;
  }
  switch (part_) {
    case Part::kNone:
      return seen_ != 0 && TakeAssignment(row);
    case Part::kRuntime:
      return TakeRuntime(row);
    case Part::kTotal:
      return TakeTotal(row);
    case Part::kProgram:
      return TakeProgram(row);
    case Part::kBuffers:
      return TakeBuffer(row);
  }
  return false;
}

namespace {

// What an instruction does: "fusion" of "%fusion.12 = f32[8]{0} fusion(…)" and of "fusion".
std::string_view GetOpcode(std::string_view instruction) {
  const std::size_t equals = instruction.find(" = ");
  std::string_view name = instruction.substr(0, instruction.find_first_of(" ("));
  if (equals != std::string_view::npos) {
    std::string_view made = instruction.substr(equals + 3);
    // A tuple's shape is in parentheses of its own.
    made = made.substr(made.starts_with('(') ? std::min(made.find(") ") + 1, made.size()) : 0);
    // So is a layout's tile: "s32[8,4]{1,0:T(8,128)} copy(…)".
    if (made.find('[') < made.find('(')) {
      made.remove_prefix(std::min(made.find(' '), made.size()));
    }
    const std::string_view before = made.substr(0, made.find('('));
    const std::size_t space = before.rfind(' ');
    name = space == std::string_view::npos ? before : before.substr(space + 1);
  }
  name.remove_prefix(name.starts_with('%') ? 1 : 0);
  return name.substr(0, name.find('.'));
}

std::string ToName(const OomBuffer& buffer) {
  if (const auto scopes = xla::SplitOpName(buffer.op_name); !scopes.empty()) {
    return std::string(scopes.back());
  }
  const std::string_view opcode = GetOpcode(buffer.instruction);
  return buffer.argument ? "(argument)" : opcode.empty() ? "(no operation)" : std::string(opcode);
}

}  // namespace

OomProgram ProgramTable::Finish() && {
  // Without a size: damaged, or cut off before it.
  const auto empty = [](const OomBuffer& buffer) { return buffer.size.bytes == 0; };
  const auto kept = std::remove_if(table_.buffers.begin(), table_.buffers.end(), empty);
  table_.damaged += static_cast<std::uint64_t>(table_.buffers.end() - kept);
  table_.buffers.erase(kept, table_.buffers.end());
  for (OomBuffer& buffer : table_.buffers) {
    buffer.name = ToName(buffer);
  }
  if (!table_.total && !table_.program && table_.temporaries) {
    table_.program = table_.temporaries;
  }
  return std::move(table_);
}

}  // namespace memtool::formats::oom_text
