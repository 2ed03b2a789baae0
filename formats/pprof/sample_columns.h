// The hot half of the pprof reader: sample messages into columns. A stack is kept as the raw bytes
// of its location ids and a label set as the raw bytes of its label messages, both interned by
// hash, so that varints are decoded once per distinct stack and not once per sample.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "memtool/profile/base/ids.h"
#include "support/byte_cursor.h"
#include "support/byte_interner.h"

namespace memtool::formats::pprof {

class SampleColumns {
 public:
  // Reads one Sample message, at `offset` of the input. The bytes must stay in place until the next
  // Flush().
  void Add(std::span<const std::byte> message, std::uint64_t offset);
  // Interns what is pending; before the bytes of added samples move.
  void Flush();

  [[nodiscard]] std::size_t size() const { return label_sets_.size(); }
  // Values per sample; 0 when there is no sample.
  [[nodiscard]] std::size_t value_count() const { return values_.size(); }

  // Rows of stack_bytes() and label_bytes(), per sample. Typed as what they become, so that the
  // columns need not be copied.
  RowVector<StackId>& stacks() { return stacks_; }
  RowVector<LabelSetId>& label_sets() { return label_sets_; }
  std::vector<RowVector<std::int64_t>>& values() { return values_; }
  ByteInterner& stack_bytes() { return stack_bytes_; }  // packed varints of location ids
  ByteInterner& label_bytes() { return label_bytes_; }  // label fields with tag and length
  // Location ids over all distinct stacks.
  [[nodiscard]] std::uint64_t frame_count() const { return frame_count_; }

 private:
  struct Parts;
  bool AddPlain(std::span<const std::byte> bytes, std::uint64_t offset);
  void AddScattered(ByteCursor message);
  void Append(std::span<const std::byte> locations, std::uint32_t labels);
  std::uint32_t InternLabels(std::span<const std::byte> bytes);
  void AddValue(Parts& parts, std::uint64_t value, std::uint64_t offset);
  void AddPackedValues(Parts& parts, ByteCursor cursor);

  std::array<std::span<const std::byte>, ByteInterner::kBatch> pending_stacks_{};
  std::size_t pending_ = 0;
  // Samples share few label sets: ids + 1 of those seen last, by what their bytes end with.
  std::array<std::uint32_t, 256> recent_labels_{};

  ByteInterner stack_bytes_;
  ByteInterner label_bytes_;
  std::uint64_t frame_count_ = 0;
  std::uint32_t counted_ = 0;  // of the distinct stacks
  RowVector<StackId> stacks_;
  RowVector<LabelSetId> label_sets_;
  std::vector<RowVector<std::int64_t>> values_;
  bool any_ = false;
};

}  // namespace memtool::formats::pprof
