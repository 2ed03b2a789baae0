// XSpace → planes: of the host what is about memory, of devices only the figures.
#pragma once

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "xplane/plane.h"

namespace memtool::formats::xplane {

// Goes through the file twice, because names come after what has them; what cannot be read twice is
// copied to a temporary file. Throws ReadError.
Space ReadSpace(ByteWindow& in, const Limits& limits);

}  // namespace memtool::formats::xplane
