// Wordings of out-of-memory messages by RMM, CuPy, llama.cpp and vLLM.
#pragma once

#include <span>

#include "oom_text/wording.h"

namespace memtool::formats::oom_text {

std::span<const Form> LibraryWordings();

}  // namespace memtool::formats::oom_text
