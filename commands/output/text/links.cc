#include "output/text/links.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace memtool::commands {

namespace {

struct NamedFormat {
  std::string_view name;
  std::string_view format;
};
constexpr auto kFormats = std::to_array<NamedFormat>({
    {"never", ""},
    {"file", "file://{host}{path}"},
    {"kitty", "file://{host}{path}#{line}"},
    {"vscode", "vscode://file{path}:{line}"},
    {"vscodium", "vscodium://file{path}:{line}"},
    {"cursor", "cursor://file{path}:{line}"},
    {"idea", "idea://open?file={path}&line={line}"},
});

// RFC 3986: what may stand in a path as it is.
std::string Escaped(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string url;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 &&
        (std::isalnum(byte) != 0 || std::string_view("/-._~").find(c) != std::string_view::npos)) {
      url += c;
    } else {
      url += '%';
      url += kHex[byte >> 4U];
      url += kHex[byte & 15U];
    }
  }
  return url;
}

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

void Replace(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
    at += by.size();
  }
}

}  // namespace

KnownWords LinkFormatWords() {
  KnownWords known{.others = true};
  for (const NamedFormat& format : kFormats) {
    known.words.emplace_back(format.name);
  }
  return known;
}

Result<Links> Links::Make(const std::string& name) {
  Links links;
  const auto* const known = std::find_if(kFormats.begin(), kFormats.end(),
                                         [&](const auto& format) { return format.name == name; });
  links.format_ = known == kFormats.end() ? name : known->format;
  const bool visible = std::all_of(links.format_.begin(), links.format_.end(),
                                   [](char c) { return c > ' ' && c < 0x7f; });
  if (known == kFormats.end() && (name.find("://") == std::string::npos ||
                                  name.find("{path}") == std::string::npos || !visible)) {
    return Fail(ErrorCode::kUsage, "--hyperlinks: '" + name + "' is no format",
                "never, file, vscode, or a URL with {path}, such as myeditor://open?{path}:{line}");
  }
  return links;
}

std::string Links::UrlOf(std::string_view place) const {
  if (format_.empty() || !place.starts_with('/')) {
    return {};
  }
  // The line stands behind the last ':' that digits follow.
  std::size_t colon = place.size();
  std::string_view line = "1";
  for (std::size_t at = place.rfind(':'); at != std::string_view::npos && at > 0;
       at = place.rfind(':', at - 1)) {
    const std::string_view rest = place.substr(at + 1);
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (digits > 0) {
      colon = at;
      line = rest.substr(0, digits);
      break;
    }
  }
  std::string url = format_;
  Replace(url, "{line}", line);
  Replace(url, "{host}", Escaped(HostName()));
  Replace(url, "{path}", Escaped(place.substr(0, colon)));
  return url;
}

}  // namespace memtool::commands
