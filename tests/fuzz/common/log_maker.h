// Writes capture logs as FORMAT.md describes them: for targets whose input is what happened, not
// the bytes that tell of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace memtool::fuzz {

class LogMaker {
 public:
  LogMaker() { Open(); }

  // The tag, then varints.
  void Record(std::uint8_t tag, std::initializer_list<std::uint64_t> numbers);
  // The same with a text behind them.
  void Record(std::uint8_t tag, std::initializer_list<std::uint64_t> numbers,
              std::string_view text);
  // The compact forms; `step` is the time since the last event, in ns.
  void Alloc(std::uint64_t step, std::uint64_t attributes, std::uint64_t key, std::uint64_t size);
  void Free(std::uint64_t step, std::uint64_t attributes, std::uint64_t key);
  // Time of the next events is counted from here on; sealed with its checksum.
  void NextChunk();

  // The whole file. The last chunk stays open unless `sealed`.
  std::vector<std::byte> Finish(bool sealed);

 private:
  void Open();
  void Seal();
  void Varint(std::uint64_t value);
  void Compact(std::uint8_t bits, std::uint64_t step, std::uint64_t attributes, std::uint64_t key);

  std::vector<std::vector<std::byte>> chunks_;
  std::uint64_t events_ = 0;
  std::uint64_t time_ = 0;
  std::uint64_t key_ = 0;         // of the last compact event of the chunk
  std::uint64_t attributes_ = 0;  // the same; 0 = none yet
  bool stack_ = false;            // whether the chunk has told a stack
};

// Whether the bytes are a log with whole chunks; then writes their lengths and checksums anew, so
// that what was changed in them is read.
bool RepairChecksums(std::uint8_t* data, std::size_t size);

}  // namespace memtool::fuzz
