// Rows of structs from the columns of a section.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "memtool_file/section_reader.h"
#include "memtool_file/tables.h"
#include "memtool_file/words.h"

namespace memtool::formats::memtool_file {

// A word of column `name` as a value. Throws ReadError when it is none.
template <class T>
T ToValue(const SectionReader& in, const Known& known, const char* name, std::uint64_t word) {
  T value{};
  if (!FromWord(word, known, value)) {
    in.Refuse(name, fmt::format("holds {}, which it cannot", word));
  }
  return value;
}

template <class Row>
class RowUnpacker {
 public:
  RowUnpacker(SectionReader& in, const Known& known, std::vector<Row>& rows)
      : in_(in), known_(known), rows_(rows) {}

  template <class Member, class Owner>
  void operator()(std::uint32_t number, const char* name, Member Owner::*member) {
    Unpack<Member>(number, name, [member](Row& row) -> Member& { return row.*member; });
  }
  void Whole(std::uint32_t number, const char* name) {
    Unpack<Row>(number, name, [](Row& row) -> Row& { return row; });
  }

 private:
  template <class Member, class Get>
  void Unpack(std::uint32_t number, const char* name, const Get& get) {
    if constexpr (std::is_same_v<Member, std::string>) {
      const auto& texts = in_.Texts(number, name, rows_.size());
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        get(rows_[i]) = texts[i];
      }
    } else if constexpr (IsOptional<Member>::value) {
      std::vector<std::uint64_t> there;
      in_.Numbers(number, name, rows_.size(), there);
      in_.Numbers(number + 1, name, rows_.size(), words_);
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (there[i] != 0) {
          get(rows_[i]) = ToValue<typename Member::value_type>(in_, known_, name, words_[i]);
        }
      }
    } else {
      in_.Numbers(number, name, rows_.size(), words_);
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        get(rows_[i]) = ToValue<Member>(in_, known_, name, words_[i]);
      }
    }
  }

  SectionReader& in_;
  const Known& known_;
  std::vector<Row>& rows_;
  std::vector<std::uint64_t> words_;
};

// `count` rows of the section that `in` stands at.
template <class Row>
std::vector<Row> UnpackRows(SectionReader& in, const Known& known, std::uint64_t count) {
  std::vector<Row> rows(static_cast<std::size_t>(count));
  RowUnpacker<Row> unpacker(in, known, rows);
  Describe(unpacker, static_cast<const Row*>(nullptr));
  return rows;
}

}  // namespace memtool::formats::memtool_file
