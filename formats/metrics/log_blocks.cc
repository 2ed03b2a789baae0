#include "metrics/log_blocks.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string>

#include "support/byte_cursor.h"
#include "support/read_error.h"

namespace memtool::formats::metrics {

namespace {

constexpr std::size_t kBlock = 32'768;
constexpr std::size_t kHeader = 7;       // of the file: what it is and a version
constexpr std::size_t kPieceHeader = 7;  // checksum, size, type
// ":W&B", the number 0xBEE1, version 0.
constexpr std::array<std::uint8_t, kHeader> kBegin = {':', 'W', '&', 'B', 0xE1, 0xBE, 0x00};

}  // namespace

bool LogBlocks::StartsFile(std::span<const std::byte> head) {
  return head.size() >= kHeader &&
         std::equal(kBegin.begin(), kBegin.end(), head.begin(),
                    [](std::uint8_t a, std::byte b) { return std::byte{a} == b; });
}

void LogBlocks::Start() {
  started_ = true;
  if (!StartsFile(in_.Fill(kHeader))) {
    ThrowRead(ErrorCode::kUnknownFormat, 0, {}, "this is no run file of W&B in a version known");
  }
  in_.Advance(kHeader);
}

// The header of the file counts as bytes of the first block.
bool LogBlocks::LoadBlock() {
  const std::size_t wanted = block_.empty() ? kBlock - kHeader : kBlock;
  base_ = in_.offset();
  auto bytes = in_.Fill(wanted);
  bytes = bytes.first(std::min(bytes.size(), wanted));
  block_.assign(bytes.begin(), bytes.end());
  at_ = 0;
  in_.Advance(bytes.size());
  return !bytes.empty();
}

// What follows in a block cannot be found once a size may be wrong.
void LogBlocks::LoseBlock() {
  first_damage_ = first_damage_.value_or(base_ + at_);
  ++damaged_;
  at_ = block_.size();
}

// Whether a piece's header follows in the block.
bool LogBlocks::FindHeader() {
  while (block_.size() - at_ < kPieceHeader) {
    const bool rest = at_ < block_.size() && block_.size() < kBlock - kHeader;
    if (!LoadBlock()) {
      cut_ = cut_ || rest;
      return false;
    }
  }
  return true;
}

// Sets piece_.
LogBlocks::Piece LogBlocks::NextPiece() {
  while (FindHeader()) {
    const std::span<const std::byte> left = std::span<const std::byte>(block_).subspan(at_);
    ByteCursor cursor(left, base_ + at_);
    const std::uint32_t checksum = cursor.Fixed32();
    const std::size_t size = cursor.Byte() | static_cast<std::size_t>(cursor.Byte()) << 8U;
    const std::uint8_t type = cursor.Peek();
    if (type == 0 && size == 0 && checksum == 0) {
      at_ = block_.size();  // not written yet
    } else if (size > left.size() - kPieceHeader && block_.size() < kBlock - kHeader &&
               in_.AtEnd()) {
      at_ = block_.size();
      cut_ = true;
    } else if (size > left.size() - kPieceHeader || !Holds(left, size, checksum)) {
      LoseBlock();
    } else {
      return TakePiece(left.subspan(kPieceHeader, size), static_cast<Piece>(type));
    }
  }
  return Piece::kNone;
}

// Whether the checksum is that of the type, which is one, and the bytes behind it.
bool LogBlocks::Holds(std::span<const std::byte> piece, std::size_t size, std::uint32_t checksum) {
  const auto summed = piece.subspan(kPieceHeader - 1, size + 1);
  const auto type = std::to_integer<std::uint8_t>(summed[0]);
  const auto crc =
      crc32(0, reinterpret_cast<const Bytef*>(summed.data()), static_cast<uInt>(summed.size()));
  return crc == checksum && type > 0 && type <= static_cast<std::uint8_t>(Piece::kLast);
}

LogBlocks::Piece LogBlocks::TakePiece(std::span<const std::byte> bytes, Piece piece) {
  piece_ = bytes;
  if (piece == Piece::kFull || piece == Piece::kFirst) {
    record_ = base_ + at_ + kPieceHeader;
  }
  at_ += kPieceHeader + bytes.size();
  return piece;
}

// A record that is open when another begins, or the file ends, lost its last piece; one that goes
// on without having begun its first. False: such a piece is left out.
bool LogBlocks::Follows(Piece piece) {
  const bool begins = piece == Piece::kFull || piece == Piece::kFirst;
  if (open_ && (begins || piece == Piece::kNone)) {
    cut_ = cut_ || piece == Piece::kNone;
    lost_ += begins ? 1 : 0;
    open_ = false;
  } else if (!open_ && !begins && piece != Piece::kNone) {
    lost_ += piece == Piece::kLast ? 1 : 0;
    return false;
  }
  return true;
}

// Of a record in several pieces. True with its last one, where all of it is within the limit.
bool LogBlocks::Join(Piece piece) {
  if (piece == Piece::kFirst) {
    open_ = true;
    is_large_ = false;
    joined_.clear();
  }
  is_large_ = is_large_ || joined_.size() + piece_.size() > limits_.record_bytes;
  if (!is_large_) {
    joined_.insert(joined_.end(), piece_.begin(), piece_.end());
  }
  if (piece != Piece::kLast) {
    return false;
  }
  open_ = false;
  large_ += is_large_ ? 1 : 0;
  return !is_large_;
}

std::optional<std::span<const std::byte>> LogBlocks::Next() {
  if (!started_) {
    Start();
  }
  while (true) {
    const Piece piece = NextPiece();
    if (!Follows(piece)) {
      continue;
    }
    if (piece == Piece::kNone) {
      return std::nullopt;
    }
    if (piece == Piece::kFull) {
      return piece_;
    }
    if (Join(piece)) {
      return joined_;
    }
  }
}

void LogBlocks::AddDiagnostics(Recording& recording) const {
  const auto add = [&](Severity severity, std::string code, std::string message,
                       std::uint64_t count, std::optional<std::uint64_t> offset = {}) {
    if (count > 0) {
      recording.diagnostics.push_back({.severity = severity,
                                       .code = std::move(code),
                                       .message = std::move(message),
                                       .offset = offset,
                                       .count = count});
    }
  };
  add(Severity::kDamage, "damaged_block",
      "blocks with a record whose checksum does not fit: their rest was left out", damaged_,
      first_damage_);
  add(Severity::kDamage, "lost_record", "records of which a part is missing: left out", lost_);
  add(Severity::kDamage, "large_record", "records longer than --max record-bytes: left out",
      large_);
  add(Severity::kWarning, "cut", "the last record is cut; it was being written", cut_ ? 1 : 0);
}

}  // namespace memtool::formats::metrics
