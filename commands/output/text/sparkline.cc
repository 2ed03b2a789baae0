#include "output/text/sparkline.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace memtool::commands {

std::string Sparkline(std::span<const std::int64_t> series, std::size_t width, std::int64_t low) {
  constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (series.empty()) {
    return {};
  }
  width = std::min(width, series.size());
  const auto base = static_cast<double>(low);
  const double span = static_cast<double>(*std::max_element(series.begin(), series.end())) - base;
  std::string text;
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t from = i * series.size() / width;
    const auto share = series.subspan(from, (i + 1) * series.size() / width - from);
    const double height = static_cast<double>(*std::max_element(share.begin(), share.end())) - base;
    const double part = span > 0 ? std::clamp(height / span, 0.0, 1.0) : 0;
    text += kBlocks[std::min<std::size_t>(static_cast<std::size_t>(part * 8), 7)];
  }
  return text;
}

}  // namespace memtool::commands
