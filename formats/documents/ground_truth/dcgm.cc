// DCGM: the text of dcgm-exporter (one sample per line) and of `dcgmi dmon -e 250,251,252`.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "documents/ground_truth/forms.h"
#include "documents/ground_truth/text.h"

namespace memtool::formats::device_report {

namespace {

constexpr std::string_view kMetric = "DCGM_FI_DEV_FB_";

// False when the row has another value there already: then this is another row.
bool SetDeviceValue(DeviceReading& reading, std::string_view what, const Amount& amount) {
  const auto set = [&](std::optional<std::int64_t>& field) {
    const bool same = !field || field == amount.bytes;
    field = same ? amount.bytes : field;
    return same;
  };
  if (what == "FREE" || what == "FBFRE") {
    return set(reading.free);
  }
  if (what == "TOTAL" || what == "FBTTL") {
    return set(reading.total);
  }
  if (what == "RESERVED" || what == "FBRSV") {
    return set(reading.reserved);
  }
  if (what != "USED" && what != "FBUSD") {
    return true;
  }
  if (reading.used && reading.used != amount.bytes) {
    return false;
  }
  SetUsed(reading, amount, kMiB);
  return true;
}

struct Sample {
  std::string_view what;  // "USED"
  std::vector<std::pair<std::string_view, std::string>> labels;
  std::string_view value;
  std::string_view time;  // where the text gives it: milliseconds since 1970
};

// {name="value",…}; returns what follows the brace.
std::string_view ReadLabels(const Line& line, std::string_view rest, Sample& sample) {
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != '}') {
    const auto equals = rest.find("=\"");
    if (equals == std::string_view::npos) {
      Refuse(GetPlace(line, rest), "a label is cut");
    }
    auto& label = sample.labels.emplace_back(Trimmed(rest.substr(0, equals)), "");
    std::size_t at = equals + 2;
    for (; at < rest.size() && rest[at] != '"'; ++at) {
      at += rest[at] == '\\' && at + 1 < rest.size() ? 1 : 0;
      label.second += rest[at];
    }
    if (at >= rest.size()) {
      Refuse(GetPlace(line, rest), "the quote of a label is not closed");
    }
    rest.remove_prefix(at + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(", "), rest.size()));
  }
  if (rest.empty()) {
    Refuse({line.number, line.text.size()}, "the labels are not closed with }");
  }
  return rest.substr(1);
}

std::string MakeLabel(const Sample& sample, std::string_view name) {
  for (const auto& [key, value] : sample.labels) {
    if (key == name) {
      return value;
    }
  }
  return {};
}

std::optional<Sample> ReadSample(const Line& line) {
  auto rest = Trimmed(line.text);
  if (!rest.starts_with(kMetric)) {
    return std::nullopt;
  }
  rest.remove_prefix(kMetric.size());
  Sample sample;
  sample.what = rest.substr(0, std::min(rest.find_first_of("{ \t"), rest.size()));
  rest.remove_prefix(sample.what.size());
  if (!rest.empty() && rest.front() == '{') {
    rest = ReadLabels(line, rest, sample);
  }
  const auto words = Words(rest);
  if (words.empty() || words.size() > 2) {
    Refuse({line.number, 1}, "a sample is a name, labels, a value and perhaps a time");
  }
  sample.value = words.front();
  sample.time = words.size() > 1 ? words.back() : std::string_view();
  return sample;
}

DeviceReading GetDevice(const Sample& sample) {
  DeviceReading reading{.scope = ReportScope::kDevice};
  reading.time = sample.time;
  const auto instance = MakeLabel(sample, "GPU_I_ID");
  reading.gpu_name = MakeLabel(sample, "UUID");
  if (instance.empty()) {
    reading.gpu = WholeNumber(MakeLabel(sample, "gpu"));
  } else {
    reading.gpu_name += (reading.gpu_name.empty() ? "GPU " + MakeLabel(sample, "gpu") : "") +
                        fmt::format(" instance {}", instance);
  }
  return reading;
}

// With time-sharing the exporter (from 4.8.2 on) says what each pod uses, while other rows are
// about the whole GPU. A row of a pod that has the GPU to itself looks the same: its figure, too,
// is that of its processes.
bool IsOfPod(const Sample& sample, DeviceReading& reading) {
  const std::string pod = MakeLabel(sample, "pod");
  if (pod.empty() || sample.what != "USED") {
    return false;
  }
  const std::string space = MakeLabel(sample, "namespace");
  const std::string container = MakeLabel(sample, "container");
  reading.pod =
      (space.empty() ? "" : space + "/") + pod + (container.empty() ? "" : "/" + container);
  reading.scope = ReportScope::kProcess;
  return true;
}

DeviceReading& GetRow(DeviceReport& report, std::optional<std::int64_t> gpu,
                      const std::string& name, const std::string& time = {}) {
  const auto found = std::find_if(report.readings.begin(), report.readings.end(),
                                  [&](const DeviceReading& reading) {
                                    return reading.pod.empty() && reading.gpu == gpu &&
                                           reading.gpu_name == name && reading.time == time;
                                  });
  if (found != report.readings.end()) {
    return *found;
  }
  return report.readings.emplace_back(
      DeviceReading{.scope = ReportScope::kDevice, .gpu = gpu, .gpu_name = name, .time = time});
}

}  // namespace

DeviceReport ReadDcgmExporter(std::string_view text) {
  DeviceReport report{.form = "dcgm-exporter", .display = "metrics of dcgm-exporter"};
  for (const auto& line : SplitLines(text)) {
    const auto sample = ReadSample(line);
    if (!sample) {
      continue;
    }
    const auto amount = ReadAmount(sample->value, "MiB", GetPlace(line, sample->value));
    auto device = GetDevice(*sample);
    if (IsOfPod(*sample, device)) {
      SetDeviceValue(device, sample->what, amount);
      report.readings.push_back(std::move(device));
      continue;
    }
    if (!SetDeviceValue(GetRow(report, device.gpu, device.gpu_name, device.time), sample->what,
                        amount)) {
      SetDeviceValue(device, sample->what, amount);
      report.readings.push_back(std::move(device));
    }
  }
  if (report.readings.empty()) {
    Refuse({}, "there is no sample of DCGM_FI_DEV_FB_USED",
           "add the field to the exporter's list of counters");
  }
  return report;
}

DeviceReport ReadDcgmDmon(std::string_view text) {
  DeviceReport report{.form = "dcgmi-dmon", .display = "dcgmi dmon"};
  std::vector<std::string_view> columns;
  bool again = false;
  for (const auto& line : SplitLines(text)) {
    const auto words = Words(line.text);
    if (words.front().starts_with("#Entity")) {
      columns.assign(words.begin() + 1, words.end());
      continue;
    }
    if (words.front() == "ID") {
      continue;
    }
    if (columns.empty() || words.size() != columns.size() + 2) {
      Refuse({line.number, 1},
             fmt::format("this row does not have an entity and {} values", columns.size()),
             "was the file cut?");
    }
    const bool whole = words[0] == "GPU";
    auto& row = GetRow(report, whole ? WholeNumber(words[1]) : std::nullopt,
                       whole ? "" : fmt::format("{} {}", words[0], words[1]));
    again = again || row.used || !row.unavailable.empty();
    row = DeviceReading{.scope = ReportScope::kDevice, .gpu = row.gpu, .gpu_name = row.gpu_name};
    for (std::size_t at = 0; at < columns.size(); ++at) {
      if (columns[at].starts_with("FB")) {
        const auto word = words[at + 2];
        SetDeviceValue(row, columns[at], ReadAmount(word, "MiB", GetPlace(line, word)));
      }
    }
  }
  if (std::find(columns.begin(), columns.end(), "FBUSD") == columns.end()) {
    Refuse({}, "there is no column FBUSD", "run: dcgmi dmon -e 250,251,252");
  }
  if (again) {
    report.notes.emplace_back("several samples of a device: the last one counts");
  }
  return report;
}

}  // namespace memtool::formats::device_report
