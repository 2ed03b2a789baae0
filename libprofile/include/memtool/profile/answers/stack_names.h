// What the stacks of a recording are called, worked out once for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/value.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/select/view.h"

namespace memtool {

// A stack without frames, or none, is called kNoStack and has nothing else.
struct StackName {
  SharedText name;  // of the innermost frame that the view shows
  SharedText file;
  std::int64_t line = 0;
  SharedText via;                // the call into a framework, when frames were hidden
  std::vector<NodeId> frames{};  // innermost first, of the space that made it
  const NodeSpace* space = nullptr;

  // "root;caller;leaf"; empty for a stack without frames. Made anew each time: together such texts
  // may be far longer than the input.
  [[nodiscard]] std::string Stack() const;
  // [{name, file, line}], innermost first.
  [[nodiscard]] Value Frames() const;
};

class StackNames {
 public:
  struct Frame {
    std::string_view name;
    std::string_view file;
    std::int64_t line = 0;
  };

  // The view is kept by reference. Frames are distinguished by line.
  explicit StackNames(const View& view);
  // References to names stay valid as long as this object.
  const StackName& Of(StackId stack);
  [[nodiscard]] Frame GetFrame(NodeId node) const;

 private:
  NodeSpace space_;
  NodeWalker walker_;
  NodeStack nodes_;
  std::vector<std::optional<StackName>> names_;  // per stack
  StackName none_;
};

}  // namespace memtool
