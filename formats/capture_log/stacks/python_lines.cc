#include "capture_log/stacks/python_lines.h"

#include <optional>
#include <string_view>

namespace memtool::formats::capture_log {

namespace {

// Past its end a table reads as zeros; the loops end with `done`.
class Table {
 public:
  explicit Table(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool done() const { return at_ >= bytes_.size(); }
  std::uint8_t Byte() {
    return done() ? std::uint8_t{0} : static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::int8_t Signed() { return static_cast<std::int8_t>(Byte()); }
  // Six bits a byte, low first.
  std::uint32_t Varint() {
    std::uint32_t value = 0;
    for (unsigned shift = 0; shift < 30; shift += 6) {
      const std::uint8_t byte = Byte();
      value |= (byte & 63U) << shift;
      if ((byte & 64U) == 0) {
        break;
      }
    }
    return value;
  }
  std::int64_t SignedVarint() {
    const std::uint32_t value = Varint();
    return (value & 1U) != 0 ? -std::int64_t{value >> 1U} : std::int64_t{value >> 1U};
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

std::int64_t Lnotab(Table table, std::int64_t line, std::uint64_t wanted) {
  std::uint64_t address = 0;
  while (!table.done()) {
    address += table.Byte();
    if (address > wanted) {
      break;
    }
    line += table.Signed();
  }
  return line;
}

std::optional<std::int64_t> Pep626(Table table, std::int64_t line, std::uint64_t wanted) {
  constexpr std::int8_t kNoLine = -128;
  std::uint64_t end = 0;
  while (!table.done()) {
    end += table.Byte();
    const std::int8_t delta = table.Signed();
    line += delta == kNoLine ? 0 : delta;
    if (wanted < end) {
      return delta == kNoLine ? std::nullopt : std::optional(line);
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> Pep657(Table table, std::int64_t line, std::uint64_t wanted) {
  std::uint64_t end = 0;
  while (!table.done()) {
    const std::uint8_t first = table.Byte();
    const unsigned code = first >> 3U & 15U;
    end += (first & 7U) * 2 + 2;
    if (code == 15) {  // no location
      if (wanted < end) {
        return std::nullopt;
      }
      continue;
    }
    if (code == 14) {
      line += table.SignedVarint();
      table.Varint();
      table.Varint();
      table.Varint();
    } else if (code == 13) {
      line += table.SignedVarint();
    } else if (code >= 10) {
      line += code - 10;
      table.Byte();
      table.Byte();
    } else {
      table.Byte();
    }
    if (wanted < end) {
      return line;
    }
  }
  return std::nullopt;
}

}  // namespace

std::int64_t PythonLine(const CodeRow& code, std::uint64_t position) {
  constexpr std::uint64_t k310 = 3U << 8U | 10U;
  if (position == 0) {
    return code.first_line;
  }
  const Table table(code.lines);
  if (code.version < k310) {
    return Lnotab(table, code.first_line, position - 1);
  }
  const auto line = code.version == k310 ? Pep626(table, code.first_line, position - 1)
                                         : Pep657(table, code.first_line, position - 1);
  return line.value_or(code.first_line);
}

}  // namespace memtool::formats::capture_log
