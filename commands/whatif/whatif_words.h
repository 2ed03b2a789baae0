// What the answer of whatif says in sentences.
#pragma once

#include <string>
#include <vector>

#include "memtool/profile/answers/whatif.h"

namespace memtool::commands {

// "as recorded", "PyTorch's defaults", or the settings.
std::string SettingText(const WhatifRow& row);
// "22.10 GiB", "22.10 to 23.40 GiB".
std::string NeedText(const WhatifRow& row);
// "no", "at event 421", "maybe, at event 421"; empty without a limit.
std::string OomText(const WhatifRow& row);

// "cannot be replayed: …"; empty where nothing stands in the way.
std::string ObstacleText(const whatif::Fidelity& fidelity);
// The sentence on top: what the best setting of a device needs, and today's.
std::string AnswerText(const WhatifAnswer& answer, const WhatifDevice& device);
// How true the model is to the recording.
std::string FidelityText(const WhatifDevice& device);
// What the process could get, and how that is known.
std::string LimitText(const WhatifAnswer& answer, const WhatifDevice& device);
// What to keep in mind about the figures.
std::vector<std::string> MakeNotes(const WhatifAnswer& answer);

}  // namespace memtool::commands
