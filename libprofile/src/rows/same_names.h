// Functions of one file that have the same name: the methods "forward" of several classes. Rows by
// function and file keep them apart where a recording distinguishes them. Of Python only.
#pragma once

#include <cstdint>
#include <vector>

#include "memtool/profile/model/recording.h"

namespace memtool {

// Per row of Recording::lines: where its function begins, as far as is known, if several functions
// have its name and file; else 0. Formats that say where functions begin are taken at their word.
// Otherwise a name stands for several functions when one line of it calls another, but never the
// other way round nor itself, as recursion would; neighbouring lines that the same line calls are
// then one function, which begins with the first of them. Lambdas are distinguished by line.
std::vector<std::int64_t> PartsOfNames(const Recording& recording);

}  // namespace memtool
