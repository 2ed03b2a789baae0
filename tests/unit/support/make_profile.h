// Small recordings, written as text, and reports as text: what tests of analyses compare.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/filter.h"

namespace memtool::test {

class ProfileMaker {
 public:
  using Types = std::vector<std::pair<std::string, std::string>>;
  explicit ProfileMaker(const Types& types = {{"allocations", "count"}, {"space", "bytes"}},
                        std::string_view default_type = "");

  // `stack`: frames from the root, joined with ';', each "name", "name@file" or "name@file:line";
  // "outer+inner": inner was inlined, one location. A frame may end in "!mapping"; "!mapping" alone
  // has no symbol. Empty = no stack. `labels`: "key=text key=#12unit", separated by spaces;
  // a ~ in a text is a space.
  ProfileMaker& Sample(std::string_view stack, const std::vector<std::int64_t>& values,
                       std::string_view labels = "");
  Recording Finish();

 private:
  LocationId Location(std::string_view frame);
  Line MakeLine(std::string_view text);

  RecordingBuilder builder_;
  std::map<std::string, LocationId> locations_;
  std::map<std::string, MappingId> mappings_;
  std::map<std::pair<std::string, std::string>, FunctionId> functions_;
  std::map<std::string, StackId> stacks_;
};

// Frame mode all: in tests of other filters no frames should vanish.
FilterOptions AllFrames();

// "name flat cum" per row, as sorted by the analysis; `by` as on the command line.
std::vector<std::string> Top(const Recording& recording, std::string_view by = "function",
                             const FilterOptions& options = AllFrames(),
                             std::string_view sample_index = "");
// "root;leaf value" per distinct stack.
std::vector<std::string> Stacks(const Recording& recording,
                                const FilterOptions& options = AllFrames());

// Everything a recording says, in an order that does not depend on row numbers or on the order of
// samples: equal recordings, equal text.
std::string Canonical(const Recording& recording);

// A small profile with recursion, inlining, negative values and labels.
Recording RandomProfile(std::uint32_t seed);

}  // namespace memtool::test
