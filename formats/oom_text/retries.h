// PyTorch's warnings about a failed attempt, and the internal errors that occur in their place.
#pragma once

#include <span>

#include "oom_text/wording.h"

namespace memtool::formats::oom_text {

std::span<const Form> RetryForms();

}  // namespace memtool::formats::oom_text
