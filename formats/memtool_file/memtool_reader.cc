#include "memtool_file/memtool_reader.h"

#include "memtool_file/recording_reader.h"

namespace memtool::formats {

Match MemtoolReader::Sniff(std::span<const std::byte> head) const {
  return memtool_file::HasMagic(head) ? Match::kCertain : Match::kNo;
}

Result<Recording> MemtoolReader::Read(ByteWindow& in, const Limits& limits) const {
  return memtool_file::RecordingReader(in, limits).Run();
}

}  // namespace memtool::formats
