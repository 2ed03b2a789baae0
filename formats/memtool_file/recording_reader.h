// The tables of a container into a Recording.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "memtool/formats/limits.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool_file/event_unpacker.h"
#include "memtool_file/row_unpacker.h"
#include "memtool_file/section_reader.h"
#include "memtool_file/tables.h"
#include "memtool_file/words.h"

namespace memtool::formats::memtool_file {

class RecordingReader {
 public:
  RecordingReader(ByteWindow& in, const Limits& limits) : in_(in, limits), limits_(limits) {}

  Result<Recording> Run();

 private:
  void Section();
  void SymbolsSection(Table table);
  void ListSection(Table table);
  void HistorySection(Table table);

  template <class Row>
  std::vector<Row> Rows() {
    return UnpackRows<Row>(in_, known_, in_.rows());
  }
  template <class Row>
  void Append(std::vector<Row>& to);
  // The lengths of lists, as where each begins; one more than there are rows.
  std::vector<std::size_t> Begins(std::size_t bytes_of_item);

  void ReadAbout();
  void ReadStrings();
  void ReadLocations();
  void ReadStacks();
  void ReadLabelSets();
  void ReadSamples();
  void ReadBreakdowns();
  void TakeAbout();
  Result<Recording> Finish();

  SectionReader in_;
  const Limits& limits_;
  RecordingBuilder builder_;
  Known known_;
  std::uint32_t last_ = 0;  // kind of the section before
  About about_;
  std::vector<SampleType> types_;
  Profile samples_;
  History history_;
  EventUnpacker events_;
  AllocatorState state_;
  std::map<std::string, std::uint64_t> skipped_;
};

}  // namespace memtool::formats::memtool_file
