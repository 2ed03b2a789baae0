#include "oom_text/line_time.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>

namespace memtool::formats::oom_text {

namespace {

constexpr std::size_t kFurthest = 64;  // a time is at the beginning of a line, after tags

// The number of exactly `digits` digits at `at`; -1 when there is none.
int NumberAt(std::string_view text, std::size_t at, std::size_t digits) {
  int number = -1;
  if (at + digits > text.size() || text[at] == '-' || text[at] == '+') {
    return -1;
  }
  const char* const end = text.data() + at + digits;
  const auto [stop, error] = std::from_chars(text.data() + at, end, number);
  return error == std::errc{} && stop == end ? number : -1;
}

// ".123456" → nanoseconds.
std::int64_t Fraction(std::string_view text) {
  if (text.empty() || (text.front() != '.' && text.front() != ',')) {
    return 0;
  }
  std::int64_t nanos = 0;
  std::int64_t unit = 100'000'000;
  for (std::size_t i = 1; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    nanos += unit * (text[i] - '0');
    unit /= 10;
  }
  return nanos;
}

// "2026-11-22 08:10:41" at the beginning of `text`.
std::optional<std::int64_t> Parse(std::string_view text) {
  constexpr std::size_t kLength = 19;
  const auto is = [text](std::size_t at, std::string_view wanted) {
    return wanted.find(text[at]) != std::string_view::npos;
  };
  if (text.size() < kLength || !is(4, "-/") || text[7] != text[4] || !is(10, " T") ||
      text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const int hour = NumberAt(text, 11, 2);
  const int minute = NumberAt(text, 14, 2);
  const int second = NumberAt(text, 17, 2);
  const int month = NumberAt(text, 5, 2);
  const int day = NumberAt(text, 8, 2);
  const int year = NumberAt(text, 0, 4);
  if (year < 2000 || month < 1 || day < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 60) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) {
    return std::nullopt;
  }
  const auto days = std::chrono::sys_days(date).time_since_epoch();
  const auto time = days + std::chrono::hours(hour) + std::chrono::minutes(minute) +
                    std::chrono::seconds(second) +
                    std::chrono::nanoseconds(Fraction(text.substr(kLength)));
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

std::optional<std::int64_t> TimeOf(std::string_view line) {
  const std::size_t end = std::min(line.size(), kFurthest);
  for (std::size_t at = line.find("20"); at < end; at = line.find("20", at + 1)) {
    if (const auto time = Parse(line.substr(at))) {
      return time;
    }
  }
  return std::nullopt;
}

}  // namespace memtool::formats::oom_text
