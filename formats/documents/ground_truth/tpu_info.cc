// tpu-info: boxes, one of which has a chip or device per row with "used / limit" of its memory. Its
// title and its heads have changed; the cell is known by its form.
#include <algorithm>
#include <string>
#include <vector>

#include "documents/ground_truth/forms.h"
#include "documents/ground_truth/text.h"

namespace memtool::formats::device_report {

namespace {

constexpr std::string_view kBar = "│";       // between cells
constexpr std::string_view kHeavyBar = "┃";  // between heads
constexpr std::int64_t kHundredthOfGiB = (std::int64_t{1} << 30U) / 100;

bool Has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

bool IsMemoryHead(std::string_view line) {
  return line.starts_with(kHeavyBar) &&
         (Has(line, "Memory usage") || Has(line, "HBM usage") || Has(line, "HBM Usage"));
}

// The words of a row, whatever stands between its cells.
std::vector<std::string_view> WordsOf(std::string_view line, std::string& scratch) {
  scratch = line;
  for (std::size_t at = 0; (at = scratch.find(kBar, at)) != std::string::npos;) {
    scratch.replace(at, kBar.size(), " ");
  }
  return Words(scratch);
}

}  // namespace

bool LooksLikeTpuInfo(std::string_view text) {
  return Has(text, kBar) && (Has(text, "TPU Runtime Utilization") || Has(text, "TPU HBM Usage") ||
                             Has(text, "TPU Utilization"));
}

DeviceReport ReadTpuInfo(std::string_view text) {
  DeviceReport report{.form = "tpu-info", .display = "tpu-info", .has_histories = false};
  bool memory = false;
  std::string scratch;
  std::size_t table = 0;
  for (const Line& line : SplitLines(text)) {
    const std::string_view row = Trimmed(line.text);
    if (row.starts_with(kHeavyBar)) {
      memory = IsMemoryHead(row);
      table += memory ? 1 : 0;
      continue;
    }
    if (!memory || !row.starts_with(kBar)) {
      continue;
    }
    const auto words = WordsOf(row, scratch);
    const auto chip = words.empty() ? std::nullopt : WholeNumber(words[0]);
    if (!chip || words.size() < 2) {
      continue;
    }
    DeviceReading reading{.scope = ReportScope::kDevice, .gpu = chip, .noun = "TPU"};
    reading.time = "table " + std::to_string(table);  // --streaming prints one after the other
    const auto slash = std::find(words.begin(), words.end(), "/");
    // Words are views into a copy of the line: its place is that of the whole row.
    const Place place{line.number, 1};
    if (slash == words.end()) {
      SetUsed(reading, ReadAmount(words[1], "GiB", place), kHundredthOfGiB / 2);
    } else if (slash - words.begin() >= 3 && words.end() - slash >= 3) {
      const auto amount = [](std::string_view number, std::string_view unit) {
        return std::string(number) + std::string(unit);
      };
      SetUsed(reading, ReadAmount(amount(*(slash - 2), *(slash - 1)), "GiB", place),
              kHundredthOfGiB / 2);
      reading.total = ReadAmount(amount(*(slash + 1), *(slash + 2)), "GiB", place).bytes;
    } else {
      continue;
    }
    report.readings.push_back(std::move(reading));
  }
  if (report.readings.empty()) {
    Refuse({}, "there is no row with the memory of a chip",
           "tpu-info sees it while a program runs on the TPU");
  }
  return report;
}

}  // namespace memtool::formats::device_report
