#include "log/line_time.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "memtool/profile/base/numbers.h"

namespace memtool::formats::log {

namespace {

constexpr std::size_t kFurthest = 64;  // a time is at the beginning of a line, after tags
constexpr int kNoYear = 1972;          // HasYear() is false for it; a leap year

// The number of exactly `digits` digits at `at`; -1 when there is none.
int NumberAt(std::string_view text, std::size_t at, std::size_t digits) {
  return at + digits > text.size() || text[at] == '-'
             ? -1
             : ParseNumber<int>(text.substr(at, digits)).value_or(-1);
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

// The day and the time of day ("08:10:41.123") as nanoseconds since 1970.
std::optional<std::int64_t> TimeAt(int year, int month, int day, std::string_view of_day) {
  constexpr std::size_t kLength = 8;
  if (of_day.size() < kLength || of_day[2] != ':' || of_day[5] != ':') {
    return std::nullopt;
  }
  const int hour = NumberAt(of_day, 0, 2);
  const int minute = NumberAt(of_day, 3, 2);
  const int second = NumberAt(of_day, 6, 2);
  if (month < 1 || day < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 60) {
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
                    std::chrono::nanoseconds(Fraction(of_day.substr(kLength)));
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

// "E1122 08:10:41.123456", as glog and absl write it: severity, month and day. Before absl's
// start-up is over, seconds since 1970 stand for the time: "E0000 00:00:1795335041.123456".
std::optional<std::int64_t> OfGlog(std::string_view line) {
  constexpr std::size_t kTimeAt = 6;
  if (line.size() < kTimeAt || std::string_view("IWEF").find(line[0]) == std::string_view::npos ||
      line[5] != ' ') {
    return std::nullopt;
  }
  constexpr std::string_view kEarly = "0000 00:00:";
  constexpr std::size_t kDigits = 10;
  if (line.substr(1).starts_with(kEarly)) {
    const std::string_view seconds = line.substr(1 + kEarly.size());
    const int whole = NumberAt(seconds, 0, kDigits);
    return whole < 0 ? std::nullopt
                     : std::optional(std::int64_t{whole} * 1'000'000'000 +
                                     Fraction(seconds.substr(kDigits)));
  }
  return TimeAt(kNoYear, NumberAt(line, 1, 2), NumberAt(line, 3, 2), line.substr(kTimeAt));
}

// "Nov 22 08:10:41", as syslog and journalctl write it.
std::optional<std::int64_t> OfSyslog(std::string_view line, int year = kNoYear) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr std::size_t kTimeAt = 7;
  if (line.size() < kTimeAt || line[3] != ' ' || line[6] != ' ') {
    return std::nullopt;
  }
  const std::size_t month = kMonths.find(line.substr(0, 3));
  if (month == std::string_view::npos || month % 3 != 0) {
    return std::nullopt;
  }
  const int day = line[4] == ' ' ? NumberAt(line, 5, 1) : NumberAt(line, 4, 2);
  return TimeAt(year, static_cast<int>(month / 3) + 1, day, line.substr(kTimeAt));
}

// "Nov 26 10:00:00 2026", as ctime writes it behind the day of the week; `year`: where the last of
// these begins.
std::optional<std::int64_t> OfCtime(std::string_view line, std::size_t year) {
  constexpr std::size_t kBefore = 16;  // "Nov 26 10:00:00 "
  const int number = NumberAt(line, year, 4);
  return year < kBefore || line[year - 1] != ' ' || number < 0
             ? std::nullopt
             : OfSyslog(line.substr(year - kBefore, kBefore), number);
}

// Past "[rank3]: ", "[1,3]<stderr>:" and "0: " of Slurm's --label.
std::size_t AfterRank(std::string_view line) {
  const std::size_t bracket = line.starts_with('[') ? line.find(']') : std::string_view::npos;
  const std::size_t colon = line.find(':', bracket < kFurthest ? bracket : 0);
  constexpr std::size_t kMaxRankLength = 6;
  const bool number = colon < kMaxRankLength && line.find_first_not_of("0123456789 ") == colon;
  const bool tagged = number || (bracket < kFurthest && colon < kFurthest);
  const std::size_t text = line.find_first_not_of(' ', tagged ? colon + 1 : 0);
  return text == std::string_view::npos ? line.size() : text;
}

// "2026-11-22 08:10:41" at the beginning of `text`.
std::optional<std::int64_t> Parse(std::string_view text) {
  constexpr std::size_t kTimeAt = 11;
  const auto is = [text](std::size_t at, std::string_view wanted) {
    return wanted.find(text[at]) != std::string_view::npos;
  };
  if (text.size() < kTimeAt || !is(4, "-/") || text[7] != text[4] || !is(10, " T")) {
    return std::nullopt;
  }
  const int year = NumberAt(text, 0, 4);
  return year < 2000
             ? std::nullopt
             : TimeAt(year, NumberAt(text, 5, 2), NumberAt(text, 8, 2), text.substr(kTimeAt));
}

// "03-17 08:10:41" behind a level, as vLLM writes it, and "03/17/2026-08:10:41" of TensorRT-LLM.
std::optional<std::int64_t> MonthFirst(std::string_view text) {
  constexpr std::size_t kShort = 14;
  if (text.size() < kShort || (text[2] != '-' && text[2] != '/')) {
    return std::nullopt;
  }
  const int month = NumberAt(text, 0, 2);
  const int day = NumberAt(text, 3, 2);
  if (text[2] == '-' && text[5] == ' ') {
    return TimeAt(kNoYear, month, day, text.substr(6));
  }
  constexpr std::size_t kTimeAt = 11;
  if (text.size() > kTimeAt && text[2] == '/' && text[5] == '/' && text[10] == '-') {
    const int year = NumberAt(text, 6, 4);
    return year < 2000 ? std::nullopt : TimeAt(year, month, day, text.substr(kTimeAt));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> GetTime(std::string_view line) {
  const std::size_t end = std::min(line.size(), kFurthest);
  for (std::size_t at = line.find("20"); at < end; at = line.find("20", at + 1)) {
    if (const auto time = Parse(line.substr(at))) {
      return time;
    }
    if (const auto time = OfCtime(line, at)) {
      return time;
    }
  }
  for (std::size_t at = 0; at < end; ++at) {
    if (IsDigit(line[at]) && (at == 0 || !IsDigit(line[at - 1]))) {
      if (const auto time = MonthFirst(line.substr(at))) {
        return time;
      }
    }
  }
  const std::size_t begin = AfterRank(line);
  const auto glog = OfGlog(line.substr(begin));
  return glog ? glog : OfSyslog(line.substr(begin));
}

}  // namespace memtool::formats::log
