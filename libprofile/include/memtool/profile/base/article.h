// Words of messages.
#pragma once

#include <string>
#include <string_view>

namespace memtool {

// With the indefinite article that it is spoken with: "a PyTorch snapshot", "an MXNet memory log".
std::string WithArticle(std::string_view noun);

}  // namespace memtool
