#include "support/text/lines.h"

#include <fmt/format.h>

#include "support/byte_cursor.h"
#include "support/read_error.h"

namespace memtool::formats {

namespace {

constexpr std::size_t kStep = std::size_t{256} << 10U;

}  // namespace

// Appends more bytes to those that are left; at the end of the input rest_ stays as it is.
void Lines::More() {
  const std::size_t left = rest_.size();
  in_.Advance(given_);
  given_ = 0;
  CheckSize(left);
  rest_ = AsText(in_.Fill(left + kStep));
}

void Lines::CheckSize(std::size_t size) const {
  if (size > limits_.record_bytes) {
    ThrowRead(ErrorCode::kLimit, in_.offset() + given_, "line " + std::to_string(number_ + 1),
              "longer than the limit on records", "--max record-bytes=SIZE raises it");
  }
}

bool Lines::Next(std::string_view& line) {
  std::size_t end = rest_.find('\n');
  while (end == std::string_view::npos) {
    const std::size_t before = rest_.size();
    More();
    if (rest_.size() == before) {
      break;
    }
    end = rest_.find('\n', before);
  }
  if (rest_.empty()) {
    return false;
  }
  line = rest_.substr(0, end);
  CheckSize(line.size());
  offset_ = in_.offset() + given_;
  ++number_;
  unended_ = end == std::string_view::npos;
  const std::size_t step = end == std::string_view::npos ? rest_.size() : end + 1;
  given_ += step;
  rest_.remove_prefix(step);
  if (!line.empty() && line.back() == '\r') {
    line.remove_suffix(1);
  }
  return true;
}

void Lines::CheckRows(std::uint64_t rows) const {
  if (rows > limits_.samples) {
    ThrowRead(ErrorCode::kLimit, offset_, fmt::format("line {}", number_),
              fmt::format("more than {} rows", limits_.samples), "lift it with --max samples=N");
  }
}

}  // namespace memtool::formats
