// xpu-smi stats: a box per device, with a row per metric. A device of several tiles has them in one
// cell: "Tile 0: 24; Tile 1: 26".
#include <algorithm>
#include <string>

#include "documents/ground_truth/forms.h"
#include "documents/ground_truth/text.h"
#include "memtool/profile/base/arithmetic.h"

namespace memtool::formats::device_report {

namespace {

constexpr std::string_view kDevice = "Device ID";
constexpr std::string_view kUsed = "GPU Memory Used (MiB)";
constexpr std::string_view kTile = "Tile ";

// The sum over the tiles of a cell; none where one of them does not say.
void SetTiles(DeviceReading& reading, const Line& line, std::string_view cell) {
  std::int64_t sum = 0;
  std::int64_t tiles = 0;
  while (!cell.empty()) {
    const std::size_t end = std::min(cell.find_first_of(";,"), cell.size());
    const std::string_view tile = Trimmed(cell.substr(0, end));
    const std::size_t colon = tile.find(':');
    const bool named = tile.starts_with(kTile) && colon != std::string_view::npos;
    const std::string_view number = Trimmed(named ? tile.substr(colon + 1) : tile);
    Amount amount = number.empty() ? Amount{.unavailable = "an empty cell"}
                                   : ReadAmount(number, "MiB", GetPlace(line, number));
    if (!amount.bytes) {
      return SetUsed(reading, std::move(amount), 0);
    }
    sum = SaturatingAdd(sum, *amount.bytes);
    ++tiles;
    cell.remove_prefix(std::min(end + 1, cell.size()));
  }
  SetUsed(reading, tiles == 0 ? Amount{.unavailable = "an empty cell"} : Amount{.bytes = sum},
          SaturatingMultiply(tiles, kMiB / 2));
}

}  // namespace

bool LooksLikeXpuStats(std::string_view text) {
  return text.find("| Device ID ") != std::string_view::npos &&
         text.find("| GPU ") != std::string_view::npos;
}

DeviceReport ReadXpuStats(std::string_view text) {
  DeviceReport report{.form = "xpu-smi-stats", .display = "xpu-smi stats", .has_histories = false};
  std::optional<std::int64_t> device;
  for (const Line& line : SplitLines(text)) {
    const std::string_view row = Trimmed(line.text);
    if (row.size() < 2 || !row.starts_with('|') || !row.ends_with('|')) {
      continue;
    }
    const auto cells = Split(row.substr(1, row.size() - 2), '|');
    if (cells.size() < 2) {
      continue;
    }
    const std::string_view name = Trimmed(cells[0]);
    const std::string_view value = Trimmed(cells[1]);
    if (name == kDevice) {
      device = WholeNumber(value);
    } else if (name == kUsed) {
      DeviceReading reading{.scope = ReportScope::kDevice, .gpu = device};
      SetTiles(reading, line, value);
      report.readings.push_back(std::move(reading));
    }
  }
  if (report.readings.empty()) {
    Refuse({}, "there is no row with the memory of a device", "run: xpu-smi stats -d 0");
  }
  return report;
}

}  // namespace memtool::formats::device_report
