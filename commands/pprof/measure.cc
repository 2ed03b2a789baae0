#include "pprof/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

namespace memtool::commands::pprof {

namespace {

struct Unit {
  std::string_view name;
  std::array<std::string_view, 3> aliases;
  double factor;
};

struct Family {
  Unit fallback;
  std::span<const Unit> units;
};

constexpr double kKilo = 1024;
constexpr std::array<Unit, 6> kBytes{
    {{"B", {"b", "byte"}, 1},
     {"kB", {"kb", "kbyte", "kilobyte"}, kKilo},
     {"MB", {"mb", "mbyte", "megabyte"}, kKilo* kKilo},
     {"GB", {"gb", "gbyte", "gigabyte"}, kKilo* kKilo* kKilo},
     {"TB", {"tb", "tbyte", "terabyte"}, kKilo* kKilo* kKilo* kKilo},
     {"PB", {"pb", "pbyte", "petabyte"}, kKilo* kKilo* kKilo* kKilo* kKilo}}};
constexpr std::array<Unit, 5> kTimes{{{"ns", {"ns", "nanosecond"}, 1},
                                      {"us", {"μs", "us", "microsecond"}, 1e3},
                                      {"ms", {"ms", "millisecond"}, 1e6},
                                      {"s", {"s", "sec", "second"}, 1e9},
                                      {"hrs", {"hour", "hr"}, 3600e9}}};
constexpr std::array<Unit, 9> kGcus{{{"n*GCU", {"nanogcu"}, 1e-9},
                                     {"u*GCU", {"microgcu"}, 1e-6},
                                     {"m*GCU", {"milligcu"}, 1e-3},
                                     {"GCU", {"gcu"}, 1},
                                     {"k*GCU", {"kilogcu"}, 1e3},
                                     {"M*GCU", {"megagcu"}, 1e6},
                                     {"G*GCU", {"gigagcu"}, 1e9},
                                     {"T*GCU", {"teragcu"}, 1e12},
                                     {"P*GCU", {"petagcu"}, 1e15}}};
constexpr std::array<Family, 3> kFamilies{
    {{kBytes[0], kBytes}, {{"s", {}, 1e9}, kTimes}, {kGcus[3], kGcus}}};

const Unit* Find(const Family& family, std::string_view name) {
  std::string wanted(name);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (wanted.size() > 2 && wanted.back() == 's') {
    wanted.pop_back();
  }
  if (wanted.empty()) {
    return nullptr;
  }
  for (const Unit& unit : family.units) {
    if (std::find(unit.aliases.begin(), unit.aliases.end(), wanted) != unit.aliases.end()) {
      return &unit;
    }
  }
  return nullptr;
}

// The largest unit that leaves at least 1 of `base` (a value in the family's base unit).
const Unit* Largest(const Family& family, double base) {
  const Unit* best = nullptr;
  for (const Unit& unit : family.units) {
    if ((best == nullptr || unit.factor >= best->factor) && base / unit.factor >= 1.0) {
      best = &unit;
    }
  }
  return best;
}

std::optional<Measured> Convert(const Family& family, std::int64_t value, std::string_view from,
                                std::string_view to) {
  const Unit* source = Find(family, from);
  if (source == nullptr) {
    return std::nullopt;
  }
  const double base = static_cast<double>(value) * source->factor;
  const bool choose = to == "minimum" || to == "auto";
  const Unit* target = choose ? Largest(family, base) : Find(family, to);
  if (target == nullptr) {
    target = &family.fallback;
  }
  return Measured{base / target->factor, std::string(target->name)};
}

}  // namespace

Measured ConvertUnit(std::int64_t value, std::string_view from, std::string_view to) {
  if (value < 0 && value != std::numeric_limits<std::int64_t>::min()) {
    Measured positive = ConvertUnit(-value, from, to);
    positive.value = -positive.value;
    return positive;
  }
  for (const Family& family : kFamilies) {
    if (auto converted = Convert(family, value, from, to)) {
      return *std::move(converted);
    }
  }
  constexpr std::array<std::string_view, 5> kDull{"count", "sample", "unit", "minimum", "auto"};
  const bool dull = std::find(kDull.begin(), kDull.end(), to) != kDull.end();
  return {static_cast<double>(value), dull ? std::string() : std::string(to)};
}

bool SameUnitFamily(std::string_view a, std::string_view b) {
  return std::any_of(kFamilies.begin(), kFamilies.end(), [&](const Family& family) {
    return Find(family, a) != nullptr && Find(family, b) != nullptr;
  });
}

std::string ScaledLabel(std::int64_t value, std::string_view from, std::string_view to) {
  const Measured measured = ConvertUnit(value, from, to);
  std::string text = fmt::format("{:.2f}", measured.value);
  if (text.ends_with(".00")) {
    text.resize(text.size() - 3);
  }
  return text == "0" || text == "-0" ? "0" : text + measured.unit;
}

std::string Percentage(std::int64_t value, std::int64_t total) {
  const double ratio =
      total == 0 ? 0.0 : std::fabs(static_cast<double>(value) / static_cast<double>(total)) * 100;
  if (ratio >= 99.95 && ratio <= 100.05) {
    return "  100%";
  }
  return ratio >= 1.0 ? fmt::format("{:5.2f}%", ratio) : fmt::format("{:5.2g}%", ratio);
}

std::string TrimmedPercentage(std::int64_t value, std::int64_t total) {
  const std::string text = Percentage(value, total);
  return text.substr(text.find_first_not_of(' '));
}

std::int64_t WrapAdd(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t WrapNegate(std::int64_t value) {
  return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value));
}

std::int64_t Abs(std::int64_t value) {
  return value < 0 ? WrapNegate(value) : value;
}

std::int64_t Quotient(std::int64_t value, std::int64_t divisor) {
  return divisor == -1 ? WrapNegate(value) : value / divisor;
}

std::int64_t ToInt(double value) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  return value >= -kEnd && value < kEnd ? static_cast<std::int64_t>(value)
                                        : std::numeric_limits<std::int64_t>::min();
}

}  // namespace memtool::commands::pprof
