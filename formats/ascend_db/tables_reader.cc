#include "ascend_db/tables_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool::formats::ascend_db {

namespace {

using ascend::Totals;
using sqlite::TableScan;

constexpr std::string_view kHint =
    "torch_npu.profiler with profile_memory=True, or msprof --task-memory=on --sys-hardware-mem=on";
constexpr unsigned kThreadBits = 32;  // of a globalTid

std::int32_t ToDevice(std::optional<std::int64_t> id) {
  return id && *id >= 0 && *id < UINT16_MAX ? static_cast<std::int32_t>(*id) : -1;
}

std::int64_t Said(std::optional<std::int64_t> total) {
  return total && *total >= 0 ? *total : ascend::kUnsaid;
}

// As a ledger is called: PyTorch's allocator has the device's name alone.
std::string_view LedgerName(std::string_view component) {
  return component == ascend::kPyTorch ? std::string_view()
         : component.empty()           ? ascend::kGraphEngine
                                       : component;
}

}  // namespace

Result<void> TablesReader::Read() {
  MEMTOOL_TRY(names_.Read(file_));
  MEMTOOL_TRY(ReadOperations());
  MEMTOOL_TRY(ReadTensors());
  operations_.MoveTo(ledgers_, rows_ + 1);
  History history;
  history.clock = Clock::kUnix;
  domains_of_ = ledgers_.MoveTo(history);
  MEMTOOL_TRY(ReadRecords());
  MEMTOOL_TRY(ReadModules());
  MEMTOOL_TRY(ReadUsed());
  totals_.MoveTo(history, domains_of_);
  if (history.events.empty() && damaged_ > 0) {
    return Fail(ErrorCode::kMalformed,
                "none of its rows of memory has a time, a size and what happened");
  }
  if (history.events.empty()) {
    return Fail(ErrorCode::kUnsupported,
                "this database of Ascend's profilers holds nothing about memory: it was not "
                "recorded",
                std::string(kHint));
  }
  builder_.SetHistory(std::move(history));
  MEMTOOL_TRY(ReadAbout());
  Describe();
  AddNotes();
  return {};
}

StackId TablesReader::StackOf(std::int64_t name) {
  const auto [known, added] = stack_index_.try_emplace(name);
  if (added) {
    known->second = stacks_.Of(names_.Text(name));
  }
  unnamed_ += known->second.valid() ? 0 : 1;
  return known->second;
}

// Times, sizes and totals as operator_memory.csv has them.
Result<void> TablesReader::ReadTensors() {
  const bool has_operations = !operations_.empty();
  return file_.ForEach(
      "OP_MEMORY",
      {"name", "size", "allocationTime", "releaseTime", "activeReleaseTime", "duration",
       "allocationTotalAllocated", "allocationTotalReserved", "releaseTotalAllocated",
       "releaseTotalReserved", "allocationTotalActive", "streamPtr", "deviceId"},
      [this, has_operations](const TableScan& row) { AddTensor(row, has_operations); });
}

void TablesReader::AddTensor(const TableScan& row, bool has_operations) {
  enum : int {
    kName,
    kSize,
    kAllocation,
    kRelease,
    kActiveRelease,
    kDuration,
    kAllocated,
    kReserved,
    kReleaseAllocated,
    kReleaseReserved,
    kActive,
    kStream,
    kDevice
  };
  // torch_npu appends a copy of the graph engine's, which have neither.
  const bool of_graph_engine = !row.Number(kActive) && !row.Number(kStream);
  if (of_graph_engine && has_operations) {
    ++told_elsewhere_;
    return;
  }
  const auto size = row.Number(kSize);
  auto tensor =
      ascend::ToTensor({.size = size.value_or(0),
                        .allocated_at = row.Number(kAllocation),
                        .released_at = row.Number(kRelease),
                        .reusable_at = row.Number(kActiveRelease),
                        .duration = row.Number(kDuration),
                        .after_allocation = {.allocated = Said(row.Number(kAllocated)),
                                             .reserved = Said(row.Number(kReserved))},
                        .after_release = {.allocated = Said(row.Number(kReleaseAllocated)),
                                          .reserved = Said(row.Number(kReleaseReserved))}});
  if (!size || !tensor) {
    ++damaged_;
    return;
  }
  tensor->stack = StackOf(row.Number(kName).value_or(-1));
  tensor->stream = ledgers_.StreamOf(static_cast<std::uint64_t>(row.Number(kStream).value_or(0)));
  const std::string_view component = of_graph_engine ? ascend::kGraphEngine : std::string_view();
  if (ascend::TensorLedger* ledger = ledgers_.Of(ToDevice(row.Number(kDevice)), component)) {
    ledger->Add(++rows_, *tensor);
  }
}

Result<void> TablesReader::ReadOperations() {
  return file_.ForEach("NPU_OP_MEM",
                       {"operatorName", "addr", "type", "size", "timestampNs", "globalTid",
                        "totalAllocate", "totalReserve", "component", "deviceId"},
                       [this](const TableScan& row) { AddOperation(row); });
}

void TablesReader::AddOperation(const TableScan& row) {
  enum : int {
    kName,
    kAddress,
    kType,
    kSize,
    kTime,
    kThread,
    kAllocated,
    kReserved,
    kComponent,
    kDevice
  };
  const std::int64_t component = row.Number(kComponent).value_or(-1);
  const std::string_view name = names_.Text(component);
  if (name == ascend::kPrintedSum) {
    ++printed_sums_;
    return;
  }
  const auto address = row.Number(kAddress);
  const auto size = row.Number(kSize);
  const auto time = row.Number(kTime);
  const auto word = names_.WordOf(row.Number(kType).value_or(-1));
  const bool releases = word == Names::Word::kRelease;
  if (!address || !size || *size < 0 || !time || (!releases && word != Names::Word::kAllocate)) {
    ++damaged_;
    return;
  }
  const auto place =
      operations_.PlaceOf(ToDevice(row.Number(kDevice)), component, LedgerName(name));
  if (!place) {
    ++left_out_;
    return;
  }
  if (const auto thread = row.Number(kThread)) {
    processes_.insert(*thread >> kThreadBits);
  }
  operations_.Add({.time = *time,
                   .address = static_cast<std::uint64_t>(*address),
                   .size = *size,
                   .after = {.allocated = Said(row.Number(kAllocated)),
                             .reserved = Said(row.Number(kReserved))},
                   .stack = StackOf(row.Number(kName).value_or(-1)),
                   .place = *place,
                   .releases = releases});
}

void TablesReader::AddTotal(std::int32_t device, const ascend::Sample& sample) {
  damaged_ += totals_.Add(device, sample) ? 0 : 1;
}

Result<void> TablesReader::ReadRecords() {
  return file_.ForEach(
      "MEMORY_RECORD", {"component", "timestamp", "totalAllocated", "totalReserved", "deviceId"},
      [this](const TableScan& row) {
        enum : int { kComponent, kTime, kAllocated, kReserved, kDevice };
        const std::string_view component = names_.Text(row.Number(kComponent).value_or(-1));
        const std::int32_t device = ToDevice(row.Number(kDevice));
        const auto time = row.Number(kTime);
        const auto live = row.Number(kAllocated);
        if (!time || !live) {
          ++damaged_;
        } else if (ledgers_.Tell(device, component)) {
          ++told_elsewhere_;
        } else {
          ++records_;
          AddTotal(device, {.component = component,
                            .stack = stacks_.Of(component),
                            .time = *time,
                            .live = *live,
                            .reserved = row.Number(kReserved)});
        }
      });
}

// What a module has reserved is all that is known of it.
void TablesReader::AddModule(const TableScan& row) {
  enum : int { kModule, kTime, kReserved, kDevice };
  const auto module = row.Number(kModule);
  const auto time = row.Number(kTime);
  const auto reserved = row.Number(kReserved);
  if (!module || !time || !reserved) {
    ++damaged_;
    return;
  }
  const std::int32_t device = ToDevice(row.Number(kDevice));
  const std::string name = names_.Module(*module);
  has_modules_ = true;
  if (ledgers_.Tell(device, name)) {
    ++told_elsewhere_;
    return;
  }
  if (name == ascend::kProcess) {
    with_process_.insert(device);
  }
  AddTotal(device, {.component = name,
                    .stack = stacks_.Of(name),
                    .time = *time,
                    .live = *reserved,
                    .reserved = reserved});
}

Result<void> TablesReader::ReadModules() {
  return file_.ForEach("NPU_MODULE_MEM", {"moduleId", "timestampNs", "totalReserved", "deviceId"},
                       [this](const TableScan& row) { AddModule(row); });
}

// Memory of the device and of the process, on the chip (HBM) and beside it (DDR).
Result<void> TablesReader::ReadUsed() {
  return file_.ForEach(
      "NPU_MEM", {"type", "ddr", "hbm", "timestampNs", "deviceId"}, [this](const TableScan& row) {
        enum : int { kType, kDdr, kHbm, kTime, kDevice };
        const auto word = names_.WordOf(row.Number(kType).value_or(-1));
        const auto ddr = row.Number(kDdr);
        const auto hbm = row.Number(kHbm);
        const auto time = row.Number(kTime);
        const bool process = word == Names::Word::kApp;
        if ((!process && word != Names::Word::kDevice) || !time || (!ddr && !hbm)) {
          ++damaged_;
          return;
        }
        const std::int32_t device = ToDevice(row.Number(kDevice));
        if (process && with_process_.contains(device)) {
          ++told_elsewhere_;
          return;
        }
        const std::string_view name = process ? ascend::kProcess : ascend::kWholeDevice;
        AddTotal(device, {.component = name,
                          .stack = stacks_.Of(name),
                          .time = *time,
                          .live = SaturatingAdd(ddr.value_or(0), hbm.value_or(0))});
      });
}

Result<void> TablesReader::ReadAbout() {
  Origin& origin = builder_.metadata().origin;
  MEMTOOL_TRY(file_.ForEach("META_DATA", {"name", "value"}, [&origin](const TableScan& row) {
    if (row.Text(0) == "SCHEMA_VERSION") {
      origin.schema = row.Text(1);
    }
  }));
  MEMTOOL_TRY(file_.ForEach("HOST_INFO", {"hostName"},
                            [&origin](const TableScan& row) { origin.host = row.Text(0); }));
  std::vector<std::int64_t> ranks;
  MEMTOOL_TRY(file_.ForEach("RANK_DEVICE_MAP", {"rankId"}, [&ranks](const TableScan& row) {
    const auto rank = row.Number(0);
    if (rank && *rank >= 0 && *rank < INT32_MAX) {
      ranks.push_back(*rank);
    }
  }));
  if (ranks.size() == 1) {
    origin.rank = fmt::format("{}", ranks.front());
  }
  return file_.ForEach("NPU_INFO", {"id", "name"}, [&origin](const TableScan& row) {
    if (row.Number(0) == static_cast<std::int64_t>(origin.device_names.size())) {
      origin.device_names.emplace_back(row.Text(1));
    }
  });
}

void TablesReader::Describe() {
  Metadata& metadata = builder_.metadata();
  metadata.frames_are_scopes = true;
  Origin& origin = metadata.origin;
  metadata.format_display =
      origin.schema.empty()
          ? "database of Ascend's profilers"
          : fmt::format("database of Ascend's profilers (schema {})", origin.schema);
  origin.platform = "NPU";
  // Where no allocator has a row, totals are those of modules below the framework.
  origin.framework = OfAllocators() ? Framework::kPyTorch : Framework::kDriver;
  origin.kind = OfAllocators() ? RecordingKind::kTrace : RecordingKind::kDriverLog;
  if (processes_.size() == 1) {
    origin.process = *processes_.begin();
  }
}

void TablesReader::AddNotes() {
  builder_.AddDiagnostic(Severity::kDamage, "skipped_row",
                         "rows of memory without a time, a size or what happened, or whose times "
                         "step back: left out",
                         damaged_);
  builder_.AddDiagnostic(Severity::kDamage, "skipped_row",
                         "rows beyond 250 combinations of device and component", left_out_);
  builder_.AddDiagnostic(Severity::kNote, "reused_addresses",
                         "allocations at an address whose release was not recorded",
                         operations_.reopened());
  builder_.AddDiagnostic(Severity::kNote, "unknown_name",
                         "rows whose name is not in STRING_IDS: without a stack", unnamed_);
  builder_.AddDiagnostic(Severity::kNote, "printed_sum", "rows that sum PTA and GE up: never added",
                         printed_sums_);
  builder_.AddDiagnostic(Severity::kNote, "told_elsewhere",
                         "rows of what another table tells in more detail: read from there",
                         told_elsewhere_);
  ledgers_.AddDiagnostics(builder_);
  totals_.AddDiagnostics(builder_);
  if (domains_of_.empty()) {
    builder_.AddBlindSpot("single allocations", "the tables hold totals of components");
    builder_.AddBlindSpot("the code that allocated", "the tables name components");
    return;
  }
  builder_.AddBlindSpot("the code that allocated",
                        "rows name operators; Python stacks are in a snapshot "
                        "(torch_npu.npu.memory._dump_snapshot)");
  if (!has_modules_) {
    builder_.AddBlindSpot("what CANN and HCCL take from the device",
                          "beside the allocator: table NPU_MODULE_MEM, which was not recorded");
  }
}

}  // namespace memtool::formats::ascend_db
