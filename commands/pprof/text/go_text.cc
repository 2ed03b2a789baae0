#include "pprof/text/go_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <vector>

#include "output/escape.h"

namespace memtool::commands::pprof {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

struct LocalTime {
  std::tm parts{};
  std::int64_t nanos = 0;
};

LocalTime ToLocal(std::int64_t nanos) {
  LocalTime time;
  std::int64_t seconds = nanos / kSecond;
  time.nanos = nanos % kSecond;
  if (time.nanos < 0) {
    time.nanos += kSecond;
    --seconds;
  }
  const std::time_t clock = seconds;
  ::localtime_r(&clock, &time.parts);
  return time;
}

// A fraction of `unit` without trailing zeros: "1.5".
std::string Fraction(std::uint64_t value, std::uint64_t unit, int digits) {
  std::string text = fmt::format("{}", value / unit);
  if (value % unit != 0) {
    std::string part = fmt::format("{:0{}}", value % unit, digits);
    part.erase(part.find_last_not_of('0') + 1);
    text += "." + part;
  }
  return text;
}

bool Continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80;
}

}  // namespace

std::string CleanPath(std::string_view path) {
  const bool rooted = path.starts_with('/');
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".") {
      continue;
    }
    const bool up = part == "..";
    if (up && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (!up || !rooted) {
      parts.push_back(part);
    }
  }
  std::string clean = fmt::format("{}{}", rooted ? "/" : "", fmt::join(parts, "/"));
  return clean.empty() ? "." : clean;
}

std::string BasePath(std::string_view path) {
  if (path.empty()) {
    return ".";
  }
  while (path.ends_with('/')) {
    path.remove_suffix(1);
  }
  return path.empty() ? "/" : std::string(path.substr(path.rfind('/') + 1));
}

bool IsAbsoluteUrl(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto inside = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  };
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && colon > 0 && letter(text[0]) &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon), inside);
}

std::string DurationText(std::int64_t nanos) {
  const std::string sign = nanos < 0 ? "-" : "";
  const std::uint64_t value =
      nanos < 0 ? 0 - static_cast<std::uint64_t>(nanos) : static_cast<std::uint64_t>(nanos);
  if (value == 0) {
    return "0s";
  }
  if (value < 1000) {
    return fmt::format("{}{}ns", sign, value);
  }
  if (value < 1'000'000) {
    return sign + Fraction(value, 1000, 3) + "µs";
  }
  if (value < kSecond) {
    return sign + Fraction(value, 1'000'000, 6) + "ms";
  }
  constexpr std::uint64_t kMinute = 60ULL * kSecond;
  const std::uint64_t minutes = value / kMinute;
  std::string text = Fraction(value % kMinute, kSecond, 9) + "s";
  if (minutes >= 60) {
    return fmt::format("{}{}h{}m{}", sign, minutes / 60, minutes % 60, text);
  }
  return minutes == 0 ? sign + text : fmt::format("{}{}m{}", sign, minutes, text);
}

std::string TimeLabel(std::int64_t nanos) {
  constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::tm t = ToLocal(nanos).parts;
  const int hour = t.tm_hour % 12 == 0 ? 12 : t.tm_hour % 12;
  return fmt::format("{} {}, {} at {}:{:02}{} ({})", kMonths[static_cast<std::size_t>(t.tm_mon)],
                     t.tm_mday, t.tm_year + 1900, hour, t.tm_min, t.tm_hour >= 12 ? "pm" : "am",
                     t.tm_zone);
}

std::string TimeText(std::int64_t nanos) {
  const LocalTime time = ToLocal(nanos);
  const std::tm& t = time.parts;
  const long offset = t.tm_gmtoff < 0 ? -t.tm_gmtoff : t.tm_gmtoff;
  return fmt::format(
      "{:04}-{:02}-{:02} {:02}:{:02}:{} {}{:02}{:02} {}", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
      t.tm_hour, t.tm_min,
      (t.tm_sec < 10 ? "0" : "") + Fraction(static_cast<std::uint64_t>(t.tm_sec) * kSecond +
                                                static_cast<std::uint64_t>(time.nanos),
                                            kSecond, 9),
      t.tm_gmtoff < 0 ? '-' : '+', offset / 3600, offset / 60 % 60, t.tm_zone);
}

std::size_t CodePoints(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), Continues));
}

std::string PadLeft(std::string_view text, std::size_t width) {
  const std::size_t length = CodePoints(text);
  return std::string(length < width ? width - length : 0, ' ').append(text);
}

std::string_view FirstCodePoints(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (!Continues(text[end]) && count-- == 0) {
      break;
    }
  }
  return text.substr(0, end);
}

std::string Shown(std::string_view name) {
  const bool plain =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return plain ? std::string(name) : EscapeText(name);
}

std::string QuoteDot(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\\\";
        break;
      case '"':
        out += "\\\"";
        break;
      case '\n':
        out += "\\l";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace memtool::commands::pprof
