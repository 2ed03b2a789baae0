// Tables that the profilers of Ascend NPUs write about memory, as CSV: torch_npu's and MindSpore's
// (ASCEND_PROFILER_OUTPUT), and msprof's (mindstudio_profiler_output).
// Source: Ascend/pytorch, torch_npu/profiler/analysis; real files in Ascend/msinsight.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class AscendReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "ascend"; }
  [[nodiscard]] std::string_view summary() const override {
    return "memory tables of Ascend NPU profilers (operator_memory.csv and others)";
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
