// --change and --conf: an input as another program, or other settings, would have made it.
#pragma once

#include <memory>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "options/input_options.h"

namespace memtool::commands {

// `recording` itself where neither option was given. Errors name the option.
Result<std::shared_ptr<const Recording>> Modelled(const InputOptions& inputs,
                                                  std::shared_ptr<const Recording> recording);

}  // namespace memtool::commands
