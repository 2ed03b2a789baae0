// The forms, one function each. They throw ReadError; `text` is checked UTF-8 without NUL.
#pragma once

#include <string_view>

#include "memtool/formats/ground_truth.h"

namespace memtool::formats::ground_truth {

bool LooksLikeSmiCsv(std::string_view first_line);
GroundTruth ReadSmiCsv(std::string_view text);
GroundTruth ReadSmiXml(std::string_view text);
GroundTruth ReadSmiText(std::string_view text);
GroundTruth ReadDcgmExporter(std::string_view text);
GroundTruth ReadDcgmDmon(std::string_view text);
// torch and JAX counters, rocm-smi, amd-smi, a JSON number.
GroundTruth ReadTruthJson(std::string_view text);

}  // namespace memtool::formats::ground_truth
