// The forms, one function each. They throw ReadError; `text` is checked UTF-8 without NUL.
#pragma once

#include <string_view>

#include "memtool/formats/ground_truth.h"
#include "memtool/profile/base/result.h"

namespace memtool::formats {
class ByteWindow;
}

namespace memtool::formats::ground_truth {

// What the window holds, at most 8 MiB; the window is not advanced. Throws ReadError. Errors:
// kLimit.
Result<GroundTruth> ReadTruth(ByteWindow& in);

bool LooksLikeSmiCsv(std::string_view first_line);
GroundTruth ReadSmiCsv(std::string_view text);
GroundTruth ReadSmiXml(std::string_view text);
GroundTruth ReadSmiText(std::string_view text);
GroundTruth ReadDcgmExporter(std::string_view text);
GroundTruth ReadDcgmDmon(std::string_view text);
// torch and JAX counters, rocm-smi, amd-smi, a JSON number.
GroundTruth ReadTruthJson(std::string_view text);

}  // namespace memtool::formats::ground_truth
