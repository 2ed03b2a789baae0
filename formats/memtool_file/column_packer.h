// Columns of numbers and text into the fewest bytes that a little time finds.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool_file/layout.h"

namespace memtool::formats::memtool_file {

// Appends columns to a payload. How the numbers of a column are coded is tried on a part of its
// first section and kept for the others.
class ColumnPacker {
 public:
  ColumnPacker();

  // Begins the columns of another table.
  void Start(Table table, std::string* payload) {
    table_ = table;
    payload_ = payload;
  }
  // A column of which every value is 0 is left out.
  void Numbers(std::uint32_t number, std::span<const std::uint64_t> values);
  // Two columns of one number: lengths, and all bytes in one.
  void Texts(std::uint32_t number, std::span<const std::string_view> texts);

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ::ZSTD_freeCCtx(context); }
  };
  using Key = std::pair<Table, std::uint32_t>;

  Coding Choose(std::uint32_t number, std::span<const std::uint64_t> values);
  void Varint(std::uint64_t value);
  void Head(std::uint32_t number, Coding coding, bool packed, std::uint64_t base);
  // The end of a column: its bytes, packed where that helps.
  void Body(std::uint32_t number, Coding coding, std::uint64_t base, std::uint64_t divisor,
            std::string_view bytes);
  // `bytes` in packed_; false where that is no shorter.
  bool Pack(std::string_view bytes, int level);

  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  Table table_ = Table::kEnd;
  std::string* payload_ = nullptr;
  std::map<Key, Coding> chosen_;
  std::vector<std::uint64_t> words_;
  std::string bytes_;
  std::string packed_;
};

}  // namespace memtool::formats::memtool_file
