// Turns records into definitions and calls. A record has an effect only when the whole of it is
// there.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "capture_log/calls/call_interpreter.h"
#include "capture_log/log/definitions.h"
#include "support/byte_cursor.h"

namespace memtool::formats::capture_log {

class Decoder {
 public:
  Decoder(Definitions& definitions, CallInterpreter& calls)
      : definitions_(definitions), calls_(calls) {}

  // The records of one chunk. Throws ReadError at the first that is cut off or makes no sense;
  // those before it count.
  void Chunk(std::span<const std::byte> records, std::uint64_t offset, std::uint64_t base_time);

  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  void Record(ByteCursor& in);
  void Definition(wire::Tag tag, ByteCursor& in);
  void Mapping(ByteCursor& in);
  void Frame(ByteCursor& in);
  void Code(ByteCursor& in);
  void MemoryDomain(ByteCursor& in);
  void AttributeSet(ByteCursor& in);
  void Compact(std::uint8_t first, ByteCursor& in);
  void GraphNode(ByteCursor& in);
  void Event(wire::Tag tag, ByteCursor& in);
  Call Begin(ByteCursor& in, bool with_attributes = true);
  std::string Text(ByteCursor& in, std::size_t most = wire::kMaxText);
  void Unique(bool is_new, const ByteCursor& in);

  Definitions& definitions_;
  CallInterpreter& calls_;
  std::map<std::uint64_t, std::uint64_t> loaded_;  // start of a mapping now in place -> its id
  // Differences within the chunk.
  std::uint64_t time_ = 0;
  std::uint64_t key_ = 0;
  std::uint64_t address_ = 0;
  std::uint64_t attributes_ = 0;
  std::uint64_t stack_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace memtool::formats::capture_log
