// The JSON forms: counters of torch and JAX, rocm-smi, amd-smi. The document is small (the caller
// limits it), so it is held whole; the parser does not recurse, and neither does anything here.
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <string>

#include "documents/ground_truth/forms.h"
#include "documents/ground_truth/text.h"
#include "memtool/profile/base/json_memory.h"

namespace memtool::formats::ground_truth {

namespace {

using Pool = rapidjson::MemoryPoolAllocator<JsonMemory>;
using Value = rapidjson::GenericValue<rapidjson::UTF8<>, Pool>;
using Document = rapidjson::GenericDocument<rapidjson::UTF8<>, Pool, JsonMemory>;

std::string_view TextOf(const Value& value) {
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
Amount AmountOf(const Value& value, std::string_view name, std::string_view unit = "B") {
  if (const Value* inner = Member(value, "value")) {
    const Value* own = Member(value, "unit");
    return inner->IsObject() ? Amount{{}, "unreadable"}
                             : AmountOf(*inner, name, own && own->IsString() ? TextOf(*own) : unit);
  }
  if (value.IsNull()) {
    return {{}, "null"};
  }
  if (value.IsString()) {
    return ReadAmount(TextOf(value), unit, {});
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
  return member == nullptr ? Amount{} : AmountOf(*member, name, unit);
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

Reading TorchReading(const Value& stats) {
  Reading reading{.scope = TruthScope::kAllocator};
  SetUsed(reading, TorchAmount(stats, "reserved_bytes", "current"), 0);
  reading.reserved = reading.used;
  reading.allocated = TorchAmount(stats, "allocated_bytes", "current").bytes;
  reading.requested = TorchAmount(stats, "requested_bytes", "current").bytes;
  reading.peak = TorchAmount(stats, "allocated_bytes", "peak").bytes;
  return reading;
}

Reading JaxReading(const Value& stats) {
  Reading reading{.scope = TruthScope::kAllocator};
  const auto in_use = AmountAt(stats, "bytes_in_use");
  const auto pool = AmountAt(stats, "pool_bytes");
  SetUsed(reading, pool.bytes ? pool : in_use, 0);
  reading.reserved = pool.bytes;
  reading.allocated = in_use.bytes;
  reading.peak = AmountAt(stats, "peak_bytes_in_use").bytes;
  reading.total = AmountAt(stats, "bytes_limit").bytes;
  return reading;
}

bool AddCounters(GroundTruth& truth, const Value& stats, std::optional<std::int64_t> gpu,
                 std::string_view name) {
  Reading reading{.scope = TruthScope::kAllocator, .unavailable = "null"};
  if (IsTorch(stats)) {
    truth.form = "torch-memory-stats";
    truth.display = "torch.cuda.memory_stats()";
    reading = TorchReading(stats);
  } else if (IsJax(stats)) {
    truth.form = "jax-memory-stats";
    truth.display = "memory_stats() of a JAX device";
    reading = JaxReading(stats);
  } else if (!stats.IsNull()) {
    return false;
  }
  reading.gpu = gpu;
  reading.gpu_name = name;
  truth.readings.push_back(std::move(reading));
  return true;
}

// {"card0": {"VRAM Total Memory (B)": "…", "VRAM Total Used Memory (B)": "…"}}
bool AddRocm(GroundTruth& truth, const Value& card, std::string_view name) {
  constexpr std::string_view kUsed = "VRAM Total Used Memory (B)";
  if (Member(card, kUsed) == nullptr) {
    return false;
  }
  truth.form = "rocm-smi-json";
  truth.display = "rocm-smi --showmeminfo vram --json";
  Reading reading{.scope = TruthScope::kDevice, .gpu_name = std::string(name)};
  reading.gpu = name.starts_with("card") ? WholeNumber(name.substr(4)) : std::nullopt;
  SetUsed(reading, AmountAt(card, kUsed), 0);
  reading.total = AmountAt(card, "VRAM Total Memory (B)").bytes;
  truth.readings.push_back(std::move(reading));
  return true;
}

void AddAmdProcess(GroundTruth& truth, const Value& item, std::optional<std::int64_t> gpu) {
  const Value* inner = Member(item, "process_info");
  const Value& process = inner == nullptr ? item : *inner;
  if (!process.IsObject()) {
    return;  // "No running processes detected"
  }
  Reading reading{.scope = TruthScope::kProcess, .gpu = gpu};
  const Value* pid = Member(process, "pid");
  reading.pid = pid != nullptr && pid->IsInt64() ? std::optional(pid->GetInt64()) : std::nullopt;
  const Value* name = Member(process, "name");
  reading.process = name != nullptr && name->IsString() ? TextOf(*name) : "";
  const Value* usage = Member(process, "memory_usage");
  usage = usage == nullptr ? Member(process, "mem_usage") : usage;
  if (usage != nullptr) {
    SetUsed(reading, AmountAt(*usage, "vram_mem"), 0);
  }
  truth.readings.push_back(std::move(reading));
}

// {"gpu": 0, "mem_usage": {"total_vram": {"value": 1, "unit": "MB"}, …}, "process_list": […]}
bool AddAmd(GroundTruth& truth, const Value& device) {
  const Value* gpu = Member(device, "gpu");
  const Value* usage = Member(device, "mem_usage");
  const Value* processes = Member(device, "process_list");
  // "No running processes detected" may stand in place of either.
  const Value* none = Member(device, "process_info");
  if (gpu == nullptr || (usage == nullptr && processes == nullptr && none == nullptr)) {
    return false;
  }
  truth.form = "amd-smi-json";
  truth.display = "amd-smi";
  const auto number = gpu->IsInt64() ? std::optional(gpu->GetInt64()) : std::nullopt;
  if (usage != nullptr) {
    Reading reading{.scope = TruthScope::kDevice, .gpu = number};
    SetUsed(reading, AmountAt(*usage, "used_vram", "MB"), kMiB / 2);
    reading.total = AmountAt(*usage, "total_vram", "MB").bytes;
    reading.free = AmountAt(*usage, "free_vram", "MB").bytes;
    truth.readings.push_back(std::move(reading));
  }
  if (processes != nullptr && processes->IsArray()) {
    for (const auto& item : processes->GetArray()) {
      AddAmdProcess(truth, item, number);
    }
  }
  return true;
}

bool AddAny(GroundTruth& truth, const Value& value, std::optional<std::int64_t> gpu,
            std::string_view name) {
  return AddAmd(truth, value) || AddRocm(truth, value, name) ||
         AddCounters(truth, value, gpu, name);
}

// "cuda:0" and "0" say which device; anything else is a name.
std::optional<std::int64_t> OrdinalIn(std::string_view name) {
  return WholeNumber(name.substr(name.find(':') == name.npos ? 0 : name.find(':') + 1));
}

void AddAll(GroundTruth& truth, const Value& document) {
  if (document.IsArray()) {
    std::int64_t at = 0;
    for (const auto& item : document.GetArray()) {
      AddAny(truth, item, at++, "");
    }
  } else if (!AddAny(truth, document, std::nullopt, "")) {
    for (const auto& [name, value] : document.GetObject()) {
      AddAny(truth, value, OrdinalIn(TextOf(name)), TextOf(name));
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

GroundTruth ReadTruthJson(std::string_view text) {
  Document document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag>(text.data(),
                                                                                  text.size());
  if (document.HasParseError()) {
    Refuse(PlaceAt(text, document.GetErrorOffset()),
           fmt::format("not JSON: {}", rapidjson::GetParseError_En(document.GetParseError())),
           "was the file cut?");
  }
  GroundTruth truth;
  const Value* inner = Member(document, "gpu_data");
  AddAll(truth, inner != nullptr && inner->IsArray() ? *inner : document);
  if (truth.readings.empty() && truth.form.empty()) {
    Refuse({}, "JSON without any known memory counters",
           "read: torch.cuda.memory_stats(), JAX's memory_stats(), rocm-smi --showmeminfo vram "
           "--json, amd-smi metric --mem-usage --json, amd-smi process --json");
  }
  if (truth.form.empty()) {
    truth.form = "jax-memory-stats";
    truth.display = "memory_stats() of a JAX device";
  }
  return truth;
}

}  // namespace memtool::formats::ground_truth
