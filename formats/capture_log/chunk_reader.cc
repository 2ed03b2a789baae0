#include "capture_log/chunk_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/read_error.h"

namespace memtool::formats::capture_log {

namespace {

std::uint32_t Crc(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  return wire::Crc32cPortable(data, bytes.size());
}

std::uint64_t ChunkNumber(std::uint64_t offset) {
  return (offset - wire::kHeaderBytes) / wire::kChunkBytes;
}

}  // namespace

void ChunkReader::ReadAll() {
  while (in_.offset() < header_.committed) {
    const std::uint64_t offset = in_.offset();
    auto bytes = in_.Fill(wire::kChunkBytes);
    bytes = bytes.first(std::min(bytes.size(), wire::kChunkBytes));
    if (bytes.empty()) {
      break;
    }
    ReadOne(bytes, offset);
    in_.Advance(bytes.size());
  }
  if (const std::uint64_t end = in_.offset(); end < header_.committed) {
    Damage("truncated",
           fmt::format("the file ends {} bytes before its last record", header_.committed - end),
           end);
  }
}

void ChunkReader::Damage(const char* code, std::string message, std::uint64_t offset) {
  builder_.AddDiagnostic({.severity = Severity::kDamage,
                          .code = code,
                          .message = std::move(message),
                          .offset = offset});
}

void ChunkReader::ReadOne(std::span<const std::byte> bytes, std::uint64_t offset) {
  wire::ChunkHeader chunk{};
  if (bytes.size() < sizeof chunk) {
    return;  // the cut is reported at the end
  }
  std::memcpy(&chunk, bytes.data(), sizeof chunk);
  const auto records = bytes.subspan(sizeof chunk);
  const bool last = header_.committed - offset <= wire::kChunkBytes;
  if (chunk.magic != wire::kChunkMagic ||
      chunk.used > records.size() + (wire::kChunkBytes - bytes.size())) {
    return Damage("lost_chunk", fmt::format("chunk {} is not one", ChunkNumber(offset)), offset);
  }
  if (chunk.used == 0 && !last) {
    return Damage("lost_chunk", fmt::format("chunk {} was never sealed", ChunkNumber(offset)),
                  offset);
  }
  const std::uint64_t used =
      chunk.used != 0 ? chunk.used : header_.committed - offset - sizeof chunk;
  const auto whole =
      records.first(static_cast<std::size_t>(std::min<std::uint64_t>(used, records.size())));
  if (chunk.used != 0 && whole.size() == chunk.used && Crc(whole) != chunk.crc) {
    return Damage("lost_chunk",
                  fmt::format("chunk {} fails its checksum: {} bytes of records are left out",
                              ChunkNumber(offset), chunk.used),
                  offset);
  }
  Decode(whole, offset + sizeof chunk, chunk.base_time, whole.size() < used);
}

void ChunkReader::Decode(std::span<const std::byte> records, std::uint64_t offset,
                         std::uint64_t base_time, bool cut) {
  try {
    decoder_.Chunk(records, offset, base_time);
  } catch (const ReadError& error) {
    if (error.error().code == ErrorCode::kLimit) {
      throw;
    }
    // A record at the cut is expected to be part of one.
    if (!cut || error.error().code != ErrorCode::kTruncated) {
      Damage("lost_records", "the rest of a chunk is left out: " + error.error().message,
             error.error().offset.value_or(offset));
    }
  }
}

}  // namespace memtool::formats::capture_log
