// The records of a .wandb file: blocks as leveldb's log has them, but with zlib's CRC-32, and a
// header before the first.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "memtool/profile/model/recording.h"

namespace memtool::formats::metrics {

class LogBlocks {
 public:
  // Whether a file begins like this.
  static bool StartsFile(std::span<const std::byte> head);

  LogBlocks(ByteWindow& in, const Limits& limits) : in_(in), limits_(limits) {}

  // The bytes of the next record, valid until the next call; none at the end. Throws ReadError for
  // a file that begins otherwise.
  std::optional<std::span<const std::byte>> Next();
  // Where in the input that record begins.
  [[nodiscard]] std::uint64_t offset() const { return record_; }
  // How far the input was read.
  [[nodiscard]] std::uint64_t end() const { return in_.offset(); }
  // What was lost on the way.
  void AddDiagnostics(Recording& recording) const;

 private:
  enum class Piece : std::uint8_t { kNone, kFull, kFirst, kMiddle, kLast };

  void Start();
  bool LoadBlock();
  bool FindHeader();
  Piece NextPiece();
  static bool Holds(std::span<const std::byte> piece, std::size_t size, std::uint32_t checksum);
  Piece TakePiece(std::span<const std::byte> bytes, Piece piece);
  void LoseBlock();
  bool Follows(Piece piece);
  bool Join(Piece piece);

  ByteWindow& in_;
  const Limits& limits_;
  std::vector<std::byte> block_;
  std::size_t at_ = 0;                // in block_
  std::uint64_t base_ = 0;            // of block_ in the input
  std::span<const std::byte> piece_;  // of a record, in block_
  std::vector<std::byte> joined_;
  std::uint64_t record_ = 0;
  bool started_ = false;
  bool open_ = false;      // joined_ has the beginning of a record
  bool is_large_ = false;  // which is beyond the limit
  bool cut_ = false;
  std::uint64_t damaged_ = 0;  // blocks of which the rest was left out
  std::uint64_t lost_ = 0;     // records of which a piece is missing
  std::uint64_t large_ = 0;    // records beyond the limit
  std::optional<std::uint64_t> first_damage_;
};

}  // namespace memtool::formats::metrics
