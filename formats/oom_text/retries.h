// Messages of PyTorch's warnings of a try that failed, and the internal errors that end in their
// place.
#pragma once

#include <span>

#include "oom_text/wording.h"

namespace memtool::formats::oom_text {

std::span<const Form> RetryForms();

}  // namespace memtool::formats::oom_text
