// The tables about memory in a database of Ascend's profilers, each into what it is a part of:
// OP_MEMORY and NPU_OP_MEM into ledgers of allocators; MEMORY_RECORD, NPU_MODULE_MEM and NPU_MEM
// into totals of components. Amounts are bytes, times nanoseconds since 1970.
// Source: torch_npu/profiler/analysis (prof_db_parse) and msprof's analysis/csrc; a real database
// in Ascend/msinsight.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "ascend_db/names.h"
#include "ascend_db/operations.h"
#include "memtool/formats/limits.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording_builder.h"
#include "sqlite/database_file.h"
#include "support/history/component_totals.h"
#include "support/history/name_stacks.h"
#include "support/history/tensor_ledgers.h"

namespace memtool::formats::ascend_db {

class TablesReader {
 public:
  TablesReader(sqlite::DatabaseFile& file, const Limits& limits, RecordingBuilder& builder)
      : file_(file), builder_(builder), stacks_(builder, limits) {}

  // Errors: kUnsupported where nothing about memory was recorded; kMalformed, kLimit. May throw
  // ReadError.
  Result<void> Read();

 private:
  // Whether an allocator's rows were read, or totals alone.
  [[nodiscard]] bool OfAllocators() const { return !domains_of_.empty() || records_ > 0; }

  Result<void> ReadTensors();
  void AddTensor(const sqlite::TableScan& row, bool has_operations);
  Result<void> ReadOperations();
  void AddOperation(const sqlite::TableScan& row);
  Result<void> ReadRecords();
  void AddModule(const sqlite::TableScan& row);
  Result<void> ReadModules();
  Result<void> ReadUsed();
  void AddTotal(std::int32_t device, const ascend::Sample& sample);
  Result<void> ReadAbout();
  void Describe();
  void AddNotes();

  StackId StackOf(std::int64_t name);

  sqlite::DatabaseFile& file_;
  RecordingBuilder& builder_;
  Names names_;
  ascend::NameStacks stacks_;
  KeyMap<std::int64_t, StackId> stack_index_;  // by number of the name
  ascend::TensorLedgers ledgers_;
  Operations operations_;
  ascend::ComponentTotals totals_;
  std::map<std::int32_t, std::vector<DomainId>> domains_of_;  // of allocators, per device
  KeySet<std::int32_t> with_process_;  // devices of which NPU_MODULE_MEM has the process
  KeySet<std::int64_t> processes_;
  std::uint32_t rows_ = 0;     // of OP_MEMORY
  std::uint64_t records_ = 0;  // of MEMORY_RECORD, not told elsewhere
  std::uint64_t damaged_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint64_t told_elsewhere_ = 0;
  std::uint64_t printed_sums_ = 0;
  std::uint64_t unnamed_ = 0;
  bool has_modules_ = false;
};

}  // namespace memtool::formats::ascend_db
