// How many bytes are live at a moment of a history: live_bytes FILE MOMENT (peak, end, event:7 …)
#include <cstdio>
#include <utility>

#include "memtool/formats/open.h"
#include "memtool/profile/select/selection.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: live_bytes FILE MOMENT\n");
    return 2;
  }
  const auto moment = memtool::ParseMoment(argv[2]);
  if (!moment) {
    std::fprintf(stderr, "%s\n", memtool::ToString(moment.error()).c_str());
    return 2;
  }
  auto document = memtool::formats::Open(argv[1]);
  auto selection = std::move(document).and_then([&](memtool::formats::Document&& read) {
    return memtool::Select(std::move(read).recording(), {.name = argv[1], .moment = *moment});
  });
  if (!selection) {
    std::fprintf(stderr, "%s\n", memtool::ToString(selection.error()).c_str());
    return 3;
  }
  std::printf("%lld\n", static_cast<long long>(selection->sums().total));
  for (const memtool::MomentOfTrace& trace : selection->moments()) {
    std::printf("device %d: event %lld of %llu\n", trace.device,
                static_cast<long long>(trace.event),
                static_cast<unsigned long long>(trace.summary.events));
  }
}
