// Memory without malloc, which may be the program's own.
#pragma once

#include <cstddef>

namespace memtool::capture {

// Zeroed pages, or nullptr. Pages that are never touched cost nothing.
void* MapPages(std::size_t bytes);

}  // namespace memtool::capture
