// What a line says, without what frames it.
#pragma once

#include <cstddef>
#include <string_view>

namespace memtool::formats::oom_text {

// Without the box-drawing characters at the end of a line.
std::string_view WithoutFrame(std::string_view line);
// A continuation without its tag and the characters of boxes, comments and quotes before it.
std::string_view GetBody(std::string_view line, std::string_view tag);
// Whether what begins there is a literal in a line of Python, which a traceback quotes: behind
// `raise ValueError("`, or in a line of its own far from the margin.
bool IsInSource(std::string_view line, std::size_t begin);

}  // namespace memtool::formats::oom_text
