#include "support/text/csv_fields.h"

#include <algorithm>

#include "support/trimmed.h"

namespace memtool::formats {

bool CsvFields::EndsInQuote(std::string_view line) {
  return std::count(line.begin(), line.end(), '"') % 2 != 0;
}

std::string_view CsvFields::Unpadded(std::string_view field) const {
  return padded_ ? Trimmed(field) : field;
}

bool CsvFields::Split(std::string_view line) {
  fields_.clear();
  unquoted_.clear();
  while (true) {
    line.remove_prefix(padded_ ? std::min(line.find_first_not_of(kBlanks), line.size()) : 0);
    if (line.starts_with('"')) {
      if (!TakeQuoted(line)) {
        return false;
      }
    } else {
      const std::string_view field = line.substr(0, line.find(','));
      fields_.push_back(Unpadded(field));
      line.remove_prefix(field.size());
    }
    if (line.empty()) {
      return true;
    }
    line.remove_prefix(1);  // the comma
  }
}

bool CsvFields::TakeQuoted(std::string_view& rest) {
  std::string joined;
  bool doubled = false;
  while (true) {
    rest.remove_prefix(1);  // the quote that opens, or that is doubled
    const std::size_t quote = rest.find('"');
    if (quote == std::string_view::npos) {
      return false;
    }
    const std::string_view part = rest.substr(0, quote);
    rest.remove_prefix(quote + 1);
    if (!rest.starts_with('"')) {
      fields_.push_back(Unpadded(doubled ? unquoted_.emplace_back(joined.append(part)) : part));
      rest.remove_prefix(padded_ ? std::min(rest.find_first_not_of(kBlanks), rest.size()) : 0);
      return rest.empty() || rest.front() == ',';
    }
    joined.append(part).push_back('"');
    doubled = true;
  }
}

}  // namespace memtool::formats
