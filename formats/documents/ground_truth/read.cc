// Recognises the form of a ground truth file by content, and hands it to the form's function.
#include <fmt/format.h>

#include <algorithm>

#include "documents/ground_truth/forms.h"
#include "documents/ground_truth/text.h"
#include "memtool/formats/byte_window.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/base/utf8.h"
#include "support/byte_cursor.h"
#include "support/read_error.h"

namespace memtool::formats {

namespace {

using namespace device_report;  // NOLINT(google-build-using-namespace): the folder's own

constexpr std::size_t kMaxByteCount = std::size_t{8} << 20U;
constexpr std::string_view kForms =
    "read: nvidia-smi as it is, CSV, -q and -q -x, dcgm-exporter, dcgmi dmon, rocm-smi and amd-smi "
    "JSON, xpu-smi dump and stats, hl-smi, neuron-monitor, tpu-info, "
    "torch.cuda.memory_stats() or JAX's memory_stats() as JSON or as printed, a number of bytes";

void CheckText(std::string_view text) {
  Place place;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeUtf8(text.substr(at));
    const std::size_t size = point.size;
    if (!point.valid || point.value == 0) {
      Refuse(place, "a byte here is not text (UTF-8)",
             "give the text that the tool wrote, not a picture or a database");
    }
    place = text[at] == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + size};
    at += size;
  }
}

DeviceReport ReadNumber(std::string_view text) {
  auto size = ParseSize(Trimmed(text));
  if (!size) {
    ThrowRead(ErrorCode::kUnknownFormat, 0, {},
              "no known form of ground truth: " + size.error().message, std::string(kForms));
  }
  DeviceReport report{.form = "number", .display = "a number"};
  report.readings.push_back({.scope = ReportScope::kNumber, .used = *size});
  return report;
}

// In the order in which they are tried. `first`: the first line, trimmed; a part of the text.
struct TextForm {
  bool (*fits)(std::string_view first, std::string_view text);
  DeviceReport (*read)(std::string_view first, std::string_view text);
};
using Text = std::string_view;
constexpr TextForm kTextForms[] = {
    // NOLINT
    {[](Text first, Text) {
       return first.starts_with("<?xml") || first.starts_with("<nvidia_smi_log") ||
              first.starts_with("<!DOCTYPE");
     },
     [](Text first, Text text) {
       return ReadSmiXml(text.substr(static_cast<std::size_t>(first.data() - text.data())));
     }},
    {[](Text first, Text) { return LooksLikeNeuronMonitor(first); },
     [](Text, Text text) { return ReadNeuronMonitor(text); }},
    {[](Text first, Text) { return LooksLikePython(first); },
     [](Text, Text text) { return ReadDeviceReportJson(JsonOfPython(text)); }},
    {[](Text first, Text) { return first.starts_with('{') || first.starts_with('['); },
     [](Text, Text text) { return ReadDeviceReportJson(text); }},
    {[](Text first, Text) { return first.starts_with("#Entity"); },
     [](Text, Text text) { return ReadDcgmDmon(text); }},
    {[](Text first, Text) {
       return first.starts_with("# HELP") || first.starts_with("# TYPE") ||
              first.starts_with("DCGM_FI_");
     },
     [](Text, Text text) { return ReadDcgmExporter(text); }},
    {[](Text first, Text text) {
       return first.starts_with("=") && text.find("NVSMI LOG") != Text::npos;
     },
     [](Text, Text text) { return ReadSmiText(text); }},
    {[](Text, Text text) { return LooksLikeSmiTable(text); },
     [](Text, Text text) { return ReadSmiTable(text); }},
    {[](Text, Text text) { return LooksLikeXpuStats(text); },
     [](Text, Text text) { return ReadXpuStats(text); }},
    {[](Text, Text text) { return LooksLikeTpuInfo(text); },
     [](Text, Text text) { return ReadTpuInfo(text); }},
    {[](Text first, Text) { return LooksLikeSmiCsv(first); },
     [](Text, Text text) { return ReadSmiCsv(text); }},
};

DeviceReport ReadForm(std::string_view text) {
  const auto lines = SplitLines(text);
  if (lines.empty()) {
    ThrowRead(ErrorCode::kTruncated, 0, {}, "the file is empty", std::string(kForms));
  }
  const auto first = Trimmed(lines.front().text);
  if (first.find("CTRL") != first.npos && lines.size() > 1) {
    // amd-smi -w begins by saying how to stop it.
    const auto next = Trimmed(lines[1].text);
    if (next.starts_with('{') || next.starts_with('[')) {
      return ReadDeviceReportJson(text.substr(static_cast<std::size_t>(next.data() - text.data())));
    }
  }
  for (const TextForm& form : kTextForms) {
    if (form.fits(first, text)) {
      return form.read(first, text);
    }
  }
  if (lines.size() == 1) {
    return ReadNumber(first);
  }
  ThrowRead(ErrorCode::kUnknownFormat, 0, {}, "no known form of ground truth", std::string(kForms));
}

}  // namespace

Result<DeviceReport> device_report::ReadDeviceReport(ByteWindow& in) {
  const auto bytes = in.Fill(kMaxByteCount + 1);
  if (bytes.size() > kMaxByteCount) {
    return Fail(ErrorCode::kLimit, fmt::format("larger than {}", FormatSize(kMaxByteCount)),
                "this is not a file of ground truth; recordings are given without @");
  }
  std::string_view text = AsText(bytes);
  text.remove_prefix(text.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  CheckText(text);
  return ReadForm(text);
}

}  // namespace memtool::formats
