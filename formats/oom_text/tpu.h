// Messages of XLA on TPUs: its runtime, and the memory spaces that its compiler fills.
#pragma once

#include <span>

#include "oom_text/wording.h"

namespace memtool::formats::oom_text {

std::span<const Form> TpuForms();

}  // namespace memtool::formats::oom_text
