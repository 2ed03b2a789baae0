// A Source that works ahead on a thread of its own, so that unpacking and reading what was unpacked
// happen side by side.
#pragma once

#include <memory>

#include "memtool/formats/source.h"

namespace memtool::formats {

// `source` is none that may wait for a writer, because the end of what is made from it waits for
// the Read() that is going on. The thread starts once the input has proved to be large, and only
// where a core is free for it and a thread can be made; else the bytes are read when they are asked
// for.
//
// `packed`: reading it takes work; a plain file, which costs less, has to be larger. SeekTo() of a
// plain file stops the thread, and another starts as at first.
std::unique_ptr<Source> MakeReadAhead(std::unique_ptr<Source> source, bool packed);

}  // namespace memtool::formats
