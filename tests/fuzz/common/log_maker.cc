#include "common/log_maker.h"

#include <algorithm>
#include <cstring>

#include "../../capture/wire.h"

namespace memtool::fuzz {

namespace {

void Put(std::vector<std::byte>& to, const void* from, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(from);
  to.insert(to.end(), bytes, bytes + size);
}

std::uint32_t Checksum(const std::byte* records, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as the checksum takes them.
  return wire::Crc32cPortable(reinterpret_cast<const unsigned char*>(records), size);
}

}  // namespace

void LogMaker::Open() {
  key_ = attributes_ = 0;
  stack_ = false;
  const wire::ChunkHeader chunk{.magic = wire::kChunkMagic,
                                .sequence = static_cast<std::uint32_t>(chunks_.size()),
                                .used = 0,
                                .crc = 0,
                                .base_time = time_,
                                .reserved = 0};
  Put(chunks_.emplace_back(), &chunk, sizeof chunk);
}

void LogMaker::Seal() {
  std::vector<std::byte>& bytes = chunks_.back();
  wire::ChunkHeader chunk{};
  std::memcpy(&chunk, bytes.data(), sizeof chunk);
  chunk.used = static_cast<std::uint32_t>(bytes.size() - sizeof chunk);
  chunk.crc = Checksum(bytes.data() + sizeof chunk, chunk.used);
  std::memcpy(bytes.data(), &chunk, sizeof chunk);
}

void LogMaker::NextChunk() {
  if (chunks_.back().size() == sizeof(wire::ChunkHeader)) {
    return;  // no writer leaves a chunk empty: that is what an open one looks like
  }
  Seal();
  chunks_.back().resize(wire::kChunkBytes);
  Open();
}

void LogMaker::Varint(std::uint64_t value) {
  std::vector<std::byte>& bytes = chunks_.back();
  for (; value >= 0x80; value >>= 7U) {
    bytes.push_back(static_cast<std::byte>(value | 0x80U));
  }
  bytes.push_back(static_cast<std::byte>(value));
}

void LogMaker::Record(std::uint8_t tag, std::initializer_list<std::uint64_t> numbers) {
  constexpr auto kFirstEvent = static_cast<std::uint8_t>(wire::Tag::kFailed);
  // Tag, two numbers, and those of the call.
  constexpr std::size_t kRoom = 4096;
  if (chunks_.back().size() + kRoom > wire::kChunkBytes) {
    NextChunk();
  }
  chunks_.back().push_back(static_cast<std::byte>(tag));
  for (const std::uint64_t number : numbers) {
    Varint(number);
  }
  if (tag >= kFirstEvent) {
    time_ += *numbers.begin();
    ++events_;
  }
}

void LogMaker::Record(std::uint8_t tag, std::initializer_list<std::uint64_t> numbers,
                      std::string_view text) {
  Record(tag, numbers);
  Varint(text.size());
  Put(chunks_.back(), text.data(), text.size());
}

void LogMaker::Compact(std::uint8_t bits, std::uint64_t step, std::uint64_t attributes,
                       std::uint64_t key) {
  constexpr std::size_t kRoom = 128;
  if (chunks_.back().size() + kRoom > wire::kChunkBytes) {
    NextChunk();
  }
  if (attributes != attributes_) {
    bits |= wire::kCompactNewAttributes;
  }
  const std::uint64_t difference = key - key_;
  const auto change = static_cast<std::int64_t>(difference);
  const bool far = (difference & ((1U << wire::kKeyShift) - 1)) != 0;
  bits |= far ? wire::kCompactFarKey : 0;
  chunks_.back().push_back(static_cast<std::byte>(bits | wire::kCompact));
  Varint(step);
  if (attributes != attributes_) {
    Varint(attributes);
  }
  Varint(wire::ZigZag(far ? change : change >> wire::kKeyShift));
  time_ += step;
  attributes_ = attributes;
  key_ = key;
  ++events_;
}

void LogMaker::Alloc(std::uint64_t step, std::uint64_t attributes, std::uint64_t key,
                     std::uint64_t size) {
  if (chunks_.back().size() + 128 > wire::kChunkBytes) {
    NextChunk();
  }
  const bool odd = (size & ((1U << wire::kSizeShift) - 1)) != 0;
  const bool is_known = !stack_;
  const auto bits = static_cast<std::uint8_t>((odd ? wire::kCompactOddSize : 0) |
                                              (is_known ? wire::kCompactNewStack : 0));
  Compact(bits, step, attributes, key);
  Varint(odd ? size : size >> wire::kSizeShift);
  if (is_known) {
    Varint(0);
    stack_ = true;
  }
}

void LogMaker::Free(std::uint64_t step, std::uint64_t attributes, std::uint64_t key) {
  Compact(wire::kCompactFree, step, attributes, key);
}

std::vector<std::byte> LogMaker::Finish(bool sealed) {
  if (sealed) {
    Seal();
  }
  std::vector<std::byte> log(wire::kHeaderBytes);
  for (const std::vector<std::byte>& chunk : chunks_) {
    Put(log, chunk.data(), chunk.size());
  }
  wire::Header header{};
  header.magic = wire::kMagic;
  header.version = wire::kVersion;
  header.byte_order = wire::kByteOrder;
  header.header_bytes = wire::kHeaderBytes;
  header.chunk_bytes = wire::kChunkBytes;
  header.committed = log.size();
  header.events = events_;
  header.flags = sealed ? wire::kEndedCleanly : 0;
  std::memcpy(log.data(), &header, sizeof header);
  return log;
}

bool RepairChecksums(std::uint8_t* data, std::size_t size) {
  if (size < wire::kHeaderBytes + sizeof(wire::ChunkHeader) ||
      std::memcmp(data, wire::kMagic.data(), wire::kMagic.size()) != 0) {
    return false;
  }
  for (std::size_t at = wire::kHeaderBytes; at + sizeof(wire::ChunkHeader) <= size;
       at += wire::kChunkBytes) {
    wire::ChunkHeader chunk{};
    std::memcpy(&chunk, data + at, sizeof chunk);
    const std::size_t left =
        std::min(size - at, std::size_t{wire::kChunkBytes}) - sizeof(wire::ChunkHeader);
    if (chunk.used == 0) {
      continue;  // open
    }
    chunk.used = static_cast<std::uint32_t>(std::min<std::size_t>(chunk.used, left));
    chunk.crc = wire::Crc32cPortable(data + at + sizeof chunk, chunk.used);
    std::memcpy(data + at, &chunk, sizeof chunk);
  }
  return true;
}

}  // namespace memtool::fuzz
