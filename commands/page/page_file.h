// The page: one HTML file with the program inside, and a place for data in it.
#pragma once

#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"

namespace memtool::commands {

// The page as it is in this program; empty in a build without it.
std::string_view EmbeddedPage();

struct Page {
  std::string before;  // the data goes between the two
  std::string after;
};

// The page in the file `path`, or the one in this program when `path` is empty. Errors: kIo;
// kUnsupported when this program has none; kMalformed for a file that has no place for data.
Result<Page> LoadPage(const std::string& path);

// The same page with another title. Text is escaped here.
void SetTitle(Page& page, std::string_view title);

// Bytes as the value of an HTML attribute in double quotes, or as text of an element: made visible
// as on a terminal, then with references in place of what means something to HTML.
std::string EscapeHtml(std::string_view bytes);

}  // namespace memtool::commands
