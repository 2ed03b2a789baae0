#include "memtool_file/section_reader.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <new>
#include <utility>

#include "support/read_error.h"

namespace memtool::formats::memtool_file {

namespace {

// A block of zstd is at most 128 KiB, and takes four bytes at least.
constexpr std::uint64_t kMaxRowsPerByte = 32768;
constexpr std::uint64_t kBlock = std::uint64_t{128} << 10U;
constexpr std::uint64_t kMaxVarintLength = 10;
constexpr std::uint64_t kRowBytes = 16;  // at least, of a row in memory

std::uint64_t Sum(std::span<const std::byte> bytes) {
  return ::XXH3_64bits(bytes.data(), bytes.size());
}

std::string ToName(std::uint32_t table) {
  return table < kTableNames.size() ? std::string(kTableNames[table])
                                    : fmt::format("section of kind {}", table);
}

// Undoes what ColumnPacker did to the values of a column.
void Restore(Transform transform, std::uint64_t base, std::uint64_t divisor,
             std::vector<std::uint64_t>& words) {
  if (transform == Transform::kPlain) {
    for (std::uint64_t& word : words) {
      word = base + word * divisor;
    }
    return;
  }
  std::uint64_t value = base;
  std::uint64_t step = 0;
  const bool changes = transform == Transform::kChanges;
  for (std::uint64_t& word : words) {
    const std::uint64_t distance = UnZigZag(word) * divisor;
    step = changes ? step + distance : distance;
    value += step;
    word = value;
  }
}

void FromPlanes(std::span<const std::byte> bytes, std::vector<std::uint64_t>& words) {
  const std::size_t count = words.size();
  unsigned shift = 0;
  for (std::size_t begin = 0; begin < bytes.size(); begin += count, shift += 8) {
    const auto plane = bytes.subspan(begin, count);
    for (std::size_t i = 0; i < count; ++i) {
      words[i] |= static_cast<std::uint64_t>(plane[i]) << shift;
    }
  }
}

}  // namespace

bool HasMagic(std::span<const std::byte> head) {
  return AsText(head).substr(0, kMagic.size()) == kMagic;
}

SectionReader::SectionReader(ByteWindow& in, const Limits& limits)
    : in_(in), limits_(limits), context_(::ZSTD_createDCtx()) {
  if (context_ == nullptr) {
    throw std::bad_alloc();
  }
}

std::string SectionReader::Place(const char* name) const {
  return fmt::format("{}.{}", ToName(table_), name);
}

void SectionReader::Refuse(const char* name, std::string message) const {
  ThrowRead(ErrorCode::kMalformed, offset_, Place(name), std::move(message));
}

void SectionReader::Header() {
  const auto head = in_.Fill(kHeaderBytes);
  if (!HasMagic(head)) {
    ThrowRead(ErrorCode::kMalformed, 0, {}, "this is not a file of memtool convert --to memtool");
  }
  if (head.size() < kHeaderBytes) {
    ThrowRead(ErrorCode::kTruncated, head.size(), "header", "the file ends inside its header");
  }
  ByteCursor cursor(head.first(kHeaderBytes), 0);
  cursor.Skip(kMagic.size());
  const std::uint32_t version = cursor.Fixed32();
  const auto sum = static_cast<std::uint32_t>(Sum(head.first(kHeaderBytes - sizeof version)));
  if (cursor.Fixed32() != sum) {
    ThrowRead(ErrorCode::kMalformed, 0, "header", "fails its checksum: the file is damaged");
  }
  if (version != kVersion) {
    ThrowRead(ErrorCode::kUnsupported, kMagic.size(), "header",
              fmt::format("version {} of the container, written by a newer memtool; this one reads "
                          "version {}",
                          version, kVersion),
              "use that memtool, or convert the original again with this one");
  }
  in_.Advance(kHeaderBytes);
}

bool SectionReader::Next() {
  in_.Advance(std::exchange(pending_, 0));
  offset_ = in_.offset();
  const auto head = in_.Fill(kSectionHeaderBytes);
  if (head.size() < kSectionHeaderBytes) {
    ThrowRead(ErrorCode::kTruncated, in_.offset() + head.size(), {},
              fmt::format("the file ends after {} section{}, before its last one: it was cut",
                          sections_, sections_ == 1 ? "" : "s"));
  }
  ByteCursor cursor(head.first(kSectionHeaderBytes), offset_);
  table_ = cursor.Fixed32();
  rows_ = cursor.Fixed32();
  ReadPayload(cursor.Fixed64());
  if (static_cast<Table>(table_) != Table::kEnd) {
    ++sections_;
    return true;
  }
  if (rows_ != sections_) {
    Refuse("rows", fmt::format("{} sections were written, and {} are there", rows_, sections_));
  }
  in_.Advance(std::exchange(pending_, 0));
  if (!in_.AtEnd()) {
    ThrowRead(ErrorCode::kMalformed, in_.offset(), {}, "garbage after the last section");
  }
  return false;
}

void SectionReader::ReadPayload(std::uint64_t size) {
  if (size > limits_.record_bytes) {
    ThrowRead(
        ErrorCode::kLimit, offset_, ToName(table_),
        fmt::format("a section of {} bytes, and at most {} are read", size, limits_.record_bytes),
        "unless the file is damaged, lift it with --max record-bytes=SIZE");
  }
  const std::uint64_t whole = kSectionHeaderBytes + size + kChecksumBytes;
  const auto bytes = in_.Fill(static_cast<std::size_t>(whole));
  if (bytes.size() < whole) {
    ThrowRead(ErrorCode::kTruncated, offset_ + bytes.size(), ToName(table_),
              fmt::format("a section of {} bytes ends after {}: the file was cut, or is damaged",
                          whole, bytes.size()));
  }
  pending_ = static_cast<std::size_t>(whole);
  const auto summed = bytes.first(pending_ - kChecksumBytes);
  ByteCursor sum(bytes.first(pending_).last(kChecksumBytes), offset_ + summed.size());
  if (sum.Fixed64() != Sum(summed)) {
    ThrowRead(ErrorCode::kMalformed, offset_, ToName(table_),
              "the section fails its checksum: the file is damaged");
  }
  columns_.clear();
  ByteCursor cursor(summed.subspan(kSectionHeaderBytes), offset_ + kSectionHeaderBytes);
  while (!cursor.done()) {
    ReadColumn(cursor);
  }
  if (rows_ > kMaxRowCount && static_cast<Table>(table_) != Table::kEnd) {
    Refuse("rows", fmt::format("{} in one section, and at most {} are read", rows_, kMaxRowCount));
  }
  Charge(rows_, kRowBytes);
}

void SectionReader::ReadColumn(ByteCursor& cursor) {
  const std::uint64_t at = cursor.offset();
  Column column;
  const std::uint64_t number = cursor.Varint();
  const unsigned coding = cursor.Byte();
  column.number = static_cast<std::uint32_t>(number);
  column.coding = {.transform = static_cast<Transform>(coding & 3U),
                   .layout = static_cast<Layout>((coding >> 2U) & 3U)};
  column.packed = (coding & kPackedBit) != 0;
  column.base = cursor.Varint();
  if (number != column.number || (coding & ~unsigned{kCodingBits}) != 0 ||
      column.coding.transform > Transform::kChanges) {
    ThrowRead(ErrorCode::kMalformed, at, ToName(table_),
              fmt::format("column {} has the unknown coding {}", number, coding));
  }
  if (column.coding.layout != Layout::kConstant) {
    column.divisor = cursor.Varint();
    column.size = cursor.Varint();
    column.bytes = cursor.Take(cursor.Varint());
    const std::uint64_t packed = column.bytes.size();
    const bool plausible =
        column.packed ? column.size <= packed * kMaxRowsPerByte + kBlock : column.size == packed;
    if (!plausible) {
      ThrowRead(ErrorCode::kMalformed, at, ToName(table_),
                fmt::format("column {} claims {} bytes in {}", number, column.size, packed));
    }
  }
  if (!columns_.empty() && column.Order() <= columns_.back().Order()) {
    ThrowRead(ErrorCode::kMalformed, at, ToName(table_),
              fmt::format("column {} comes out of its order", number));
  }
  Charge(1, sizeof column);
  columns_.push_back(column);
}

std::size_t SectionReader::Unread() const {
  return static_cast<std::size_t>(
      std::count_if(columns_.begin(), columns_.end(), [](const Column& one) { return !one.read; }));
}

SectionReader::Column* SectionReader::Find(std::uint32_t number, bool text) {
  const std::uint64_t order = GetOrder(number, text);
  const auto found = std::lower_bound(
      columns_.begin(), columns_.end(), order,
      [](const Column& column, std::uint64_t wanted) { return column.Order() < wanted; });
  if (found == columns_.end() || found->Order() != order) {
    return nullptr;
  }
  found->read = true;
  return &*found;
}

void SectionReader::Charge(std::uint64_t rows, std::uint64_t bytes_of_row) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(rows, bytes_of_row, &bytes) ||
      __builtin_add_overflow(charged_, bytes, &charged_) || charged_ > limits_.unpacked_bytes) {
    ThrowRead(ErrorCode::kLimit, offset_, ToName(table_),
              fmt::format("unpacks to more than {} bytes", limits_.unpacked_bytes),
              "lift it with --max unpacked-bytes=SIZE");
  }
  if (charged_ > limits_.ratio_free_bytes &&
      charged_ / std::max<std::uint64_t>(limits_.ratio, 1) > in_.offset() + pending_) {
    ThrowRead(ErrorCode::kLimit, offset_, ToName(table_),
              fmt::format("unpacks to {} bytes from {}, more than {} times its size", charged_,
                          in_.offset() + pending_, limits_.ratio),
              "probably a decompression bomb; lift it with --max ratio=N");
  }
}

std::span<const std::byte> SectionReader::Unpacked(const Column& column, const char* name) {
  if (!column.packed) {
    return column.bytes;
  }
  Charge(column.size, 1);
  if (column.size > unpacked_.size()) {
    unpacked_.resize(static_cast<std::size_t>(column.size));
  }
  const auto size = static_cast<std::size_t>(column.size);
  const std::size_t made = ::ZSTD_decompressDCtx(context_.get(), unpacked_.data(), size,
                                                 column.bytes.data(), column.bytes.size());
  if (::ZSTD_isError(made) != 0U || made != size) {
    Refuse(name, ::ZSTD_isError(made) != 0U
                     ? fmt::format("cannot be unpacked: {}", ::ZSTD_getErrorName(made))
                     : fmt::format("unpacks to {} bytes, not {}", made, size));
  }
  return std::span(unpacked_).first(size);
}

void SectionReader::Words(const Column& column, const char* name,
                          std::vector<std::uint64_t>& words) {
  const std::uint64_t count = words.size();
  const bool planes = column.coding.layout == Layout::kPlanes;
  const bool good =
      planes ? count > 0 && column.size % count == 0 && column.size / count <= sizeof(std::uint64_t)
             : column.size >= count && column.size <= count * kMaxVarintLength;
  if (!good) {
    Refuse(name, fmt::format("{} bytes for {} values", column.size, count));
  }
  const auto bytes = Unpacked(column, name);
  if (planes) {
    FromPlanes(bytes, words);
    return;
  }
  ByteCursor cursor(bytes, offset_);
  for (std::uint64_t& word : words) {
    word = cursor.Varint();
  }
  if (!cursor.done()) {
    Refuse(name, fmt::format("{} bytes after its last value", cursor.left()));
  }
}

void SectionReader::Numbers(std::uint32_t number, const char* name, std::uint64_t count,
                            std::vector<std::uint64_t>& values) {
  const Column* column = Find(number, false);
  const bool constant = column == nullptr || column->coding.layout == Layout::kConstant;
  values.assign(static_cast<std::size_t>(count), constant && column != nullptr ? column->base : 0);
  if (!constant) {
    Words(*column, name, values);
    Restore(column->coding.transform, column->base, column->divisor, values);
  }
}

const std::vector<std::string_view>& SectionReader::Texts(std::uint32_t number, const char* name,
                                                          std::uint64_t count) {
  Numbers(number, name, count, lengths_);
  const Column* column = Find(number, true);
  const std::uint64_t size = column == nullptr ? 0 : column->size;
  std::uint64_t left = size;
  for (const std::uint64_t length : lengths_) {
    if (length > limits_.string_bytes) {
      ThrowRead(
          ErrorCode::kLimit, offset_, Place(name),
          fmt::format("a text of {} bytes, and at most {} are read", length, limits_.string_bytes),
          "lift it with --max string-bytes=SIZE");
    }
    if (length > left) {
      Refuse(name, fmt::format("its texts have more bytes than are there, {}", size));
    }
    left -= length;
  }
  if (left > 0) {
    Refuse(name, fmt::format("{} bytes after its last text", left));
  }
  texts_.clear();
  texts_.reserve(lengths_.size());
  if (column != nullptr) {
    ByteCursor cursor(Unpacked(*column, name), offset_);
    for (const std::uint64_t length : lengths_) {
      texts_.push_back(AsText(cursor.Take(length)));
    }
  } else {
    texts_.resize(lengths_.size());
  }
  return texts_;
}

}  // namespace memtool::formats::memtool_file
