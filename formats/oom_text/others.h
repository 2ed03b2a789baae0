// Out-of-memory messages that are not of PyTorch's allocators: of XLA and TensorFlow, of the
// runtime and the libraries, of the host.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "oom_text/wording.h"

namespace memtool::formats::oom_text {

// Where the first of them begins in `text`; npos for none. What is found need not parse.
std::size_t FindOther(std::string_view text);
// Reads the one that begins `text`. Nothing when there is none.
std::optional<Parsed> ParseOther(std::string_view text);

}  // namespace memtool::formats::oom_text
