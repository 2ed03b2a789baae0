// The hot half of the pprof reader: sample messages into columns. Stacks are interned by the raw
// bytes of their location ids and label sets by those of their label messages, so that varints are
// decoded once per distinct stack and not once per sample.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "memtool/profile/base/ids.h"
#include "pprof/stack_interner.h"
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

  // Per sample.
  RowVector<StackId>& stacks() { return stacks_; }
  // Per sample a row of label_bytes(). Typed as what it becomes, so that the column need not be
  // copied.
  RowVector<LabelSetId>& label_sets() { return label_sets_; }
  std::vector<RowVector<std::int64_t>>& values() { return values_; }
  StackInterner& distinct_stacks() { return distinct_stacks_; }
  std::vector<TypeSums>& sums() { return sums_; }
  ByteInterner& label_bytes() { return label_bytes_; }  // label fields with tag and length

 private:
  struct Parts;
  bool AddPlain(std::span<const std::byte> bytes, std::uint64_t offset);
  void AddScattered(ByteCursor message);
  void Append(std::span<const std::byte> locations, std::uint32_t labels);
  std::uint32_t InternLabels(std::span<const std::byte> bytes);
  void AddValue(Parts& parts, std::uint64_t value, std::uint64_t offset);
  void AddPackedValues(Parts& parts, ByteCursor cursor);
  void Sum(std::span<const StackId> stacks);

  std::array<std::span<const std::byte>, StackInterner::kBatch> pending_stacks_{};
  std::size_t pending_ = 0;
  // Samples share few label sets: ids + 1 of those seen last, by what their bytes end with.
  std::array<std::uint32_t, 256> recent_labels_{};

  StackInterner distinct_stacks_;
  ByteInterner label_bytes_;
  RowVector<StackId> stacks_;
  RowVector<LabelSetId> label_sets_;
  std::vector<RowVector<std::int64_t>> values_;
  std::vector<TypeSums> sums_;  // as values_; by stack those of the last type, mostly asked for
  bool any_ = false;
};

}  // namespace memtool::formats::pprof
