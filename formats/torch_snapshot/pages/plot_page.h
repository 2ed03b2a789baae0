// Pages that PyTorch 2.0 drew (trace_plot, segment_plot, profile_plot) hold what their script draws
// and no snapshot: columns of numbers, and stacks as lines of text.
#pragma once

#include <string>
#include <string_view>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"

namespace memtool::formats::torch_snapshot {

// Whether the beginning of a page is that of a drawn one.
bool IsPlotPage(std::string_view head);
// The snapshot as far as it was drawn, as a pickle; reads the page to its end. Throws ReadError.
std::string ReadPlotPage(ByteWindow& page, const Limits& limits);

}  // namespace memtool::formats::torch_snapshot
