#include "hlo/hlo_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hlo/live_ranges.h"
#include "hlo/shape.h"
#include "hlo/text_fields.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/numbers.h"
#include "support/trimmed.h"

namespace memtool::formats::hlo {

namespace {

constexpr std::string_view kReportColumns = "cumulative_size; total_size - cumulative_size";
// Of reports since 2026: a part for each kind of memory.
constexpr std::string_view kSpace = "Memory Space: ";
constexpr std::string_view kSpaceTotal = "Total bytes: ";

class Scanner {
 public:
  explicit Scanner(TextDump dump) : report_(dump == TextDump::kUsageReport) {}

  TextProgram Read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      Line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    Finish();
    return std::move(read_);
  }

 private:
  void Line(std::string_view line) {
    const std::string_view text = Trimmed(line);
    if (ranges_ && text.find(" (peak)") == std::string_view::npos) {
      read_.damaged += text.empty() || Range(text) ? 0U : 1U;
      return;
    }
    ranges_ = text == "BufferLiveRange:";
    if (!Space(text)) {
      Entry(text);
    }
  }

  // A report's lines about a memory space. False for any other line.
  bool Space(std::string_view text) {
    if (report_ && text.starts_with(kSpace)) {
      std::string_view rest = text;
      color_ = SkipPast(rest, "(color=") ? TakeNumber(rest).value_or(0) : 0;
      return true;
    }
    if (!color_) {
      return false;
    }
    if (text.starts_with(kSpaceTotal)) {
      std::string_view rest = Trimmed(text.substr(kSpaceTotal.size()));
      const auto total = TakeNumber(rest);
      read_.total = total ? SaturatingAdd(read_.total.value_or(0), *total) : read_.total;
      return true;
    }
    if (text.starts_with("cumulative_size;")) {
      current_ = read_.program.allocations.size();
      read_.program.allocations.push_back(
          {.number = current_, .color = *color_, .category = Category::kUnknown});
      return true;
    }
    return false;
  }

  void Entry(std::string_view text) {
    if (text.starts_with("Total bytes used:")) {
      std::string_view rest = Trimmed(text.substr(text.find(':') + 1));
      read_.total = read_.total ? read_.total : TakeNumber(rest);
    } else if (text.starts_with("from instruction:")) {
      ReadInstruction(Trimmed(text.substr(text.find(':') + 1)));
    } else if (text.starts_with("value: <") && text.find("> (color=") == std::string_view::npos) {
      read_.damaged += Value(text.substr(text.find('<') + 1)) ? 0U : 1U;
    } else if (text.starts_with("The rest ")) {
      NotShown(text.substr(std::string_view("The rest ").size()));
    } else if (IsHeader(text)) {
      read_.damaged += Header(text.substr(text.find("allocation "))) ? 0U : 1U;
    } else if (report_ && std::count(text.begin(), text.end(), ';') >= 4 &&
               !text.starts_with("cumulative_size;")) {
      read_.damaged += Slot(text) ? 0U : 1U;
    }
  }

  // In a report's first table, the columns before it are sums.
  [[nodiscard]] bool IsHeader(std::string_view text) const {
    return text.starts_with("allocation ") ||
           (report_ && text.find("; allocation ") != std::string_view::npos);
  }

  void NotShown(std::string_view text) {
    const auto count = TakeNumber(text);
    if (count && text.starts_with(" allocations")) {
      read_.not_shown = static_cast<std::uint64_t>(*count);
    }
  }

  // "allocation 3: size 16, color 1, parameter 0, shape |f32[4]| at ShapeIndex {}, constant:".
  bool Header(std::string_view text) {
    current_ = kNone;
    text.remove_prefix(std::string_view("allocation ").size());
    const auto number = TakeNumber(text);
    if (!number || !text.starts_with(':') || !SkipPast(text, "size ")) {
      return false;
    }
    const auto size = TakeSize(text);
    if (!size || (!text.starts_with(',') && !text.starts_with(':'))) {
      return false;
    }
    const auto key = static_cast<std::uint64_t>(*number);
    const auto [at, added] = allocations_.try_emplace(key, read_.program.allocations.size());
    current_ = at->second;
    if (!added) {
      return true;  // the report lists them twice
    }
    Allocation allocation;
    allocation.number = key;
    allocation.size = size->bytes;
    read_.precision = std::max(read_.precision, size->precision);
    read_.off = SaturatingAdd(read_.off, size->precision);
    if (size->precision > 0) {
      rounded_.push_back(read_.program.allocations.size());
    }
    Attributes(text, allocation);
    read_.program.allocations.push_back(std::move(allocation));
    return true;
  }

  static void Attributes(std::string_view text, Allocation& allocation) {
    // A shape may hold anything; it stands between bars.
    std::string plain(text.substr(0, text.find('|')));
    std::string_view shape;
    if (SkipPast(text, "|")) {
      shape = text.substr(0, text.find('|'));
      plain += text.substr(std::min(text.rfind('|'), text.size()));
    }
    const auto has = [&plain](std::string_view word) {
      return plain.find(word) != std::string::npos;
    };
    allocation.shape = MakeFacts(shape);
    allocation.live_out = has(", maybe-live-out");
    allocation.category = has(", parameter ")     ? Category::kParameter
                          : allocation.live_out   ? Category::kOutput
                          : has(", thread-local") ? Category::kThreadLocal
                          : has(", constant")     ? Category::kConstant
                                                  : Category::kTemporary;
    std::string_view rest = plain;
    if (SkipPast(rest, ", parameter ")) {
      allocation.parameter = static_cast<std::uint64_t>(TakeNumber(rest).value_or(0));
    }
    rest = plain;
    if (SkipPast(rest, ", color ")) {
      allocation.color = TakeNumber(rest).value_or(0);
    }
  }

  // "add.1{1}:3-12": the first and the last instruction at which a value is there.
  bool Range(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    std::string_view times = text.substr(std::min(colon, text.size() - 1) + 1);
    const auto begin = TakeNumber(times);
    const bool dash = times.starts_with('-');
    times.remove_prefix(dash ? 1 : 0);
    const auto end = TakeNumber(times);
    if (colon == std::string_view::npos || !begin || !dash || !end || *end < *begin) {
      return false;
    }
    const auto found = values_.find(std::string(text.substr(0, colon)));
    if (found != values_.end()) {
      times_.push_back({.buffer = found->second, .begin = *begin, .end = *end});
      values_.erase(found);
    }
    return true;
  }

  // "3 add.1{1} (phi) @0> (size=8,offset=32): f32[2]{0}".
  bool Value(std::string_view text) {
    const auto id = TakeNumber(text);
    const std::size_t end = text.find('>');
    if (!id || end == std::string_view::npos || current_ == kNone) {
      return false;
    }
    const std::string_view name = Trimmed(text.substr(0, end));
    text.remove_prefix(end + 1);
    Buffer buffer;
    buffer.id = static_cast<std::uint64_t>(*id);
    const bool sized = SkipPast(text, "(size=");
    const auto size = sized ? TakeNumber(text) : std::nullopt;
    const auto offset = SkipPast(text, "offset=") ? TakeNumber(text) : std::nullopt;
    if (!size || !offset) {
      return false;
    }
    buffer.size = *size;
    buffer.offset = *offset;
    if (SkipPast(text, "): ")) {
      SetShape(buffer, MakeFacts(Trimmed(text)));
    }
    const std::string_view instruction = name.substr(0, name.find_first_of("{ @"));
    buffer.instruction = Instructed(instruction);
    // Only what is part of a tuple has an index here; among the live ranges all values have one.
    values_.try_emplace(name.substr(instruction.size()).starts_with('{')
                            ? std::string(name.substr(0, name.find('}') + 1))
                            : std::string(instruction) + "{}",
                        read_.program.buffers.size());
    Add(std::move(buffer));
    return true;
  }

  static void SetShape(Buffer& buffer, ShapeFacts facts) {
    buffer.shape = std::move(facts.text);
    buffer.dtype = std::move(facts.dtype);
    if (facts.unpadded && *facts.unpadded <= buffer.size) {
      buffer.unpadded = facts.unpadded;
    }
  }

  // "205.03MiB( 95%);    205.03MiB;            0;               12; 3×f32[2,3], f32[6]".
  bool Slot(std::string_view text) {
    std::array<std::string_view, 4> columns;
    for (std::string_view& column : columns) {
      const std::size_t end = text.find(';');
      column = Trimmed(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    std::string_view size_text = columns[1];
    std::string_view offset_text = columns[2];
    const auto size = TakeSize(size_text);
    const auto offset = TakeNumber(offset_text);
    if (!size || !offset || current_ == kNone) {
      return false;
    }
    Buffer buffer;
    buffer.id = read_.program.buffers.size();
    buffer.size = size->bytes;
    buffer.offset = *offset;
    buffer.shape = Trimmed(text);
    read_.precision = std::max(read_.precision, size->precision);
    rounding_.resize(read_.program.buffers.size());
    rounding_.push_back(size->precision);
    Add(std::move(buffer));
    return true;
  }

  void Add(Buffer buffer) {
    Allocation& allocation = read_.program.allocations[current_];
    buffer.allocation = current_;
    buffer.color = allocation.color;
    allocation.buffers.push_back(read_.program.buffers.size());
    read_.program.buffers.push_back(std::move(buffer));
  }

  std::size_t Instructed(std::string_view name) {
    const auto [at, added] =
        instructions_.try_emplace(std::string(name), read_.program.instructions.size());
    if (added) {
      Instruction instruction;
      instruction.name = name;
      read_.program.instructions.push_back(std::move(instruction));
    }
    return at->second;
  }

  // "%add.1 = f32[2]{0} add(…), metadata={op_name="jit(f)/add" source_file="a.py" source_line=7}".
  void ReadInstruction(std::string_view text) {
    const std::size_t end = text.find(" = ");
    text.remove_prefix(text.starts_with('%') || text.starts_with("ROOT %") ? text.find('%') + 1
                                                                           : 0);
    const auto found = instructions_.find(std::string(text.substr(0, text.find(" = "))));
    if (end == std::string_view::npos || found == instructions_.end()) {
      return;
    }
    Instruction& instruction = read_.program.instructions[found->second];
    SkipPast(text, " = ");
    instruction.opcode = GetOpcode(text);
    if (!instruction.op_name.empty() || !SkipPast(text, "metadata={")) {
      return;
    }
    instruction.op_name = Quoted(text, "op_name=");
    std::string file = Quoted(text, "source_file=");
    if (!file.empty()) {
      const std::int64_t line = SkipPast(text, "source_line=") ? TakeNumber(text).value_or(0) : 0;
      instruction.frames = {{.function = {}, .file = std::move(file), .line = line}};
    }
  }

  // What follows the shape: "f32[2]{0} add(" or "(f32[2], s32[]) tuple(".
  static std::string_view GetOpcode(std::string_view text) {
    std::size_t depth = 0;
    std::size_t at = 0;
    for (; at < text.size() && (depth > 0 || text[at] != ' '); ++at) {
      depth += text[at] == '(' ? 1U : 0U;
      depth -= text[at] == ')' && depth > 0 ? 1U : 0U;
    }
    const std::string_view rest = Trimmed(text.substr(at));
    return rest.substr(0, std::min(rest.find('('), rest.size()));
  }

  // Sizes of a report are rounded: one that ends about where its neighbour begins ends there, and
  // an allocation holds what lies in it.
  void Unround(Allocation& allocation) {
    std::vector<std::size_t> rows = allocation.buffers;
    std::sort(rows.begin(), rows.end(), [this](std::size_t a, std::size_t b) {
      return read_.program.buffers[a].offset < read_.program.buffers[b].offset;
    });
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Buffer& buffer = read_.program.buffers[rows[i]];
      const std::int64_t next =
          i + 1 < rows.size() ? read_.program.buffers[rows[i + 1]].offset : allocation.size;
      const std::int64_t room = SaturatingSubtract(next, buffer.offset);
      if (room > 0 && Magnitude(SaturatingSubtract(buffer.size, room)) <= rounding_[rows[i]]) {
        buffer.size = room;
      }
      const std::int64_t end = SaturatingAdd(buffer.offset, buffer.size);
      if (SaturatingSubtract(end, allocation.size) <= read_.precision) {
        allocation.size = std::max(allocation.size, end);
      }
    }
  }

  // The total is exact: where one size alone is rounded, it is what the others leave.
  void UnroundByTotal() {
    const std::int64_t off =
        read_.total ? SaturatingSubtract(*read_.total, read_.program.Total()) : 0;
    if (rounded_.size() == 1 && read_.not_shown == 0 && Magnitude(off) <= read_.off) {
      std::int64_t& size = read_.program.allocations[rounded_.front()].size;
      size = SaturatingAdd(size, off);
    }
  }

  // Newer reports have the buffers of each allocation, and nothing about itself: it holds them, and
  // where there are several they share it in turn.
  void MeasureAllocations() {
    for (std::size_t i = 0; i < read_.program.allocations.size(); ++i) {
      Allocation& allocation = read_.program.allocations[i];
      std::int64_t precision = 0;
      for (const std::size_t row : allocation.buffers) {
        const Buffer& buffer = read_.program.buffers[row];
        const std::int64_t end = SaturatingAdd(buffer.offset, buffer.size);
        precision = end > allocation.size ? rounding_[row] : precision;
        allocation.size = std::max(allocation.size, end);
      }
      allocation.category =
          allocation.buffers.size() > 1 ? Category::kTemporary : allocation.category;
      read_.off = SaturatingAdd(read_.off, precision);
      if (precision > 0) {
        rounded_.push_back(i);
      }
    }
  }

  void Finish() {
    HloProgram& program = read_.program;
    rounding_.resize(program.buffers.size());
    if (color_) {
      MeasureAllocations();
    }
    UnroundByTotal();
    for (Allocation& allocation : program.allocations) {
      if (report_) {
        Unround(allocation);
      }
      for (const std::size_t row : allocation.buffers) {
        const Buffer& buffer = program.buffers[row];
        program.damage.outside +=
            SaturatingAdd(buffer.offset, buffer.size) > allocation.size ? 1U : 0U;
        if (allocation.largest == kNone || buffer.size > program.buffers[allocation.largest].size) {
          allocation.largest = row;
        }
      }
    }
    AddTraces(program, std::move(times_));
  }

  bool report_;
  TextProgram read_;
  std::optional<std::int64_t> color_;        // of the memory space that a newer report is at
  std::size_t current_ = kNone;              // allocation of the header read last
  bool ranges_ = false;                      // under "BufferLiveRange:"
  KeyMap<std::string, std::size_t> values_;  // buffers by the names that live ranges have for them
  std::vector<LiveRange> times_;
  KeyMap<std::uint64_t, std::size_t> allocations_;
  KeyMap<std::string, std::size_t> instructions_;
  std::vector<std::int64_t> rounding_;  // per buffer of a report
  std::vector<std::size_t> rounded_;    // allocations
};

}  // namespace

TextDump DetectTextDump(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  const std::string_view text =
      first == std::string_view::npos ? head.substr(0, 0) : head.substr(first);
  if (text.starts_with("BufferAssignment:")) {
    return TextDump::kBufferAssignment;
  }
  return (text.starts_with("Total bytes used") &&
          text.find(kReportColumns) != std::string_view::npos) ||
                 (text.starts_with(kSpace) && text.find(kSpaceTotal) != std::string_view::npos)
             ? TextDump::kUsageReport
             : TextDump::kNone;
}

TextProgram ReadHloText(std::string_view text, TextDump dump) {
  return Scanner(dump).Read(text);
}

}  // namespace memtool::formats::hlo
