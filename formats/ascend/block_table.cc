#include "ascend/block_table.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ascend/memscope_rows.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/numbers.h"
#include "support/byte_cursor.h"
#include "support/byte_interner.h"
#include "support/code_stacks.h"
#include "support/history/name_stacks.h"
#include "support/history/stream_table.h"
#include "support/history/tensor_ledger.h"
#include "support/read_error.h"

namespace memtool::formats::ascend {

namespace {

constexpr char kFrameEnd = '|';

// What is behind `key` up to the next ';'.
std::string_view Part(std::string_view frame, std::string_view key) {
  const std::size_t at = frame.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  frame.remove_prefix(at + key.size());
  return frame.substr(0, frame.find(';'));
}

// "File:/app/model.py;Line:12;Function:construct"; anything else is a name.
CodePlace ParseFrame(std::string_view frame) {
  if (!frame.starts_with("File:")) {
    return {.function = frame, .file = {}};
  }
  return {.function = Part(frame, ";Function:"),
          .file = Part(frame, "File:"),
          .line = ParseNumber<std::int64_t>(Part(frame, ";Line:")).value_or(0)};
}

class BlockReader {
 public:
  BlockReader(CsvRows& rows, const Limits& limits, RecordingBuilder& builder)
      : rows_(rows),
        limits_(limits),
        builder_(builder),
        code_(
            builder, {}, [this](std::uint32_t text) { return ParseFrame(AsText(texts_[text])); },
            limits.depth) {}

  void Read() {
    while (rows_.Next()) {
      if (!Take()) {
        rows_.SkipBad();
      }
    }
    AddTraces();
    rows_.AddDiagnostics(builder_);
    builder_.AddDiagnostic(
        Severity::kNote, "inner_blocks",
        "blocks inside of the memory that a graph planned: they are in its block", inner_);
    builder_.AddDiagnostic(Severity::kDamage, "skipped_row", "rows of pools beyond the first 250",
                           left_out_);
    builder_.AddDiagnostic(Severity::kNote, "deep_stack",
                           "stacks deeper than --max depth: outermost frames left out",
                           code_.cut());
  }

 private:
  struct Pool {
    TensorLedger ledger;
    std::optional<std::int64_t> peak;
  };

  // False where the row is none.
  bool Take() {
    const auto size = rows_.GetAmount(Column::kSize);
    const auto used = rows_.GetAmount(Column::kUsed);
    const auto peak = rows_.GetAmount(Column::kPeak);
    const auto begin = ParseNumber<std::int64_t>(rows_.Get(Column::kBlockStart));
    const auto end = ParseNumber<std::int64_t>(rows_.Get(Column::kBlockEnd));
    if (!rows_.good() || !size || size->bytes < 0 || !begin ||
        (end && *end >= 0 && *end < *begin)) {
      return false;
    }
    if (*begin < 0) {
      ++inner_;
      return true;
    }
    Pool* pool = PoolOf(rows_.Get(Column::kPool));
    if (pool == nullptr) {
      ++left_out_;
      return true;
    }
    // What was not released has the largest stamp there is, or none.
    const bool released = end && *end >= 0 && *end != INT64_MAX;
    const auto stream = ParseNumber<std::uint64_t>(rows_.Get(Column::kStream));
    pool->ledger.Add(
        rows_.row(),
        {.size = size->bytes,
         .allocated_at = *begin,
         .released_at = released ? end : std::optional<std::int64_t>(),
         .after_allocation = {.allocated = used && used->bytes >= 0 ? used->bytes : kUnsaid},
         .stack = code_.GetStack(NodeOf()),
         .stream = streams_.Of(stream.value_or(0)),
         .address = ParsePointer(rows_.Get(Column::kAddress)).value_or(0)});
    if (peak) {
      pool->peak = std::max(pool->peak.value_or(0), peak->bytes);
    }
    return true;
  }

  Pool* PoolOf(std::string_view name) {
    const auto known = pools_.find(name);
    if (known != pools_.end()) {
      return &known->second;
    }
    return pools_.size() == kMaxLedgers ? nullptr : &pools_[std::string(name)];
  }

  std::uint32_t Intern(std::string_view text) {
    if (text.size() > limits_.string_bytes) {
      ThrowRead(ErrorCode::kLimit, 0, {}, "a text longer than the limit on strings",
                "--max string-bytes=SIZE raises it");
    }
    return texts_.Intern(std::as_bytes(std::span(text.data(), text.size())));
  }

  // From the outside to the inside: what the block is for, the lines of Python, the operator.
  std::uint32_t NodeOf() {
    const std::string_view name = rows_.Get(Column::kName);
    const std::array<std::uint32_t, 3> texts{
        Intern(rows_.Get(Column::kType)), Intern(rows_.Get(Column::kPythonStack)),
        Intern(name.empty() ? rows_.Get(Column::kTask) : name)};
    const auto [known, added] = nodes_.try_emplace({texts[0], texts[1], texts[2]}, 0);
    if (added) {
      const auto [type, stack, inner] = texts;
      const std::uint32_t outer = texts_[type].empty() ? 0 : code_.GetNode(0, type);
      const std::uint32_t around = AddFrames(outer, std::string(AsText(texts_[stack])));
      known->second = texts_[inner].empty() ? around : code_.GetNode(around, inner);
    }
    return known->second;
  }

  std::uint32_t AddFrames(std::uint32_t node, std::string_view frames) {
    while (!frames.empty()) {
      const std::size_t end = std::min(frames.find(kFrameEnd), frames.size());
      if (end > 0) {
        node = code_.GetNode(node, Intern(frames.substr(0, end)));
      }
      frames.remove_prefix(std::min(end + 1, frames.size()));
    }
    return node;
  }

  void AddTraces() {
    History history;
    history.streams = streams_.Take();
    for (auto& [name, pool] : pools_) {
      const DomainId domain(history.domains.size());
      history.domains.push_back({.name = "blocks"});
      Trace trace{.name = name.empty() ? "NPU" : name, .blocks = domain, .segments = domain};
      pool.ledger.MoveTo(history, trace, static_cast<std::uint8_t>(domain.value()));
      trace.lifetime_peak = pool.peak;
      history.traces.push_back(std::move(trace));
    }
    for (Event& event : history.events) {
      event.time = kNoTime;
    }
    builder_.SetHistory(std::move(history));
  }

  CsvRows& rows_;
  const Limits& limits_;
  RecordingBuilder& builder_;
  ByteInterner texts_;
  CodeStacks code_;
  KeyMap<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> nodes_;
  StreamTable streams_;
  std::map<std::string, Pool, std::less<>> pools_;
  std::uint64_t inner_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace

void ReadBlocks(CsvRows& rows, const Limits& limits, RecordingBuilder& builder) {
  BlockReader(rows, limits, builder).Read();
  builder.AddBlindSpot("when", "stamps count calls of the allocator and tasks, not time");
  builder.AddBlindSpot("what CANN and HCCL take from the device",
                       "beside the allocator: npu_module_mem.csv of MindSpore's profiler has it");
}

}  // namespace memtool::formats::ascend
