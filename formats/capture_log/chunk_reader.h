// The chunks of a log, one after the other. Damage becomes a diagnostic, and what lies around it is
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "../../capture/wire.h"
#include "capture_log/decoder.h"
#include "memtool/formats/byte_window.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::capture_log {

class ChunkReader {
 public:
  // `in` is positioned after the header.
  ChunkReader(ByteWindow& in, const wire::Header& header, RecordingBuilder& builder,
              Decoder& decoder)
      : in_(in), header_(header), builder_(builder), decoder_(decoder) {}

  // To the last committed byte, or the end of the file where that comes first.
  void ReadAll();

 private:
  void ReadOne(std::span<const std::byte> bytes, std::uint64_t offset);
  void Decode(std::span<const std::byte> records, std::uint64_t offset, std::uint64_t base_time,
              bool cut);
  void Damage(const char* code, std::string message, std::uint64_t offset);

  ByteWindow& in_;
  const wire::Header& header_;
  RecordingBuilder& builder_;
  Decoder& decoder_;
};

}  // namespace memtool::formats::capture_log
