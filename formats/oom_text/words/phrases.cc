#include "oom_text/words/phrases.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "memtool/profile/base/numbers.h"

namespace memtool::formats::oom_text {

namespace {

// More than any device has; what is written beyond it stands for "unknown".
constexpr std::int64_t kMaxByteCount = std::int64_t{1} << 60U;
constexpr std::size_t kMaxDecimals = 6;  // so that a fraction of a TiB stays within int64

constexpr std::array<std::pair<std::string_view, unsigned>, 14> kUnits{{{"bytes", 0},
                                                                        {"byte", 0},
                                                                        {"KiB", 10},
                                                                        {"MiB", 20},
                                                                        {"GiB", 30},
                                                                        {"TiB", 40},
                                                                        {"KB", 10},
                                                                        {"MB", 20},
                                                                        {"GB", 30},
                                                                        {"TB", 40},
                                                                        {"K", 10},
                                                                        {"M", 20},
                                                                        {"G", 30},
                                                                        {"B", 0}}};

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The size of "WHOLE.FRACTION" units of 2^shift bytes, or none when it is more than any device has.
std::optional<OomNumber> SizeOf(std::string_view whole, std::string_view fraction, unsigned shift) {
  const auto units = ParseNumber<std::int64_t>(whole);
  if (!units || *units > kMaxByteCount >> shift) {
    return std::nullopt;
  }
  fraction = fraction.substr(0, kMaxDecimals);
  std::int64_t part = 0;
  std::int64_t scale = 1;
  for (const char digit : fraction) {
    part = part * 10 + (digit - '0');
    scale *= 10;
  }
  const std::int64_t unit = std::int64_t{1} << shift;
  // A last digit stands for everything within half of it; whole bytes are exact.
  const std::int64_t precision = unit == 1 ? 0 : (unit + 2 * scale - 1) / (2 * scale);
  return OomNumber{.bytes = *units * unit + (part * unit + scale / 2) / scale,
                   .precision = precision};
}

}  // namespace

std::size_t Phrases::SkipSpaces(std::size_t at) const {
  while (at < text_.size() && IsSpace(text_[at])) {
    ++at;
  }
  return at;
}

bool Phrases::Take(std::string_view phrase) {
  std::size_t at = SkipSpaces(at_);
  for (const char wanted : phrase) {
    if (at == text_.size()) {
      starved_ = true;
      return false;
    }
    if (wanted == ' ') {
      if (!IsSpace(text_[at])) {
        return false;
      }
      at = SkipSpaces(at);
    } else if (text_[at++] != wanted) {
      return false;
    }
  }
  at_ = at;
  return true;
}

std::string_view Phrases::Digits(std::size_t& at) const {
  const std::size_t begin = at;
  while (at < text_.size() && IsDigit(text_[at])) {
    ++at;
  }
  return text_.substr(begin, at - begin);
}

bool Phrases::TakeSize(std::optional<OomNumber>& size) {
  std::size_t at = SkipSpaces(at_);
  const std::string_view whole = Digits(at);
  if (whole.empty()) {
    starved_ = starved_ || at == text_.size();
    return false;
  }
  std::string_view fraction;
  if (at < text_.size() && text_[at] == '.') {
    fraction = Digits(++at);
  }
  at = SkipSpaces(at);
  const std::string_view rest = text_.substr(at);
  for (const auto& [unit, shift] : kUnits) {
    if (rest.starts_with(unit)) {
      at_ = at + unit.size();
      size = SizeOf(whole, fraction, shift);
      return true;
    }
  }
  starved_ = starved_ || rest.size() < kUnits.front().first.size();
  return false;
}

bool Phrases::TakeGrouped(std::optional<OomNumber>& size) {
  std::size_t at = SkipSpaces(at_);
  std::string whole(Digits(at));
  constexpr std::size_t kGroup = 3;
  while (!whole.empty() && at < text_.size() && text_[at] == ',') {
    std::size_t end = at + 1;
    const std::string_view group = Digits(end);
    if (group.size() != kGroup) {
      break;
    }
    whole += group;
    at = end;
  }
  at = SkipSpaces(at);
  constexpr std::string_view kBytes = "bytes";
  if (whole.empty() || !text_.substr(at).starts_with(kBytes)) {
    starved_ = starved_ || text_.size() - at < kBytes.size();
    return false;
  }
  at_ = at + kBytes.size();
  size = SizeOf(whole, {}, 0);
  return true;
}

bool Phrases::SkipTo(std::string_view words, std::size_t reach) {
  const std::size_t found = text_.substr(at_, reach + words.size()).find(words);
  if (found == std::string_view::npos) {
    starved_ = starved_ || text_.size() - at_ < reach;
    return false;
  }
  at_ += found + words.size();
  return true;
}

bool Phrases::TakeInteger(std::int64_t& number) {
  std::size_t at = SkipSpaces(at_);
  const std::string_view digits = Digits(at);
  if (digits.empty()) {
    starved_ = starved_ || at == text_.size();
    return false;
  }
  const auto parsed = ParseNumber<std::int64_t>(digits);
  if (!parsed) {
    return false;
  }
  number = *parsed;
  at_ = at;
  return true;
}

bool Phrases::TakeControl(std::int64_t& number) {
  const std::size_t at = SkipSpaces(at_);
  if (at == text_.size() || text_[at] <= 0 || text_[at] >= ' ') {
    return false;
  }
  number = static_cast<unsigned char>(text_[at]);
  at_ = at + 1;
  return true;
}

std::optional<int> GpuOfAllocator(std::string_view text) {
  constexpr std::string_view kGpu = "GPU_";
  const std::size_t at = text.rfind(kGpu);
  std::int64_t gpu = 0;
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  Phrases number(text.substr(at + kGpu.size()));
  return number.TakeInteger(gpu) && gpu < INT16_MAX && number.Take("_bfc")
             ? std::optional(static_cast<int>(gpu))
             : std::nullopt;
}

}  // namespace memtool::formats::oom_text
