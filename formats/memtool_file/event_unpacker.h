// Columns into the events of a history.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memtool/profile/model/history.h"
#include "memtool_file/event_links.h"
#include "memtool_file/section_reader.h"
#include "memtool_file/words.h"

namespace memtool::formats::memtool_file {

class EventUnpacker {
 public:
  // Appends the events of the section that `in` stands at; sections in their order.
  void Unpack(SectionReader& in, const Known& known, bool labels, History& history);

 private:
  // A column and how far it has been used.
  struct Column {
    std::vector<std::uint64_t> values;
    std::size_t at = 0;
    std::uint64_t Next() { return values[at++]; }
  };

  void ReadColumns(SectionReader& in, bool labels);
  void Read(SectionReader& in, EventColumn column, const char* name, std::uint64_t count);
  std::uint32_t Other(const SectionReader& in, std::uint64_t of);
  void Add(const SectionReader& in, const Known& known, std::uint64_t kind, History& history);
  void AddLabels(const SectionReader& in, const Known& known, bool opens, std::uint32_t other,
                 History& history);
  Column& Of(EventColumn column) { return columns_[column]; }

  ActionRows rows_;
  std::array<Column, kOtherLabels + 1> columns_;
  bool labels_ = false;
};

}  // namespace memtool::formats::memtool_file
