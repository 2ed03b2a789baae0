// What `memtool advise` says, in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/advise.h"

namespace memtool::commands {

// The answer of one device: what it needs, what would fit.
std::vector<std::string> AnswerLines(const AdviseAnswer& answer, const AdviseDevice& device);
// "33% of the forward again"
std::string CostText(const AdviseRow& row);
// "7.84 to 7.89 GiB"
std::string ReservedText(std::int64_t low, std::int64_t high);
// "measured ±5.0%"
std::string EvidenceText(const AdviseRow& row);
// "settings 1, foreach 2, …"
std::string CostsText();
// "forward, called at model.py:68"; empty for what is no place.
std::string PlaceText(const AdviseRow& row);
std::vector<std::string> MakeNotes(const AdviseAnswer& answer);

}  // namespace memtool::commands
