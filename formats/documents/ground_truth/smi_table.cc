// The tables that nvidia-smi and hl-smi print when they are asked nothing: two lines per device, of
// which the second has "used / total"; devices of MIG; processes. Their columns have moved over the
// years, so a cell is known by what is in it.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "documents/ground_truth/forms.h"
#include "documents/ground_truth/text.h"

namespace memtool::formats::device_report {

namespace {

using Texts = std::vector<std::string_view>;

// The cells of a line between bars; none for other lines.
Texts CellsOf(std::string_view line) {
  line = Trimmed(line);
  if (line.size() < 2 || !line.starts_with('|') || !line.ends_with('|')) {
    return {};
  }
  return Split(line.substr(1, line.size() - 2), '|');
}

struct UsedOfTotal {
  std::string_view used, total;
};

// "768MiB / 98304MiB"
std::optional<UsedOfTotal> ReadPair(std::string_view cell) {
  const std::size_t slash = cell.find('/');
  if (slash == std::string_view::npos || cell.find("iB") == std::string_view::npos) {
    return std::nullopt;
  }
  return UsedOfTotal{Trimmed(cell.substr(0, slash)), Trimmed(cell.substr(slash + 1))};
}

// "00000000:65:00.0 Off"
std::string_view BusIn(std::string_view cell) {
  const Texts words = Words(cell);
  const bool bus = !words.empty() && words[0].find(':') != std::string_view::npos &&
                   words[0].find('.') != std::string_view::npos;
  return bus ? words[0] : std::string_view();
}

bool IsType(std::string_view word) {
  static constexpr std::array<std::string_view, 5> kTypes = {"C", "G", "C+G", "M", "M+C"};
  return std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end();
}

class SmiTable {
 public:
  // Of Gaudi, not of NVIDIA.
  explicit SmiTable(bool gaudi) : noun_(gaudi ? "HPU" : "GPU") {
    report_.display = gaudi ? "hl-smi" : "nvidia-smi";
    report_.form = report_.display + "-table";
    report_.has_histories = false;
  }

  DeviceReport Read(std::string_view text) {
    for (const Line& line : SplitLines(text)) {
      Take(line);
    }
    if (report_.readings.empty()) {
      Refuse({}, "there is no line with the memory of a device",
             "run: nvidia-smi --query-compute-apps=pid,used_memory --format=csv");
    }
    return std::move(report_);
  }

 private:
  enum class Section { kDevices, kMig, kProcesses };

  void Take(const Line& line) {
    const Texts cells = CellsOf(line.text);
    if (cells.empty()) {
      // A loop prints the time before each table.
      if (line.text.find(':') != std::string_view::npos &&
          line.text.find("MiB") == line.text.npos) {
        time_ = Trimmed(line.text);
        section_ = Section::kDevices;
      }
      return;
    }
    if (line.text.find("Processes:") != std::string_view::npos) {
      section_ = Section::kProcesses;
    } else if (line.text.find("MIG devices:") != std::string_view::npos) {
      section_ = Section::kMig;
    } else if (line.text.find("Bus-Id") != std::string_view::npos) {
      section_ = Section::kDevices;
    } else if (section_ == Section::kProcesses) {
      TakeProcess(line, cells);
    } else {
      TakeDevice(line, cells);
    }
  }

  void TakeDevice(const Line& line, const Texts& cells) {
    if (cells.size() < 3) {
      return;
    }
    const Texts words = Words(cells[0]);
    const auto number = words.empty() ? std::nullopt : WholeNumber(words[0]);
    const bool mig = section_ == Section::kMig;
    if (const std::string_view bus = BusIn(cells[1]); !mig && number && !bus.empty()) {
      gpu_ = number;
      bus_ = bus;
      return;
    }
    const auto pair = ReadPair(cells[1]);
    // Of an instance the line with its numbers; the one below is of its BAR1.
    if (!pair || (mig ? words.size() < 4 || !number : !gpu_)) {
      return;
    }
    DeviceReading reading{
        .scope = ReportScope::kDevice, .gpu = mig ? std::nullopt : gpu_, .noun = noun_};
    reading.gpu_name =
        mig ? "GPU " + std::string(words[0]) + " MIG " + std::string(words[3]) : std::string(bus_);
    reading.time = time_;
    SetUsed(reading, ReadAmount(pair->used, "MiB", GetPlace(line, pair->used)), kMiB / 2);
    reading.total = ReadAmount(pair->total, "MiB", GetPlace(line, pair->total)).bytes;
    report_.readings.push_back(std::move(reading));
    gpu_.reset();
  }

  // "0 N/A N/A 1234 C python train.py 164MiB"; older ones and hl-smi have no instances.
  void TakeProcess(const Line& line, const Texts& cells) {
    const Texts words = Words(cells[0]);
    const auto type = std::find_if(words.begin(), words.end(), IsType);
    if (words.size() < 4 || type == words.end() || type - words.begin() < 2 ||
        words.end() - type < 2) {
      return;
    }
    const auto gpu = WholeNumber(words[0]);
    const auto pid = WholeNumber(*(type - 1));
    if (!gpu || !pid) {
      return;  // hl-smi says N/A where no process runs
    }
    DeviceReading reading{.scope = ReportScope::kProcess, .gpu = gpu, .noun = noun_, .pid = pid};
    const std::string_view amount = words.back();
    if (words.end() - type > 2) {
      const std::string_view first = *(type + 1);
      reading.process = Trimmed(
          std::string_view(first.data(), static_cast<std::size_t>(amount.data() - first.data())));
    }
    reading.time = time_;
    SetUsed(reading, ReadAmount(amount, "MiB", GetPlace(line, amount)), kMiB / 2);
    report_.readings.push_back(std::move(reading));
  }

  std::string_view noun_;
  DeviceReport report_;
  Section section_ = Section::kDevices;
  std::optional<std::int64_t> gpu_;  // of the line before
  std::string_view bus_;
  std::string time_;
};

}  // namespace

bool LooksLikeSmiTable(std::string_view text) {
  return text.find("| NVIDIA-SMI") != std::string_view::npos ||
         text.find("| HL-SMI") != std::string_view::npos;
}

DeviceReport ReadSmiTable(std::string_view text) {
  return SmiTable(text.find("| HL-SMI") != std::string_view::npos).Read(text);
}

}  // namespace memtool::formats::device_report
