// Rows of a log under construction: equal ones are added up as they come, because a log with
// millions of rows has only thousands of tags. Rows wait in batches, so that the cache misses of
// looking them up overlap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/formats/limits.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/byte_interner.h"
#include "support/text/lines.h"

namespace memtool::formats::mxnet {

struct Row {
  std::string_view tag;
  std::int32_t device = -1;    // -1: the form does not say
  bool reused = false;         // came out of the pool
  bool unrounded = false;      // the pool did not round it, as it does device memory
  std::string_view structure;  // kScoped: "param grad"; empty otherwise
  std::int64_t requested = 0;  // bytes; in forms without it the same as `actual`
  std::int64_t actual = 0;     // bytes
  double mebibytes = 0;        // headerless forms: the number as it is written
};

class RowTable {
 public:
  // `lines` has the position of the row that is added.
  RowTable(const Lines& lines, const Limits& limits) : lines_(lines), limits_(limits) {}

  // Throws ReadError when a tag is longer, or has more scopes, than the limits allow. Nothing of
  // `row` is kept.
  void Add(const Row& row);
  // Once, after all rows.
  void Finish() { AddBatch(); }

  // All that follows is known after Finish().
  [[nodiscard]] std::int64_t pinned_bytes() const { return pinned_bytes_; }
  [[nodiscard]] std::uint64_t pinned_rows() const { return pinned_rows_; }

  // Fills the profile: allocations/count, requested/bytes when `with_requested`, actual/bytes. A
  // sample's stack is its tag's scopes ("a:b:c"), its labels are tag, device, and what else the
  // form says. `mebibytes`: values are those of Row::mebibytes, rounded to bytes row by row.
  void Fill(RecordingBuilder& builder, bool with_requested, bool mebibytes) const;

 private:
  // What distinguishes rows, without padding, because its bytes are interned.
  struct Key {
    std::uint32_t tag = 0;
    std::uint32_t structure = 0;
    std::int32_t device = -1;
    std::uint32_t flags = 0;
  };
  struct Sum {
    Key key;
    std::int64_t count = 0;
    std::int64_t requested = 0;
    std::int64_t actual = 0;
    std::int64_t from_mebibytes = 0;
  };
  // A row that waits: its tag is bytes of waiting_tags_.
  struct Waiting {
    Key key;
    bool unrounded = false;
    std::size_t tag_begin = 0;
    std::size_t tag_end = 0;
    std::int64_t requested = 0;
    std::int64_t actual = 0;
    std::int64_t from_mebibytes = 0;
  };
  void CheckTag(std::string_view text) const;
  void AddBatch();
  void FindTags();
  // Adds a row to the sum of its key, or to another one where the range of int64 ends.
  void AddTo(std::uint32_t& current, const Waiting& row);
  [[nodiscard]] LabelSetId MakeLabels(RecordingBuilder& builder, const Key& key) const;
  StackId GetStack(RecordingBuilder& builder, std::string_view tag,
                   std::map<std::string, LocationId, std::less<>>& scopes) const;

  const Lines& lines_;
  const Limits& limits_;
  ByteInterner tags_;
  ByteInterner structures_;
  ByteInterner keys_;
  std::array<Waiting, ByteInterner::kBatch> waiting_;
  std::size_t waiting_count_ = 0;
  std::string waiting_tags_;
  std::vector<char> image_io_;          // per tag: its rows are pinned host memory when unrounded
  std::vector<std::uint32_t> current_;  // per key: the last of its sums
  std::vector<Sum> sums_;               // one per key, and more where the range of int64 ends
  std::uint64_t pinned_rows_ = 0;
  std::int64_t pinned_bytes_ = 0;
};

}  // namespace memtool::formats::mxnet
