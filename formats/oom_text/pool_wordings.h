// Out-of-memory messages of the pool that XLA and TensorFlow share.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "oom_text/wording.h"

namespace memtool::formats::oom_text {

// Where the first of them begins in `text`; npos for none. What is found may fail to parse.
std::size_t FindOtherWording(std::string_view text);
// Reads the one that `text` begins with. None when there is none.
std::optional<Parsed> ParseOtherWording(std::string_view text);

}  // namespace memtool::formats::oom_text
