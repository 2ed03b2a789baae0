#include "xplane/stats.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <string_view>

#include "support/wire.h"

namespace memtool::formats::xplane {

Stat StatOf(ByteCursor cursor) {
  Stat stat;
  while (!cursor.done()) {
    const wire::Field field = wire::Next(cursor);
    switch (field.number) {
      case 1:
        stat.name = KeyOf(field.Varint("stat id")).value_or(0);
        break;
      case 2:
        field.Expect(wire::kFixed64, "double value");
        stat.kind = Stat::Kind::kReal;
        stat.real = std::bit_cast<double>(field.value);
        break;
      case 3:
      case 4:
        stat.kind = Stat::Kind::kInteger;
        stat.integer = field.Int("value");
        break;
      case 5:
      case 6:
        field.Expect(wire::kLength, "text");
        stat.kind = field.number == 5 ? Stat::Kind::kText : Stat::Kind::kBytes;
        stat.bytes = field.bytes;
        break;
      case 7:
        stat.kind = Stat::Kind::kReference;
        stat.integer = field.Int("reference");
        break;
      default:
        break;
    }
  }
  return stat;
}

std::optional<std::int64_t> FigureOf(const Stat& stat) {
  constexpr double kMost = 9.2e18;
  switch (stat.kind) {
    case Stat::Kind::kInteger:
      return stat.integer;
    case Stat::Kind::kReal:
      return std::abs(stat.real) < kMost ? std::optional(std::llround(stat.real)) : std::nullopt;
    case Stat::Kind::kText: {
      const std::string_view text = AsText(stat.bytes);
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                      : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

void ForEachStat(std::span<const std::byte> bytes, std::uint64_t number,
                 const std::function<void(const Stat&)>& visit) {
  ByteCursor cursor(bytes, 0);
  while (!cursor.done()) {
    const wire::Field field = wire::Next(cursor);
    if (field.number == number && field.type == wire::kLength) {
      visit(StatOf(ByteCursor(field.bytes, 0)));
    }
  }
}

}  // namespace memtool::formats::xplane
