// XSpace → planes, as it streams by: of the host all events, of devices only the figures.
#pragma once

#include <functional>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "support/byte_cursor.h"
#include "xplane/plane.h"

namespace memtool::formats::xplane {

// Throws ReadError.
Space ReadSpace(ByteWindow& in, const Limits& limits);

// Calls visit(Stat) for each stat in bytes of fields `number` (4 in events, 6 in planes, 5 in event
// metadata); other fields are passed over. Throws ReadError.
void ForEachStat(std::span<const std::byte> bytes, std::uint64_t number,
                 const std::function<void(const Stat&)>& visit);

}  // namespace memtool::formats::xplane
