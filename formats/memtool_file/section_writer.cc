#include "memtool_file/section_writer.h"

#include <xxhash.h>

namespace memtool::formats::memtool_file {

namespace {

void AppendFixed(std::string& bytes, std::uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(value >> (8U * i)));
  }
}

// A fixed number is written over the zeros that kept its place.
void PutFixed(std::string& bytes, std::size_t at, std::uint64_t value, unsigned size) {
  std::string fixed;
  AppendFixed(fixed, value, size);
  bytes.replace(at, size, fixed);
}

constexpr std::size_t kSizeAt = 8;

}  // namespace

Result<void> SectionWriter::Header() {
  std::string header(kMagic);
  AppendFixed(header, kVersion, 4);
  AppendFixed(header, ::XXH3_64bits(header.data(), header.size()), 4);
  return sink_(header);
}

ColumnPacker& SectionWriter::Start(Table table, std::size_t rows) {
  bytes_.clear();
  AppendFixed(bytes_, static_cast<std::uint32_t>(table), 4);
  AppendFixed(bytes_, rows, 4);
  AppendFixed(bytes_, 0, 8);
  columns_.Start(table, &bytes_);
  return columns_;
}

Result<void> SectionWriter::Finish() {
  ++sections_;
  PutFixed(bytes_, kSizeAt, bytes_.size() - kSectionHeaderBytes, 8);
  AppendFixed(bytes_, ::XXH3_64bits(bytes_.data(), bytes_.size()), 8);
  return sink_(bytes_);
}

Result<void> SectionWriter::End() {
  Start(Table::kEnd, sections_);
  return Finish();
}

}  // namespace memtool::formats::memtool_file
