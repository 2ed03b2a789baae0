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
  const NodeId leaf = nodes_.nodes.front();
  name->name = space_.ShareName(leaf);
  name->file = space_.Share(space_[leaf].file);
  name->line = space_[leaf].line;
  name->via = nodes_.via.valid() ? space_.ShareName(nodes_.via) : SharedText();
  name->frames = nodes_.nodes;
  name->space = &space_;
  return *name;
}

std::string StackName::Stack() const {
  std::string text;
  for (std::size_t i = frames.size(); i-- > 0;) {
    text += space->Name(frames[i]);
    text += i > 0 ? ";" : "";
  }
  return text;
}

Value StackName::Frames() const {
  Value::List list;
  for (const NodeId node : frames) {
    const std::int64_t at = (*space)[node].line;
    list.emplace_back(Value::Object{{"name", std::string(space->Name(node))},
                                    {"file", std::string(space->File(node))},
                                    {"line", at > 0 ? Value(at) : Value()}});
  }
  return list;
}

StackNames::Frame StackNames::GetFrame(NodeId node) const {
  return {space_.Name(node), space_.File(node), space_[node].line};
}

}  // namespace memtool
