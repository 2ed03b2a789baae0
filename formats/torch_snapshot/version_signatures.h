// Which version of PyTorch wrote a snapshot, inferred from its keys.
#pragma once

#include <array>
#include <string_view>

#include "torch_snapshot/wire/words.h"

namespace memtool::formats::torch_snapshot {

struct Era {
  std::string_view name;
  std::uint64_t keys;  // none of which is older
};

// Newest first; the last has none of these keys.
inline constexpr std::array<Era, 10> kEras{
    {{"2.12 or later", Bit(Word::kHostSegments) | Bit(Word::kHostTraces) |
                           Bit(Word::kTraceAllocOverflowed) | Bit(Word::kInternalMetadata)},
     {"2.11 or later", Bit(Word::kPoolId) | Bit(Word::kForwardFrames)},
     {"2.10", Bit(Word::kUserMetadata) | Bit(Word::kGraphCaptureRecordStreamReuse)},
     {"2.8 or 2.9", Bit(Word::kCompileContext)},
     {"2.5 to 2.7", Bit(Word::kExternalAnnotations)},
     {"2.3 or 2.4", Bit(Word::kAllocatorSettings)},
     {"2.2 to 2.4", Bit(Word::kTimeUs)},
     {"2.1 or later", Bit(Word::kSegmentPoolId) | Bit(Word::kIsExpandable)},
     {"2.0 or later", Bit(Word::kRequestedSize)},
     {"1.12 to 2.0", 0}}};

}  // namespace memtool::formats::torch_snapshot
