// The JSON forms: counters of torch and JAX, rocm-smi, amd-smi, neuron-monitor. The document is
// small (the caller limits it), so it is held whole; the parser does not recurse, and neither does
// anything here.
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <string>

#include "documents/ground_truth/forms.h"
#include "documents/ground_truth/text.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/json_memory.h"

namespace memtool::formats::device_report {

namespace {

using Pool = rapidjson::MemoryPoolAllocator<JsonMemory>;
using Value = rapidjson::GenericValue<rapidjson::UTF8<>, Pool>;
using Document = rapidjson::GenericDocument<rapidjson::UTF8<>, Pool, JsonMemory>;

std::string_view ToText(const Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

const Value* Member(const Value& value, std::string_view name) {
  if (!value.IsObject()) {
    return nullptr;
  }
  const auto found = value.FindMember(Value(rapidjson::StringRef(name.data(), name.size())));
  return found == value.MemberEnd() ? nullptr : &found->value;
}

[[noreturn]] void RefuseValue(std::string_view name, std::string_view message) {
  Refuse({}, fmt::format("'{}' {}", name, message), "was the file changed by hand?");
}

// A number, a string with a number, or {"value": 3, "unit": "MB"}; `unit` applies when the file has
// none.
Amount BuildAmount(const Value& value, std::string_view name, std::string_view unit = "B") {
  if (const Value* inner = Member(value, "value")) {
    const Value* own = Member(value, "unit");
    return inner->IsObject()
               ? Amount{{}, "unreadable"}
               : BuildAmount(*inner, name, own && own->IsString() ? ToText(*own) : unit);
  }
  if (value.IsNull()) {
    return {{}, "null"};
  }
  if (value.IsString()) {
    return ReadAmount(ToText(value), unit, {});
  }
  if (value.IsUint64()) {
    return ReadAmount(fmt::to_string(value.GetUint64()), unit, {});
  }
  if (value.IsDouble() && value.GetDouble() >= 0 && value.GetDouble() < 9.2e18) {
    return ReadAmount(fmt::format("{:.3f}", value.GetDouble()), unit, {});
  }
  RefuseValue(name, "is not an amount of memory");
}

// Absent where the name is.
Amount AmountAt(const Value& value, std::string_view name, std::string_view unit = "B") {
  const Value* member = Member(value, name);
  return member == nullptr ? Amount{} : BuildAmount(*member, name, unit);
}

// "reserved_bytes.all.current", flat or nested.
Amount TorchAmount(const Value& stats, std::string_view what, std::string_view moment) {
  const auto flat = fmt::format("{}.all.{}", what, moment);
  if (Member(stats, flat) != nullptr) {
    return AmountAt(stats, flat);
  }
  const Value* outer = Member(stats, what);
  const Value* all = outer == nullptr ? nullptr : Member(*outer, "all");
  return all == nullptr ? Amount{} : AmountAt(*all, moment);
}

bool IsTorch(const Value& stats) {
  return Member(stats, "reserved_bytes.all.current") != nullptr ||
         Member(stats, "allocated_bytes.all.current") != nullptr ||
         (Member(stats, "reserved_bytes") != nullptr &&
          Member(stats, "reserved_bytes")->IsObject());
}

bool IsJax(const Value& stats) {
  return Member(stats, "bytes_in_use") != nullptr;
}

DeviceReading TorchReading(const Value& stats) {
  DeviceReading reading{.scope = ReportScope::kAllocator};
  SetUsed(reading, TorchAmount(stats, "reserved_bytes", "current"), 0);
  reading.reserved = reading.used;
  reading.allocated = TorchAmount(stats, "allocated_bytes", "current").bytes;
  reading.requested = TorchAmount(stats, "requested_bytes", "current").bytes;
  reading.peak = TorchAmount(stats, "allocated_bytes", "peak").bytes;
  return reading;
}

DeviceReading JaxReading(const Value& stats) {
  DeviceReading reading{.scope = ReportScope::kAllocator};
  const auto in_use = AmountAt(stats, "bytes_in_use");
  const auto pool = AmountAt(stats, "pool_bytes");
  SetUsed(reading, pool.bytes ? pool : in_use, 0);
  reading.reserved = pool.bytes;
  reading.allocated = in_use.bytes;
  reading.peak = AmountAt(stats, "peak_bytes_in_use").bytes;
  reading.total = AmountAt(stats, "bytes_limit").bytes;
  return reading;
}

bool AddCounters(DeviceReport& report, const Value& stats, std::optional<std::int64_t> gpu,
                 std::string_view name) {
  DeviceReading reading{.scope = ReportScope::kAllocator, .unavailable = "null"};
  if (IsTorch(stats)) {
    report.form = "torch-memory-stats";
    report.display = "torch.cuda.memory_stats()";
    reading = TorchReading(stats);
  } else if (IsJax(stats)) {
    report.form = "jax-memory-stats";
    report.display = "memory_stats() of a JAX device";
    reading = JaxReading(stats);
  } else if (!stats.IsNull()) {
    return false;
  }
  reading.gpu = gpu;
  reading.gpu_name = name;
  report.readings.push_back(std::move(reading));
  return true;
}

// {"card0": {"VRAM Total Memory (B)": "…", "VRAM Total Used Memory (B)": "…"}}
bool AddRocm(DeviceReport& report, const Value& card, std::string_view name) {
  constexpr std::string_view kUsed = "VRAM Total Used Memory (B)";
  if (Member(card, kUsed) == nullptr) {
    return false;
  }
  report.form = "rocm-smi-json";
  report.display = "rocm-smi --showmeminfo vram --json";
  DeviceReading reading{.scope = ReportScope::kDevice, .gpu_name = std::string(name)};
  reading.gpu = name.starts_with("card") ? WholeNumber(name.substr(4)) : std::nullopt;
  SetUsed(reading, AmountAt(card, kUsed), 0);
  reading.total = AmountAt(card, "VRAM Total Memory (B)").bytes;
  report.readings.push_back(std::move(reading));
  return true;
}

void AddAmdProcess(DeviceReport& report, const Value& item, std::optional<std::int64_t> gpu) {
  const Value* inner = Member(item, "process_info");
  const Value& process = inner == nullptr ? item : *inner;
  if (!process.IsObject()) {
    return;  // "No running processes detected"
  }
  DeviceReading reading{.scope = ReportScope::kProcess, .gpu = gpu};
  const Value* pid = Member(process, "pid");
  reading.pid = pid != nullptr && pid->IsInt64() ? std::optional(pid->GetInt64()) : std::nullopt;
  const Value* name = Member(process, "name");
  reading.process = name != nullptr && name->IsString() ? ToText(*name) : "";
  const Value* usage = Member(process, "memory_usage");
  usage = usage == nullptr ? Member(process, "mem_usage") : usage;
  if (usage != nullptr) {
    SetUsed(reading, AmountAt(*usage, "vram_mem"), 0);
  }
  report.readings.push_back(std::move(reading));
}

// {"gpu": 0, "mem_usage": {"total_vram": {"value": 1, "unit": "MB"}, …}, "process_list": […]}
bool AddAmd(DeviceReport& report, const Value& device) {
  const Value* gpu = Member(device, "gpu");
  const Value* usage = Member(device, "mem_usage");
  const Value* processes = Member(device, "process_list");
  // "No running processes detected" may stand in place of either.
  const Value* none = Member(device, "process_info");
  if (gpu == nullptr || (usage == nullptr && processes == nullptr && none == nullptr)) {
    return false;
  }
  report.form = "amd-smi-json";
  report.display = "amd-smi";
  const auto number = gpu->IsInt64() ? std::optional(gpu->GetInt64()) : std::nullopt;
  if (usage != nullptr) {
    DeviceReading reading{.scope = ReportScope::kDevice, .gpu = number};
    SetUsed(reading, AmountAt(*usage, "used_vram", "MB"), kMiB / 2);
    reading.total = AmountAt(*usage, "total_vram", "MB").bytes;
    reading.free = AmountAt(*usage, "free_vram", "MB").bytes;
    report.readings.push_back(std::move(reading));
  }
  if (processes != nullptr && processes->IsArray()) {
    for (const auto& item : processes->GetArray()) {
      AddAmdProcess(report, item, number);
    }
  }
  return true;
}

// What a runtime of Neuron has on its cores, and each core by its number: the parts of a core are
// all that is on it.
void AddNeuron(DeviceReport& report, const Value& runtime, std::string_view time) {
  const Value* used = Member(runtime, "report");
  for (const std::string_view name : {"memory_used", "neuron_runtime_used_bytes"}) {
    used = used == nullptr ? nullptr : Member(*used, name);
  }
  if (used == nullptr) {
    return;
  }
  DeviceReading reading{.scope = ReportScope::kProcess};
  const Value* pid = Member(runtime, "pid");
  reading.pid = pid != nullptr && pid->IsInt64() ? std::optional(pid->GetInt64()) : std::nullopt;
  const Value* tag = Member(runtime, "neuron_runtime_tag");
  reading.process = tag != nullptr && tag->IsString() ? ToText(*tag) : "";
  reading.time = time;
  SetUsed(reading, AmountAt(*used, "neuron_device"), 0);
  report.readings.push_back(std::move(reading));
  const Value* cores = Member(*used, "usage_breakdown");
  cores = cores == nullptr ? nullptr : Member(*cores, "neuroncore_memory_usage");
  if (cores == nullptr || !cores->IsObject()) {
    return;
  }
  for (const auto& [core, parts] : cores->GetObject()) {
    DeviceReading one{
        .scope = ReportScope::kDevice, .gpu = WholeNumber(ToText(core)), .noun = "NeuronCore"};
    one.time = time;
    std::int64_t sum = 0;
    if (parts.IsObject()) {
      for (const auto& [name, part] : parts.GetObject()) {
        sum = SaturatingAdd(sum, BuildAmount(part, ToText(name)).bytes.value_or(0));
      }
    }
    SetUsed(one, {sum, {}}, 0);
    report.readings.push_back(std::move(one));
  }
}

// What a list of {"metrics_type": "XPUM_STATS_MEMORY_USED", "value": 24.0} says, in MiB.
std::optional<Amount> XpuUsed(const Value* metrics) {
  if (metrics == nullptr || !metrics->IsArray()) {
    return std::nullopt;
  }
  for (const Value& metric : metrics->GetArray()) {
    const Value* type = Member(metric, "metrics_type");
    if (type != nullptr && type->IsString() && ToText(*type) == "XPUM_STATS_MEMORY_USED") {
      return AmountAt(metric, "value", "MiB");
    }
  }
  return std::nullopt;
}

// xpu-smi stats -j: {"device_id": 0, "device_level": [...], "tile_level": [{"data_list": [...]}]}.
// Devices of several tiles may have the memory of each of them only.
bool AddXpu(DeviceReport& report, const Value& device) {
  const Value* id = Member(device, "device_id");
  const Value* whole = Member(device, "device_level");
  const Value* tiles = Member(device, "tile_level");
  if (whole == nullptr && tiles == nullptr) {
    return false;
  }
  report.form = "xpu-smi-stats-json";
  report.display = "xpu-smi stats";
  report.has_histories = false;
  DeviceReading reading{.scope = ReportScope::kDevice};
  reading.gpu = id != nullptr && id->IsInt64() ? std::optional(id->GetInt64()) : std::nullopt;
  std::optional<Amount> used = XpuUsed(whole);
  std::int64_t parts = 1;
  if (!used && tiles != nullptr && tiles->IsArray()) {
    std::int64_t sum = 0;
    parts = 0;
    for (const Value& tile : tiles->GetArray()) {
      const auto one = XpuUsed(Member(tile, "data_list"));
      sum = SaturatingAdd(sum, one ? one->bytes.value_or(0) : 0);
      parts += one && one->bytes ? 1 : 0;
    }
    used = parts > 0 ? std::optional(Amount{.bytes = sum}) : std::nullopt;
  }
  SetUsed(reading, used.value_or(Amount{.unavailable = "no XPUM_STATS_MEMORY_USED"}),
          SaturatingMultiply(parts, kMiB / 2));
  report.readings.push_back(std::move(reading));
  return true;
}

bool AddAny(DeviceReport& report, const Value& value, std::optional<std::int64_t> gpu,
            std::string_view name) {
  return AddAmd(report, value) || AddXpu(report, value) || AddRocm(report, value, name) ||
         AddCounters(report, value, gpu, name);
}

// "cuda:0" and "0" say which device; anything else is a name.
std::optional<std::int64_t> OrdinalIn(std::string_view name) {
  return WholeNumber(name.substr(name.find(':') == name.npos ? 0 : name.find(':') + 1));
}

void AddAll(DeviceReport& report, const Value& document) {
  if (document.IsArray()) {
    std::int64_t at = 0;
    for (const auto& item : document.GetArray()) {
      AddAny(report, item, at++, "");
    }
  } else if (!AddAny(report, document, std::nullopt, "")) {
    for (const auto& [name, value] : document.GetObject()) {
      AddAny(report, value, OrdinalIn(ToText(name)), ToText(name));
    }
  }
}

Place PlaceAt(std::string_view text, std::size_t offset) {
  Place place;
  for (const char c : text.substr(0, offset)) {
    place = c == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
  }
  return place;
}

}  // namespace

bool LooksLikeNeuronMonitor(std::string_view first_line) {
  return first_line.starts_with('{') &&
         first_line.find("\"neuron_runtime_data\"") != std::string_view::npos;
}

// One report per line, of which the last may be cut: the monitor runs until it is stopped.
DeviceReport ReadNeuronMonitor(std::string_view text) {
  DeviceReport report{
      .form = "neuron-monitor", .display = "neuron-monitor", .has_histories = false};
  const auto lines = SplitLines(text);
  for (const Line& line : lines) {
    Document document;
    document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag>(
        line.text.data(), line.text.size());
    if (document.HasParseError() && line.number == lines.back().number && lines.size() > 1) {
      report.notes.emplace_back("the last line is cut, and left out");
      break;
    }
    if (document.HasParseError()) {
      Refuse({line.number, document.GetErrorOffset() + 1},
             fmt::format("not JSON: {}", rapidjson::GetParseError_En(document.GetParseError())),
             "was the file cut?");
    }
    const Value* runtimes = Member(document, "neuron_runtime_data");
    if (runtimes != nullptr && runtimes->IsArray()) {
      for (const Value& runtime : runtimes->GetArray()) {
        AddNeuron(report, runtime, fmt::format("line {}", line.number));
      }
    }
  }
  if (report.readings.empty()) {
    Refuse({}, "no runtime says what memory it uses",
           R"(its configuration needs {"type": "memory_used"} among the metrics of the runtimes)");
  }
  return report;
}

DeviceReport ReadDeviceReportJson(std::string_view text) {
  Document document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag>(text.data(),
                                                                                  text.size());
  if (document.HasParseError()) {
    Refuse(PlaceAt(text, document.GetErrorOffset()),
           fmt::format("not JSON: {}", rapidjson::GetParseError_En(document.GetParseError())),
           "was the file cut?");
  }
  DeviceReport report;
  const Value* inner = Member(document, "gpu_data");
  AddAll(report, inner != nullptr && inner->IsArray() ? *inner : document);
  if (report.readings.empty() && report.form.empty()) {
    Refuse({}, "JSON without any known memory counters",
           "read: torch.cuda.memory_stats(), JAX's memory_stats(), rocm-smi --showmeminfo vram "
           "--json, amd-smi metric --mem-usage --json, amd-smi process --json, xpu-smi stats -j");
  }
  if (report.form.empty()) {
    report.form = "jax-memory-stats";
    report.display = "memory_stats() of a JAX device";
  }
  return report;
}

}  // namespace memtool::formats::device_report
