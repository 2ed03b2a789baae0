// What logs say about memory, as recordings. None recognises a file by its beginning,
// because the rest of a log may be about anything: Open() asks for them last.
#pragma once

#include <optional>
#include <string_view>

#include "memtool/formats/reader.h"
#include "memtool/formats/statements.h"

namespace memtool::formats {

// What jobs print about memory (log/patterns.yaml).
class LogReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "log"; }
  [[nodiscard]] std::string_view summary() const override {
    return "logs of jobs: what vLLM, llama.cpp, SGLang, DeepSpeed, Megatron … print about memory";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override { return RecordingKind::kLog; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> /*head*/) const override {
    return Match::kNo;
  }
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

class OomTextReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "oom-text"; }
  [[nodiscard]] std::string_view summary() const override {
    return "logs with an out-of-memory message of XLA: the buffers of its program";
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> /*head*/) const override {
    return Match::kNo;
  }
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

class BfcDumpReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "bfc-dump"; }
  [[nodiscard]] std::string_view summary() const override {
    return "logs with a dump of the BFC allocator of XLA and TensorFlow: its chunks";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override {
    return RecordingKind::kSnapshot;
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> /*head*/) const override {
    return Match::kNo;
  }
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

namespace oom_text {

// A log's table, or else its statements; none for a log without either. `patterns`: as of Scan.
std::optional<Result<Recording>> ReadText(ByteWindow& in, const log::PatternTable* patterns);

}  // namespace oom_text

}  // namespace memtool::formats
