// What the tests of the snapshot reader share.
#pragma once

#include <string>

#include "memtool/formats/open.h"

namespace memtool::tests {

// A file of the corpus that make_snapshots.py wrote.
std::string CorpusFile(const std::string& name);
std::string ReadWhole(const std::string& path);
Result<Recording> LoadText(const std::string& bytes);
// Everything that a snapshot says, except how it was written, as text to compare.
std::string Describe(const Recording& recording);
std::string StackText(const Recording& recording, StackId stack);
// The label set of an event: "compile_context=0/1 stream=7".
std::string LabelText(const Recording& recording, std::size_t event);

}  // namespace memtool::tests
