// nvidia-smi --query-compute-apps=… or --query-gpu=… with --format=csv[,noheader][,nounits], hl-smi
// -Q with -f csv, which names its columns alike, and xpu-smi dump. The tool quotes nothing, so a
// process name may hold commas: columns before it are counted from the left, columns after it from
// the right.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "documents/ground_truth/forms.h"
#include "documents/ground_truth/text.h"

namespace memtool::formats::device_report {

namespace {

struct Column {
  std::string_view name;
  std::string_view unit;  // of "[MiB]" in the header
};

Column ParseColumn(std::string_view text) {
  const auto open = text.rfind('[');
  if (open == std::string_view::npos || text.back() != ']') {
    return {text, "MiB"};
  }
  return {Trimmed(text.substr(0, open)), text.substr(open + 1, text.size() - open - 2)};
}

// As nvidia-smi calls what xpu-smi dump has.
std::string_view CommonName(std::string_view column) {
  return column == "GPU Memory Used (MiB)" ? "memory.used"
         : column == "DeviceId"            ? "index"
         : column == "Timestamp"           ? "timestamp"
                                           : column;
}

std::vector<Column> ParseHeader(std::string_view line) {
  std::vector<Column> columns;
  for (const auto part : Split(line, ',')) {
    columns.push_back(ParseColumn(part));
    columns.back().name = CommonName(columns.back().name);
  }
  return columns;
}

bool IsProcessMemory(std::string_view name) {
  return name == "used_gpu_memory" || name == "used_memory";
}

bool IsMemory(std::string_view name) {
  return IsProcessMemory(name) || name == "memory.used";
}

bool HasMemory(const std::vector<Column>& columns) {
  return std::any_of(columns.begin(), columns.end(),
                     [](const Column& column) { return IsMemory(column.name); });
}

// The column whose text may hold commas.
std::optional<std::size_t> FreeColumn(const std::vector<Column>& columns) {
  for (const std::string_view wanted : {"process_name", "name", "gpu_name"}) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&](const Column& column) { return column.name == wanted; });
    if (found != columns.end()) {
      return static_cast<std::size_t>(found - columns.begin());
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> Fields(const Line& line, const std::vector<Column>& columns) {
  auto parts = Split(line.text, ',');
  const auto free = FreeColumn(columns);
  if (parts.size() < columns.size() || (parts.size() > columns.size() && !free)) {
    Refuse(
        {line.number, 1},
        fmt::format("this row has {} fields and the header has {}", parts.size(), columns.size()),
        "was the file cut or put together from two queries?");
  }
  const auto extra = parts.size() - columns.size();
  if (extra > 0) {
    const auto first = parts[*free];
    const auto last = parts[*free + extra];
    const auto size = static_cast<std::size_t>(last.data() + last.size() - first.data());
    parts[*free] = {first.data(), size};
    const auto behind = parts.begin() + static_cast<std::ptrdiff_t>(*free) + 1;
    parts.erase(behind, behind + static_cast<std::ptrdiff_t>(extra));
  }
  return parts;
}

void SetName(DeviceReading& reading, std::string_view column, std::string_view field) {
  const bool process = reading.scope == ReportScope::kProcess;
  if (column == "process_name" || (process && column == "name")) {
    reading.process = field;
    return;
  }
  const bool is_uuid = column == "gpu_uuid" || column == "uuid";  // the most specific
  const bool is_name =
      column == "gpu_bus_id" || column == "pci.bus_id" || column == "gpu_name" || column == "name";
  if (is_uuid || (is_name && reading.gpu_name.empty())) {
    reading.gpu_name = field;
  }
}

void SetField(DeviceReading& reading, const Column& column, std::string_view field, Place place) {
  const auto amount = [&] { return ReadAmount(field, column.unit, place); };
  if (IsMemory(column.name)) {
    SetUsed(reading, amount(), kMiB / 2);
  } else if (column.name == "memory.total") {
    reading.total = amount().bytes;
  } else if (column.name == "memory.free") {
    reading.free = amount().bytes;
  } else if (column.name == "memory.reserved") {
    reading.reserved = amount().bytes;
  } else if (column.name == "pid" || column.name == "index") {
    const auto number = WholeNumber(field);
    if (!number && ReadAmount(field, "", place).bytes) {
      Refuse(place, fmt::format("'{}' is not a number of {}", field, column.name));
    }
    (column.name == "pid" ? reading.pid : reading.gpu) = number;
  } else if (column.name == "timestamp") {
    reading.time = field;
  } else {
    SetName(reading, column.name, field);
  }
}

// `noheader` says nothing about the columns; only "pid, amount" is clear enough. No process has
// pid 0, so rows that count up from 0 are devices.
std::vector<Column> GuessHeader(const std::vector<Line>& lines) {
  bool ordinals = true;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const auto parts = Split(lines[at].text, ',');
    if (parts.size() != 2 || !WholeNumber(parts[0])) {
      Refuse({lines[at].number, 1}, "without a header only rows 'pid, used_memory' can be read",
             "leave noheader out of --format=csv,noheader");
    }
    ordinals = ordinals && WholeNumber(parts[0]) == static_cast<std::int64_t>(at);
  }
  return {{ordinals ? "index" : "pid", ""}, {ordinals ? "memory.used" : "used_gpu_memory", "MiB"}};
}

}  // namespace

bool LooksLikeSmiCsv(std::string_view first_line) {
  const auto columns = ParseHeader(first_line);
  return HasMemory(columns) ||
         (columns.size() > 1 && first_line.front() != '{' && first_line.front() != '[');
}

DeviceReport ReadSmiCsv(std::string_view text) {
  auto lines = SplitLines(text);
  auto columns = ParseHeader(lines.front().text);
  const bool of_xpu = lines.front().text.find("GPU Memory Used (MiB)") != std::string_view::npos;
  DeviceReport report;
  if (HasMemory(columns)) {
    lines.erase(lines.begin());
  } else if (!columns.empty() && !WholeNumber(columns.front().name) &&
             std::any_of(columns.begin(), columns.end(), [](const Column& column) {
               return column.name == "pid" || column.name == "index" || column.name == "uuid" ||
                      column.name == "gpu_uuid";
             })) {
    Refuse({lines.front().number, 1}, "this query of nvidia-smi has no memory column",
           "ask for pid,used_memory or index,memory.used");
  } else {
    columns = GuessHeader(lines);
    report.notes.emplace_back("no header: amounts without a unit are read as MiB");
  }
  const bool processes = std::any_of(columns.begin(), columns.end(), [](const Column& column) {
    return IsProcessMemory(column.name);
  });
  report.form = processes ? "nvidia-smi-query-compute-apps-csv" : "nvidia-smi-query-gpu-csv";
  report.display = processes ? "nvidia-smi --query-compute-apps" : "nvidia-smi --query-gpu";
  if (of_xpu) {
    report.form = "xpu-smi-dump";
    report.display = "xpu-smi dump";
  }
  const bool loop = std::any_of(columns.begin(), columns.end(),
                                [](const Column& column) { return column.name == "timestamp"; });
  bool skipped = false;
  for (const auto& line : lines) {
    // Shell loops repeat the header, and the driver's errors stand between the rows.
    if (loop &&
        (line.text.find(',') == std::string_view::npos || HasMemory(ParseHeader(line.text)))) {
      skipped = true;
      continue;
    }
    const auto fields = Fields(line, columns);
    DeviceReading reading{.scope = processes ? ReportScope::kProcess : ReportScope::kDevice};
    for (std::size_t at = 0; at < columns.size(); ++at) {
      SetField(reading, columns[at], fields[at], GetPlace(line, fields[at]));
    }
    report.readings.push_back(std::move(reading));
  }
  if (skipped) {
    report.notes.emplace_back("lines that are no rows are left out");
  }
  return report;
}

}  // namespace memtool::formats::device_report
