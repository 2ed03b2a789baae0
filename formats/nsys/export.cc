#include "nsys/export.h"

#include <algorithm>
#include <utility>

#include "memtool/profile/base/key_hash.h"

namespace memtool::formats::nsys {

namespace {

constexpr std::size_t kMaxRanges = 200'000;
constexpr unsigned kThreadBits = 24;  // of a globalTid

std::int64_t GetProcess(std::int64_t global) {
  return global >> kThreadBits;
}

class ExportReader {
 public:
  ExportReader(DatabaseFile& file, const Limits& limits) : file_(file), limits_(limits) {}

  Result<Export> Read() {
    MEMTOOL_TRY(Recognise());
    MEMTOOL_TRY(ReadMemory());
    MEMTOOL_TRY(ReadCalls());
    MEMTOOL_TRY(ReadChains());
    MEMTOOL_TRY(ReadRanges());
    MEMTOOL_TRY(ReadGpus());
    MEMTOOL_TRY(ReadProcesses());
    MEMTOOL_TRY(ReadStart());
    MEMTOOL_TRY(ReadStrings());
    return std::move(out_);
  }

 private:
  Result<void> Recognise();
  Result<void> ReadMemory();
  void AddMemory(const TableScan& row);
  Result<void> ReadCalls();
  Result<void> ReadChains();
  Result<void> ReadRanges();
  Result<void> ReadGpus();
  Result<void> ReadProcesses();
  Result<void> ReadStart();
  Result<void> ReadStrings();

  std::uint32_t Name(std::string_view text) {
    if (text.empty()) {
      return 0;
    }
    const auto [known, added] =
        name_index_.emplace(text, static_cast<std::uint32_t>(out_.names.size()));
    if (added) {
      out_.names.emplace_back(text);
    }
    return known->second;
  }

  DatabaseFile& file_;
  const Limits& limits_;
  Export out_;
  KeyMap<std::string, std::uint32_t> name_index_;
};

Result<void> ExportReader::Recognise() {
  bool nsight = false;
  MEMTOOL_TRY(file_.ForEach("META_DATA_EXPORT", {"name", "value"}, [&](const TableScan& row) {
    nsight = true;
    if (row.Text(0) == "EXPORT_SCHEMA_VERSION") {
      out_.version = row.Text(1);
    } else if (row.Text(0) == "EXPORT_PRODUCT_VERSION") {
      out_.product = row.Text(1);
    }
  }));
  const auto strings = file_.HasTable("StringIds");
  MEMTOOL_TRY(strings);
  if (!nsight && !*strings) {
    return Fail(
        ErrorCode::kUnsupported,
        "this is a SQLite database, but not one that Nsight Systems exported",
        "nsys export --type sqlite writes one; --input-format rocpd reads databases of rocprofv3, "
        "--input-format ascend-db those of Ascend's profilers");
  }
  return {};
}

void ExportReader::AddMemory(const TableScan& row) {
  enum : int {
    kStart,
    kPid,
    kDevice,
    kAddress,
    kBytes,
    kKind,
    kOperation,
    kName,
    kCorrelation,
    kStream,
    kPool
  };
  const auto time = row.Number(kStart);
  const auto address = row.Number(kAddress);
  const auto operation = row.Number(kOperation);
  const auto bytes = row.Number(kBytes);
  if (!time || !address || !operation || *operation < 0 || *operation > 1 ||
      bytes.value_or(0) < 0 || (*operation == 0 && !bytes)) {
    ++out_.damaged_rows;
    return;
  }
  constexpr auto kLast = static_cast<std::int64_t>(MemKind::kUnknown);
  const std::int64_t kind = row.Number(kKind).value_or(kLast);
  out_.memory.push_back(
      {.time = *time,
       .process = GetProcess(row.Number(kPid).value_or(0)),
       .device = std::clamp<std::int64_t>(row.Number(kDevice).value_or(-1), -1, INT32_MAX),
       .address = static_cast<std::uint64_t>(*address),
       .bytes = bytes,
       .kind = static_cast<MemKind>(kind < 0 || kind > kLast ? kLast : kind),
       .frees = *operation == 1,
       .name = Name(row.Text(kName)),
       .stream = static_cast<std::uint64_t>(row.Number(kStream).value_or(0)),
       .pool = static_cast<std::uint64_t>(row.Number(kPool).value_or(0)),
       .correlation = row.Number(kCorrelation).value_or(-1)});
}

Result<void> ExportReader::ReadMemory() {
  MEMTOOL_TRY(file_.ForEach(
      "CUDA_GPU_MEMORY_USAGE_EVENTS",
      {"start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType",
       "name", "correlationId", "streamId", "localMemoryPoolAddress"},
      [this](const TableScan& row) { AddMemory(row); }));
  if (out_.memory.empty() && out_.damaged_rows == 0) {
    return Fail(ErrorCode::kUnsupported,
                "this export of Nsight Systems holds no memory events: it was recorded without "
                "--cuda-memory-usage=true",
                "nsys profile --cuda-memory-usage=true --cudabacktrace=memory PROGRAM, then "
                "nsys export --type sqlite");
  }
  if (out_.memory.empty()) {
    return Fail(ErrorCode::kMalformed,
                "none of its memory events has a time, an address, an operation and a size");
  }
  std::stable_sort(out_.memory.begin(), out_.memory.end(),
                   [](const MemoryRow& a, const MemoryRow& b) { return a.time < b.time; });
  return {};
}

// Calls of the runtime number in the millions; those that moved memory are few.
Result<void> ExportReader::ReadCalls() {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> wanted;
  for (std::size_t i = 0; i < out_.memory.size(); ++i) {
    if (out_.memory[i].correlation >= 0) {
      wanted[{out_.memory[i].process, out_.memory[i].correlation}].push_back(i);
    }
  }
  return file_.ForEach(
      "CUPTI_ACTIVITY_KIND_RUNTIME", {"globalTid", "correlationId", "nameId", "callchainId"},
      [&](const TableScan& row) {
        const std::int64_t thread = row.Number(0).value_or(-1);
        const auto rows = wanted.find({GetProcess(thread), row.Number(1).value_or(-1)});
        if (rows == wanted.end()) {
          return;
        }
        for (const std::size_t i : rows->second) {
          out_.memory[i].thread = thread;
          out_.memory[i].call_name = row.Number(2).value_or(-1);
          out_.memory[i].chain = row.Number(3).value_or(-1);
        }
      });
}

Result<void> ExportReader::ReadChains() {
  for (const MemoryRow& row : out_.memory) {
    if (row.chain >= 0) {
      out_.chains[row.chain];
    }
  }
  bool deep = false;
  MEMTOOL_TRY(file_.ForEach(
      "CUDA_CALLCHAINS", {"id", "symbol", "module", "stackDepth", "originalIP"},
      [&](const TableScan& row) {
        const auto chain = out_.chains.find(row.Number(0).value_or(-1));
        if (chain != out_.chains.end()) {
          chain->second.push_back(
              {.depth = row.Number(3).value_or(0),
               .symbol = row.Number(1).value_or(-1),
               .module = row.Number(2).value_or(-1),
               .address = static_cast<std::uint64_t>(row.Number(4).value_or(0))});
          deep = deep || chain->second.size() > limits_.record_bytes / sizeof(ChainFrame);
        }
      }));
  if (deep) {
    return Fail(ErrorCode::kLimit, "a call chain is too long",
                "lift it with --max record-bytes=SIZE");
  }
  for (auto& [id, frames] : out_.chains) {
    std::stable_sort(frames.begin(), frames.end(),
                     [](const ChainFrame& a, const ChainFrame& b) { return a.depth < b.depth; });
  }
  return {};
}

Result<void> ExportReader::ReadRanges() {
  constexpr std::int64_t kMark = 34;
  constexpr std::int64_t kPushPop = 59;
  constexpr std::int64_t kStartEnd = 60;
  MEMTOOL_TRY(file_.ForEach(
      "NVTX_EVENTS", {"start", "end", "eventType", "text", "textId", "globalTid"},
      [&](const TableScan& row) {
        const std::int64_t type = row.Number(2).value_or(-1);
        const auto begin = row.Number(0);
        const std::int64_t text_id = row.Number(4).value_or(-1);
        if (!begin || (type != kMark && type != kPushPop && type != kStartEnd) ||
            (text_id < 0 && row.Text(3).empty())) {
          return;
        }
        if (out_.ranges.size() == kMaxRanges) {
          ++out_.ranges_left_out;
          return;
        }
        const auto end = row.Number(1);
        out_.ranges.push_back({.begin = *begin,
                               .end = end && *end >= *begin && type != kMark ? end : std::nullopt,
                               .thread = row.Number(5).value_or(-1),
                               .text_id = text_id,
                               .text = text_id < 0 ? Name(row.Text(3)) : 0,
                               .nests = type == kPushPop});
      }));
  std::stable_sort(out_.ranges.begin(), out_.ranges.end(),
                   [](const RangeRow& a, const RangeRow& b) {
                     return std::pair(a.begin, b.end.value_or(INT64_MAX)) <
                            std::pair(b.begin, a.end.value_or(INT64_MAX));
                   });
  return {};
}

Result<void> ExportReader::ReadGpus() {
  return file_.ForEach(
      "TARGET_INFO_GPU", {"id", "cuDevice", "name", "totalMemory"}, [&](const TableScan& row) {
        const auto id = row.Number(1) ? row.Number(1) : row.Number(0);
        if (id && *id >= 0) {
          const auto memory = row.Number(3);
          out_.gpus.try_emplace(*id, Gpu{.name = std::string(row.Text(2)),
                                         .memory = memory.value_or(0) > 0 ? memory : std::nullopt});
        }
      });
}

Result<void> ExportReader::ReadProcesses() {
  for (const MemoryRow& row : out_.memory) {
    out_.processes[row.process];
  }
  return file_.ForEach("PROCESSES", {"globalPid", "name"}, [&](const TableScan& row) {
    const auto known = out_.processes.find(GetProcess(row.Number(0).value_or(-1)));
    if (known != out_.processes.end()) {
      known->second = row.Text(1);
    }
  });
}

Result<void> ExportReader::ReadStart() {
  return file_.ForEach("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"},
                       [&](const TableScan& row) { out_.utc = row.Number(0); });
}

// Once, at the end: by now it is known which are used.
Result<void> ExportReader::ReadStrings() {
  KeySet<std::int64_t> used;
  for (const MemoryRow& row : out_.memory) {
    used.insert(row.call_name);
  }
  for (const auto& [id, frames] : out_.chains) {
    for (const ChainFrame& frame : frames) {
      used.insert({frame.symbol, frame.module});
    }
  }
  for (const RangeRow& range : out_.ranges) {
    used.insert(range.text_id);
  }
  return file_.ForEach("StringIds", {"id", "value"}, [&](const TableScan& row) {
    const auto id = row.Number(0);
    if (id && used.contains(*id)) {
      out_.strings.emplace(*id, row.Text(1));
    }
  });
}

}  // namespace

Result<Export> ReadExport(DatabaseFile& file, const Limits& limits) {
  return ExportReader(file, limits).Read();
}

}  // namespace memtool::formats::nsys
