// Lines, fields and amounts of the small text files that say how much memory is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/formats/device_report.h"
#include "support/trimmed.h"

namespace memtool::formats::device_report {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20U;

// Both count from 1.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
};

struct Line {
  std::string_view text;  // without line end
  std::size_t number = 1;
};

[[noreturn]] void Refuse(Place place, std::string message, std::string hint = {});

// Lines that are not blank.
std::vector<Line> SplitLines(std::string_view text);
std::vector<std::string_view> Split(std::string_view text, char separator);
std::vector<std::string_view> Words(std::string_view text);
bool EqualFolded(std::string_view a, std::string_view b);
// The place of `part`, which lies inside `line`.
Place GetPlace(const Line& line, std::string_view part);
// A whole number in decimal, no sign; absent when it is anything else.
std::optional<std::int64_t> WholeNumber(std::string_view text);

struct Amount {
  std::optional<std::int64_t> bytes{};
  std::string unavailable{};  // as written, when the tool says that it does not know
};

// "164 MiB", "164" (in `unit`), "[N/A]", "NaN", a blank value of DCGM. Throws for anything else.
Amount ReadAmount(std::string_view text, std::string_view unit, Place place);
// Sets Reading::used, the reason when it is absent, and its precision.
void SetUsed(DeviceReading& reading, Amount amount, std::int64_t precision);

}  // namespace memtool::formats::device_report
