// The largest rows of any file that memtool reads: top_rows FILE
#include <cstdio>
#include <utility>

#include "memtool/formats/open.h"
#include "memtool/profile/answers/top.h"
#include "memtool/profile/base/sizes.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: top_rows FILE\n");
    return 2;
  }
  auto document = memtool::formats::Open(argv[1]);
  auto selection = std::move(document).and_then([](memtool::formats::Document&& read) {
    return memtool::Select(std::move(read).recording());
  });
  if (!selection) {
    std::fprintf(stderr, "%s\n", memtool::ToString(selection.error()).c_str());
    return 3;
  }
  const memtool::TopAnswer top = memtool::Top(*std::move(selection));
  for (const memtool::TopRow& row : top.rows) {
    std::printf("%12s  %s %s:%lld\n", memtool::FormatSize(row.flat).c_str(), row.name.c_str(),
                row.file.c_str(), static_cast<long long>(row.line));
  }
}
