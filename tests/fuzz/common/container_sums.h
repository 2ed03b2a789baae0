// Checksums of memtool's own container made right again, so that changes of bytes reach what is
// behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace memtool::fuzz {

// A copy of `bytes` with the checksums of its header and of all sections that are whole.
std::vector<std::byte> WithGoodSums(std::span<const std::byte> bytes);

}  // namespace memtool::fuzz
