// Labels as text, and the names that stand in for a missing stack.
#pragma once

#include <string>
#include <string_view>

#include "memtool/profile/model/recording.h"

namespace memtool {

// "cuda:0 buffer": all labels of a set in one text, for rows by tag.
std::string LabelText(const Recording& recording, LabelSetId labels);
// "8 bytes", of a label that is a number.
std::string NumberText(const Recording& recording, const Label& label);
// "device=cuda:0", "bytes=8 bytes"
std::string LabelText(const Recording& recording, const Label& label);
// Joins the values of one label key for a label frame or a row: "cuda:0", "4096 bytes".
std::string LabelValues(const Recording& recording, LabelSetId labels, std::string_view key);

// What a label's text is among those of several processes, which may each have a "cuda:0": with the
// name of the process, unless it says which one it is ("TPU_4(process=1,…)").
std::string TextOfProcess(std::string_view key, std::string_view text, std::string_view process);

// The row of what has no stack.
inline constexpr std::string_view kNoStack = "(no stack)";
// The row of what was allocated before the first event, by an unknown caller.
// The stack of what memory events without an address left (Action::kAdjust).
inline constexpr std::string_view kWithoutAddress = "(without an address)";
inline constexpr std::string_view kBeforeRecording = "(before recording)";
// The row, and the value of a label "category", of what an allocator gave beyond what was asked
// for.
inline constexpr std::string_view kRounding = "(rounding)";
inline constexpr std::string_view kRoundingCategory = "rounding";
// The label of what takes no memory of its own: it goes on with what the event before it ended.
inline constexpr std::string_view kContinues = "continues";

}  // namespace memtool
