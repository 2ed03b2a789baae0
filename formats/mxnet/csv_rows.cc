#include "mxnet/csv_rows.h"

#include "memtool/profile/base/numbers.h"

namespace memtool::formats::mxnet {

namespace {

std::string_view Unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

// Takes the last field off; false when there is none.
bool TakeLast(std::string_view& line, std::string_view& field) {
  const std::size_t comma = line.rfind(',');
  if (comma == std::string_view::npos) {
    return false;
  }
  field = Unquoted(line.substr(comma + 1));
  line = line.substr(0, comma);
  return true;
}

// Takes the first field off: to the closing quote when it is quoted.
bool TakeFirst(std::string_view& line, std::string_view& field) {
  const bool quoted = line.starts_with('"');
  const std::size_t end = quoted ? line.find("\",", 1) : line.find(',');
  if (end == std::string_view::npos) {
    return false;
  }
  field = quoted ? line.substr(1, end - 1) : line.substr(0, end);
  line.remove_prefix(end + (quoted ? 2 : 1));
  return true;
}

template <class T>
bool ParseField(std::string_view text, T& value) {
  const auto number = ParseNumber<T>(text);
  value = number.value_or(value);
  return number.has_value();
}

}  // namespace

bool CsvRows::Parse(std::string_view line, CsvRow& row) const {
  std::string_view reuse;
  std::string_view actual;
  std::string_view device;
  std::string_view requested;
  if (!TakeLast(line, reuse) || !TakeLast(line, actual)) {
    return false;
  }
  if (form_ == Form::kOfficial) {
    if (!TakeLast(line, device) || !TakeLast(line, requested) || !ParseField(device, row.device)) {
      return false;
    }
    row.name = Unquoted(line);
  } else {
    std::string_view time;
    std::string_view scope;
    if (!TakeLast(line, requested) || !TakeLast(line, row.structure) || !TakeFirst(line, time) ||
        !TakeFirst(line, scope)) {
      return false;
    }
    row.device = -1;
    row.joined = scope;
    row.joined += !scope.empty() && !scope.ends_with(':') ? ":" : "";
    row.joined += Unquoted(line);
    row.name = row.joined;
  }
  row.reused = reuse == "1";
  return ParseField(requested, row.requested) && ParseField(actual, row.actual) &&
         (reuse == "0" || reuse == "1");
}

}  // namespace memtool::formats::mxnet
