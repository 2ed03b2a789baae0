// The snapshot inside a page that PyTorch's trace_plot or segment_plot wrote: base64 in a script.
#pragma once

#include <memory>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/source.h"

namespace memtool::formats::torch_snapshot {

// Moves to the first byte of base64; throws ReadError when the page holds none.
void FindEmbedded(ByteWindow& page);
// Decodes from the current position of `page` up to the closing quote.
std::unique_ptr<Source> MakeBase64Source(ByteWindow& page);

}  // namespace memtool::formats::torch_snapshot
