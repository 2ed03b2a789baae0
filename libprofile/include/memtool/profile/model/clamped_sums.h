// What is said of sums that left the 64-bit range: amounts of honest inputs never do.
#pragma once

#include <string_view>
#include <vector>

#include "memtool/profile/model/recording.h"

namespace memtool {

inline constexpr std::string_view kClampedSums = "clamped_sums";

// The one diagnostic for it, of severity kDamage: totals or rows are wrong.
Diagnostic ClampedSums();

// Appends ClampedSums() unless it is there.
void NoteClampedSums(std::vector<Diagnostic>& diagnostics);
[[nodiscard]] bool HasClampedSums(const std::vector<Diagnostic>& diagnostics);

// Whether every sum over the events (failed requests aside), the segments and the blocks of a
// recording fits into int64: the magnitudes of all of them together do.
[[nodiscard]] bool HistorySumsFit(const Recording& recording);

}  // namespace memtool
