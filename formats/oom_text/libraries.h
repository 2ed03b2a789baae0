// Messages of allocators and servers above the driver: RMM, CuPy, llama.cpp, vLLM.
#pragma once

#include <span>

#include "oom_text/wording.h"

namespace memtool::formats::oom_text {

std::span<const Form> LibraryForms();

}  // namespace memtool::formats::oom_text
