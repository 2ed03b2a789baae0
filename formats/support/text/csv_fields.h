// The fields of a line of CSV, quoted or bare; a quote within a quoted field is doubled. Some
// writers pad fields: then blanks and TABs around them, and around their quotes, mean nothing.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memtool::formats {

enum class CsvPadding : char { kNone, kBlanks };

class CsvFields {
 public:
  explicit CsvFields(CsvPadding padding = CsvPadding::kNone)
      : padded_(padding == CsvPadding::kBlanks) {}

  // Whether a quote is open at the end of `line`: the row goes on in the next one.
  static bool EndsInQuote(std::string_view line);

  // Fields are views into the line, or into this object, until the next call. False when a quote is
  // not closed, or something follows it.
  bool Split(std::string_view line);
  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  // Empty for one that the line does not have.
  [[nodiscard]] std::string_view operator[](std::size_t field) const {
    return field < fields_.size() ? fields_[field] : std::string_view();
  }

 private:
  bool TakeQuoted(std::string_view& rest);
  [[nodiscard]] std::string_view Unpadded(std::string_view field) const;

  bool padded_;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;  // fields in which quotes were doubled
};

// Where the columns of a table are, by the names of its header; other columns are passed over.
template <std::size_t kCount>
class CsvColumns {
 public:
  // None when one is missing.
  static std::optional<CsvColumns> Find(const std::array<std::string_view, kCount>& names,
                                        const CsvFields& header) {
    CsvColumns columns;
    for (std::size_t name = 0; name < kCount; ++name) {
      std::size_t at = 0;
      while (at < header.size() && header[at] != names[name]) {
        ++at;
      }
      if (at == header.size()) {
        return std::nullopt;
      }
      columns.at_[name] = at;
    }
    return columns;
  }

  [[nodiscard]] std::string_view Get(const CsvFields& row, std::size_t name) const {
    return row[at_[name]];
  }

 private:
  std::array<std::size_t, kCount> at_{};
};

}  // namespace memtool::formats
