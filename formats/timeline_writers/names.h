// What the allocations of a picture are called: the innermost frame that commands would show, by
// their default rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memtool/formats/writer.h"
#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/rows/node_space.h"

namespace memtool::formats {

struct ExportName {
  std::uint32_t number = 0;  // equal names have one; 0 is "(no stack)"
  std::string_view name;
  std::string_view file;
};

// Both arguments are kept by reference.
class ExportNames {
 public:
  ExportNames(const Recording& recording, const WriteOptions& options);
  // Valid as long as this. `stack` may be none.
  ExportName Of(StackId stack);

 private:
  Filter none_;
  View view_;
  NodeSpace space_;
  NodeWalker walker_;
  NodeStack visible_;
  std::vector<std::uint32_t> of_stack_;  // node + 1 per stack
};

}  // namespace memtool::formats
