// Which row of a file is meant.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "documents/ground_truth/text.h"
#include "memtool/profile/base/sizes.h"

namespace memtool::formats {

namespace {

using device_report::EqualFolded;
using device_report::WholeNumber;

constexpr std::size_t kListed = 20;

using Rows = std::vector<const DeviceReading*>;

Rows AllOf(const DeviceReport& report) {
  Rows all;
  for (const auto& reading : report.readings) {
    all.push_back(&reading);
  }
  return all;
}

bool IsGpu(const DeviceReading& reading, const std::string& gpu) {
  return (reading.gpu && WholeNumber(gpu) == reading.gpu) || EqualFolded(reading.gpu_name, gpu) ||
         (!reading.pod.empty() && EqualFolded(reading.pod, gpu));
}

std::string ToList(const Rows& rows) {
  std::string list;
  for (std::size_t at = 0; at < rows.size() && at < kListed; ++at) {
    list += (at == 0 ? "" : "; ") + DescribeDeviceReading(*rows[at]);
  }
  return rows.size() > kListed ? list + fmt::format("; and {} more", rows.size() - kListed) : list;
}

Rows OfScope(const Rows& rows, ReportScope scope) {
  Rows kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept),
               [&](const DeviceReading* reading) { return reading->scope == scope; });
  return kept;
}

Rows Candidates(const Rows& all, const ReportChoice& choice) {
  Rows rows;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rows), [&](const DeviceReading* reading) {
    return (!choice.pid ||
            (reading->scope == ReportScope::kProcess && reading->pid == choice.pid)) &&
           (!choice.gpu || IsGpu(*reading, *choice.gpu));
  });
  const auto first =
      OfScope(rows, choice.gpu && !choice.pid ? ReportScope::kDevice : ReportScope::kProcess);
  return first.empty() ? rows : first;
}

std::string NothingThere(const DeviceReport& report, const ReportChoice& choice) {
  std::string wanted = choice.pid ? fmt::format("process {}", *choice.pid) : "";
  if (choice.gpu) {
    wanted += fmt::format("{}GPU '{}'", wanted.empty() ? "" : " on ", *choice.gpu);
  }
  return fmt::format("{}: there is no {}", report.display, wanted);
}

// Of the rows that a loop gives of one GPU or process at different times, the highest: an account
// is of the moment that needs most. Rows without a name are told apart by their place among those
// of one time.
Rows HighestOfEach(const Rows& rows) {
  std::map<std::string, std::size_t> at_time;  // how many rows of that name
  std::map<std::string, std::size_t> places;   // in `highest`
  Rows highest;
  for (const DeviceReading* row : rows) {
    const std::string name =
        fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", static_cast<int>(row->scope), row->gpu.value_or(-1),
                    row->gpu_name, row->pid.value_or(-1), row->process, row->pod);
    const std::string now = fmt::format("{}{}", name, row->time);
    const std::size_t place = row->time.empty() ? highest.size() : at_time[now]++;
    const auto [at, added] = places.try_emplace(name + fmt::to_string(place), highest.size());
    if (added) {
      highest.push_back(row);
    } else if (const DeviceReading*& most = highest[at->second];
               row->used && (!most->used || *row->used > *most->used)) {
      most = row;
    }
  }
  return highest;
}

}  // namespace

std::string DescribeDeviceReading(const DeviceReading& reading) {
  std::string text;
  if (reading.gpu) {
    text = fmt::format("{} {}", reading.noun, *reading.gpu);
  }
  if (!reading.gpu_name.empty()) {
    text +=
        (text.empty() ? "" : " ") + (reading.gpu ? "(" + reading.gpu_name + ")" : reading.gpu_name);
  }
  if (!reading.pod.empty()) {
    text += (text.empty() ? "pod " : ", pod ") + reading.pod;
  } else if (reading.scope == ReportScope::kProcess) {
    text += fmt::format("{}pid {}", text.empty() ? "" : ", ",
                        reading.pid ? fmt::to_string(*reading.pid) : "unknown");
  }
  if (!reading.process.empty()) {
    text += fmt::format(" ({})", reading.process);
  }
  text += text.empty() ? "" : ": ";
  return text + (reading.used                  ? FormatSize(*reading.used)
                 : reading.unavailable.empty() ? "not given"
                                               : reading.unavailable);
}

bool IsSeries(const DeviceReport& report) {
  return report.has_histories && HighestOfEach(AllOf(report)).size() < report.readings.size();
}

Result<DeviceReading> ChooseDeviceReading(const DeviceReport& report, const ReportChoice& choice) {
  const Rows all = AllOf(report);
  if (all.empty()) {
    const bool amd = report.form == "amd-smi-json";
    return Fail(ErrorCode::kUsage, report.display + ": no process was running",
                amd ? "take it while the program runs, or use amd-smi metric --mem-usage --json"
                    : "in a container nvidia-smi sees no processes; take it outside, or use "
                      "--query-gpu");
  }
  const auto rows = HighestOfEach(Candidates(all, choice));
  const std::string pids = " (a container has its own pid numbers)";
  if (rows.empty()) {
    return Fail(ErrorCode::kUsage, NothingThere(report, choice),
                "there are: " + ToList(all) + (choice.pid ? pids : ""));
  }
  if (rows.size() > 1) {
    const bool pods = std::all_of(rows.begin(), rows.end(), [](const DeviceReading* reading) {
      return !reading->pod.empty();
    });
    return Fail(ErrorCode::kUsage, fmt::format("{}: {} rows match", report.display, rows.size()),
                pods ? "choose with --gpu and the name of a pod: " + ToList(rows)
                     : fmt::format("choose with --{}: {}{}", choice.pid ? "gpu" : "pid or --gpu",
                                   ToList(rows), pids));
  }
  if (!rows.front()->used) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}: the memory used is not known: {}", report.display,
                            DescribeDeviceReading(*rows.front())),
                "there are: " + ToList(all));
  }
  return *rows.front();
}

}  // namespace memtool::formats
