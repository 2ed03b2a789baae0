// Matches prose: phrases, sizes and numbers, tolerant of how a log folded its spaces.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "memtool/formats/oom_text.h"

namespace memtool::formats::oom_text {

class Phrases {
 public:
  explicit Phrases(std::string_view text) : text_(text) {}

  // Steps over `phrase` when the text continues with it. A space in the phrase matches one or more
  // in the text; spaces before it are skipped. Otherwise nothing is consumed.
  bool Take(std::string_view phrase);
  // "2.00 GiB", "6291456 bytes", "8.00GiB". A size that no device can have (a driver's "unknown",
  // written as 2^64 bytes) is consumed and absent. False: the text continues with something else.
  bool TakeSize(std::optional<OomNumber>& size);
  // "1,073,741,824 bytes"
  bool TakeGrouped(std::optional<OomNumber>& size);
  bool TakeInteger(std::int64_t& number);
  // A control character for the number that it is.
  bool TakeControl(std::int64_t& number);

  // True when the last failed match might have succeeded if the text had not ended.
  [[nodiscard]] bool starved() const { return starved_; }
  void ClearStarved() { starved_ = false; }
  [[nodiscard]] std::size_t at() const { return at_; }
  // Steps past `words`, which must begin within `reach` characters. False: they do not.
  bool SkipTo(std::string_view words, std::size_t reach);
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

 private:
  [[nodiscard]] std::size_t SkipSpaces(std::size_t at) const;
  std::string_view Digits(std::size_t& at) const;

  std::string_view text_;
  std::size_t at_ = 0;
  bool starved_ = false;
};

// The device whose allocator `text` names last: "Allocator (GPU_0_bfc)".
std::optional<int> GpuOfAllocator(std::string_view text);

}  // namespace memtool::formats::oom_text
