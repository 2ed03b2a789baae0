#include "memtool/profile/answers/stack_names.h"

#include "memtool/profile/model/label_text.h"

namespace memtool {

StackNames::StackNames(const View& view)
    : walker_(view, Granularity::kLine, space_), names_(view.recording().stack_count()) {
  none_.name = kNoStack;
}

const StackName& StackNames::Of(StackId stack) {
  if (!stack.valid()) {
    return none_;
  }
  std::optional<StackName>& name = names_[stack.value()];
  if (name) {
    return *name;
  }
  if (!walker_.Expand({.stack = stack}, nodes_) || nodes_.nodes.empty()) {
    return name.emplace(none_);
  }
  name.emplace();
  const Frame leaf = GetFrame(nodes_.nodes.front());
  name->name = leaf.name;
  name->file = leaf.file;
  name->line = leaf.line;
  name->via = nodes_.via.valid() ? space_.Name(nodes_.via) : std::string_view{};
  for (std::size_t i = nodes_.nodes.size(); i-- > 0;) {
    name->stack += std::string(space_.Name(nodes_.nodes[i])) + (i > 0 ? ";" : "");
  }
  name->frames = nodes_.nodes;
  return *name;
}

StackNames::Frame StackNames::GetFrame(NodeId node) const {
  return {space_.Name(node), space_.File(node), space_[node].line};
}

}  // namespace memtool
