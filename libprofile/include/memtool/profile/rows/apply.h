// What a view lets through, as a recording of its own: for work that needs every row, such as
// writing a file.
#pragma once

#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/filter.h"
#include "memtool/profile/select/view.h"

namespace memtool {

struct Applied {
  Recording recording;
  // Options that were given but matched nothing ("focus"); those about labels go by the labels of
  // samples that the filters before them have kept (pprof's rule).
  std::vector<std::string_view> unmatched;
};

// Samples that are dropped, frames that are hidden and labels that are not shown are gone; the rest
// keeps its order, and locations, functions and mappings their rows (a location without a visible
// line becomes one without symbols). Frame modes and label frames do not count: neither changes
// what was recorded. The view's recording holds a profile.
Result<Applied> Apply(const View& view);

}  // namespace memtool
