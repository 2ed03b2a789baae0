// Graphs of the fake driver: what is allocated in a captured stream becomes a node of one.
#pragma once

#include <cstddef>

#include "fakes/fake_books.h"

namespace fake {

// True when `stream` is being captured: the allocation is a node, and takes nothing.
bool NodeOfCapture(void* stream, std::size_t size, Pointer* pointer);
// True when the free is a node, or frees what a graph has allocated.
bool FreedInGraph(void* stream, Pointer pointer);

}  // namespace fake
