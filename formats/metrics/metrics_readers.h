// Files of metrics: what a job logged about its memory beside losses and speeds, as a recording of
// levels over time.
#pragma once

#include <optional>
#include <string_view>

#include "memtool/formats/reader.h"

namespace memtool::formats {

// Of a training loop or of TensorBoard.
class TfeventsReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "tfevents"; }
  [[nodiscard]] std::string_view summary() const override {
    return "event files of TensorBoard with tags about memory (Megatron-LM, torchtitan …)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override { return RecordingKind::kLog; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

class WandbReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "wandb"; }
  [[nodiscard]] std::string_view summary() const override {
    return "run files of W&B (.wandb): memory of devices, and what the job logged about it";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override { return RecordingKind::kLog; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

class MetricsCsvReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "metrics-csv"; }
  [[nodiscard]] std::string_view summary() const override {
    return "metrics.csv of Lightning's CSVLogger with columns of DeviceStatsMonitor";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override { return RecordingKind::kLog; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

class MetricsJsonReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "metrics-json"; }
  [[nodiscard]] std::string_view summary() const override {
    return "all_results.json and trainer_state.json of HF's Trainer; xprof's memory_profile.json";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override { return RecordingKind::kLog; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
