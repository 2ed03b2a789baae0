#include "page/page_file.h"

#include <array>
#include <cstddef>
#include <span>

#include "memtool/formats/source.h"
#include "memtool/profile/base/escape.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kPlaceOfData = "<!--MEMTOOL-DATA-->";
constexpr std::string_view kTitle = "<title>";
constexpr std::string_view kTitleEnd = "</title>";
constexpr std::size_t kMaxPage = std::size_t{64} << 20U;

Result<std::string> ReadPage(const std::string& path) {
  auto source = formats::OpenFile(path);
  MEMTOOL_TRY(source);
  std::string text;
  std::array<std::byte, 65536> buffer{};
  while (true) {
    const auto got = (*source)->Read(buffer);
    MEMTOOL_TRY(got);
    if (*got == 0) {
      return text;
    }
    for (const std::byte byte : std::span(buffer).first(*got)) {
      text += static_cast<char>(byte);
    }
    if (text.size() > kMaxPage) {
      return Fail(Error{.code = ErrorCode::kMalformed,
                        .input = {},
                        .message = "is no page of memtool: larger than 64 MiB"});
    }
  }
}

}  // namespace

Result<Page> LoadPage(const std::string& path) {
  if (path.empty() && EmbeddedPage().empty()) {
    return Fail(Error{.code = ErrorCode::kUnsupported,
                      .input = {},
                      .message = "the page is not in this build",
                      .hint = "in memtool's sources, scripts/page FILE makes it; --page FILE takes "
                              "it from there, and scripts/memtool report builds it in"});
  }
  auto text = path.empty() ? Result<std::string>(std::string(EmbeddedPage())) : ReadPage(path);
  if (!text) {
    text.error().input = path;
    return Fail(std::move(text.error()));
  }
  const std::size_t place = text->find(kPlaceOfData);
  if (place == std::string::npos) {
    return Fail(Error{.code = ErrorCode::kMalformed,
                      .input = path,
                      .message = "is no page of memtool: it has no place for data",
                      .hint = "a line " + std::string(kPlaceOfData)});
  }
  return Page{.before = text->substr(0, place), .after = text->substr(place + kPlaceOfData.size())};
}

void SetTitle(Page& page, std::string_view title) {
  const std::string text = EscapeHtml(title);
  const std::size_t begin = page.before.find(kTitle);
  const std::size_t end = page.before.find(kTitleEnd, begin == std::string::npos ? 0 : begin);
  if (begin == std::string::npos || end == std::string::npos) {
    page.before += std::string(kTitle) + text + std::string(kTitleEnd) + "\n";
    return;
  }
  const std::size_t from = begin + kTitle.size();
  page.before.replace(from, end - from, text);
}

std::string EscapeHtml(std::string_view bytes) {
  std::string escaped;
  for (const char c : EscapeText(bytes)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace memtool::commands
