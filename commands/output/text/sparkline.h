// A series of numbers as one line of blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace memtool::commands {

// At most `width` cells, each as high as the highest value of its share. `low`: the value of the
// lowest block.
std::string Sparkline(std::span<const std::int64_t> series, std::size_t width, std::int64_t low);

}  // namespace memtool::commands
