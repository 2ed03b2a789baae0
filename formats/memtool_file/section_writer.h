// Sections of the container, written as they are finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "memtool/formats/writer.h"
#include "memtool_file/column_packer.h"
#include "memtool_file/layout.h"
#include "memtool_file/tables.h"
#include "memtool_file/words.h"

namespace memtool::formats::memtool_file {

class SectionWriter {
 public:
  explicit SectionWriter(const ByteSink& sink) : sink_(sink) {}

  Result<void> Header();
  // Begins a section; its columns come next.
  ColumnPacker& Start(Table table, std::size_t rows);
  // Ends it and hands it to the sink.
  Result<void> Finish();
  // The section that marks the file as complete.
  Result<void> End();

 private:
  const ByteSink& sink_;
  ColumnPacker columns_;
  std::string bytes_;
  std::uint32_t sections_ = 0;
};

// Each column of `Row` from all rows.
template <class Row>
class RowPacker {
 public:
  RowPacker(ColumnPacker& columns, std::span<const Row> rows) : columns_(columns), rows_(rows) {}

  template <class Member, class Owner>
  void operator()(std::uint32_t number, const char* /*name*/, Member Owner::*member) {
    Pack<Member>(number, [member](const Row& row) -> const Member& { return row.*member; });
  }
  void Whole(std::uint32_t number, const char* /*name*/) {
    Pack<Row>(number, [](const Row& row) -> const Row& { return row; });
  }

 private:
  template <class Member, class Get>
  void Pack(std::uint32_t number, const Get& get) {
    if constexpr (std::is_same_v<Member, std::string>) {
      std::vector<std::string_view> texts;
      texts.reserve(rows_.size());
      for (const Row& row : rows_) {
        texts.emplace_back(get(row));
      }
      columns_.Texts(number, texts);
    } else if constexpr (IsOptional<Member>::value) {
      Words(number,
            [&get](const Row& row) { return std::uint64_t{get(row).has_value() ? 1U : 0U}; });
      Words(number + 1, [&get](const Row& row) { return get(row) ? ToWord(*get(row)) : 0; });
    } else {
      Words(number, [&get](const Row& row) { return ToWord(get(row)); });
    }
  }
  template <class Get>
  void Words(std::uint32_t number, const Get& get) {
    std::vector<std::uint64_t> words;
    words.reserve(rows_.size());
    for (const Row& row : rows_) {
      words.push_back(get(row));
    }
    columns_.Numbers(number, words);
  }

  ColumnPacker& columns_;
  std::span<const Row> rows_;
};

template <class Row>
void PackRows(ColumnPacker& columns, std::span<const Row> rows) {
  RowPacker<Row> packer(columns, rows);
  Describe(packer, static_cast<const Row*>(nullptr));
}

// How much text a row has: sections are cut by it.
template <class Row>
class TextCounter {
 public:
  explicit TextCounter(const Row& row) : row_(row) {}

  template <class Member, class Owner>
  void operator()(std::uint32_t /*number*/, const char* /*name*/, Member Owner::*member) {
    if constexpr (std::is_same_v<Member, std::string>) {
      bytes_ += (row_.*member).size();
    }
  }
  void Whole(std::uint32_t /*number*/, const char* /*name*/) {
    if constexpr (std::is_same_v<Row, std::string>) {
      bytes_ += row_.size();
    }
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  const Row& row_;
  std::size_t bytes_ = 0;
};

template <class Row>
std::size_t TextBytes(const Row& row) {
  TextCounter<Row> counter(row);
  Describe(counter, static_cast<const Row*>(nullptr));
  return counter.bytes();
}

}  // namespace memtool::formats::memtool_file
