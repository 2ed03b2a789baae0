// Sections of the container and the columns in them, checked: sums before contents, counts before
// memory. Everything that does not hold throws ReadError.
#pragma once

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "memtool_file/layout.h"
#include "support/byte_cursor.h"

namespace memtool::formats::memtool_file {

class SectionReader {
 public:
  SectionReader(ByteWindow& in, const Limits& limits);

  void Header();
  // The next section; false behind the last one, where the input must end.
  bool Next();

  [[nodiscard]] std::uint32_t table() const { return table_; }
  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  // Columns of this section that nobody asked for.
  [[nodiscard]] std::size_t Unread() const;

  // `count` numbers; zeros where there is no such column.
  void Numbers(std::uint32_t number, const char* name, std::uint64_t count,
               std::vector<std::uint64_t>& values);
  // `count` texts, which last until the next call; empty ones where there is no such column.
  const std::vector<std::string_view>& Texts(std::uint32_t number, const char* name,
                                             std::uint64_t count);
  // To be called before memory is asked for that the file's bytes do not account for.
  void Charge(std::uint64_t rows, std::uint64_t bytes_of_row);

  // "events.time"
  [[nodiscard]] std::string Place(const char* name) const;
  [[noreturn]] void Refuse(const char* name, std::string message) const;

 private:
  // Columns come by number; lengths of texts before the texts.
  static std::uint64_t GetOrder(std::uint32_t number, bool text) {
    return std::uint64_t{number} * 2 + (text ? 1 : 0);
  }
  struct Column {
    [[nodiscard]] std::uint64_t Order() const {
      return GetOrder(number, coding.layout == Layout::kText);
    }
    std::uint32_t number = 0;
    Coding coding;
    bool packed = false;
    bool read = false;
    std::uint64_t base = 0;
    std::uint64_t divisor = 1;
    std::uint64_t size = 0;  // unpacked
    std::span<const std::byte> bytes;
  };
  struct FreeContext {
    void operator()(ZSTD_DCtx* context) const { ::ZSTD_freeDCtx(context); }
  };

  void ReadPayload(std::uint64_t size);
  void ReadColumn(ByteCursor& cursor);
  Column* Find(std::uint32_t number, bool text);
  std::span<const std::byte> Unpacked(const Column& column, const char* name);
  void Words(const Column& column, const char* name, std::vector<std::uint64_t>& words);

  ByteWindow& in_;
  const Limits& limits_;
  std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  std::uint32_t table_ = 0;
  std::uint32_t rows_ = 0;
  std::uint32_t sections_ = 0;
  std::uint64_t offset_ = 0;
  std::size_t pending_ = 0;  // bytes of this section, still in the window
  std::uint64_t charged_ = 0;
  std::vector<Column> columns_;
  std::vector<std::byte> unpacked_;
  std::vector<std::uint64_t> lengths_;
  std::vector<std::string_view> texts_;
};

// Whether these are the first bytes of a container.
bool HasMagic(std::span<const std::byte> head);

}  // namespace memtool::formats::memtool_file
