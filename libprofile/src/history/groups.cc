#include "memtool/profile/history/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

// Groups by name, in the order in which they come up.
class GroupNames {
 public:
  std::uint32_t Intern(const std::string& key, AllocationGroups::Name name) {
    const auto [it, added] = index_.emplace(key, static_cast<std::uint32_t>(names_.size()));
    if (added) {
      names_.push_back(std::move(name));
    }
    return it->second;
  }
  std::vector<AllocationGroups::Name> Take() { return std::move(names_); }

 private:
  KeyMap<std::string, std::uint32_t> index_;
  std::vector<AllocationGroups::Name> names_;
};

std::string StackText(const NodeSpace& space, const NodeStack& stack) {
  std::string text;
  for (std::size_t i = stack.nodes.size(); i-- > 0;) {
    text += space.Name(stack.nodes[i]);
    text += i > 0 ? ";" : "";
  }
  return text;
}

AllocationGroups GroupByStack(const View& view, const By& by, NodeSpace& space) {
  const Recording& recording = view.recording();
  AllocationGroups groups;
  GroupNames names;
  NodeWalker walker(view, by.granularity, space);
  NodeStack stack;
  groups.of_stack.assign(recording.stack_count(), AllocationGroups::kRest);
  for (std::uint32_t i = 0; i < groups.of_stack.size(); ++i) {
    if (!walker.Expand({.stack = StackId(i)}, stack)) {
      continue;
    }
    if (stack.nodes.empty()) {
      groups.of_stack[i] = names.Intern(std::string(kNoStack), {.name = std::string(kNoStack)});
    } else if (by.kind == By::Kind::kStack) {
      std::string text = StackText(space, stack);
      groups.of_stack[i] = names.Intern(";" + text, {.name = text});
    } else {
      const NodeId node = stack.nodes.front();
      groups.of_stack[i] =
          names.Intern(fmt::format("#{}", node.value()), {.name = space.ShareName(node),
                                                          .file = space.Share(space[node].file),
                                                          .line = space[node].line,
                                                          .node = node});
    }
  }
  groups.names = names.Take();
  for (AllocationGroups::Name& name : groups.names) {
    if (name.name.empty()) {
      name.name = std::exchange(name.file, {});  // rows of files have no function
    }
  }
  return groups;
}

AllocationGroups GroupByLabel(const Recording& recording, const std::string& key) {
  AllocationGroups groups;
  GroupNames names;
  if (key == "stream") {  // named as AtMoment names it
    for (const std::uint64_t stream : recording.history->streams) {
      const std::string text = fmt::format("{:#x}", stream);
      groups.of_stream.push_back(names.Intern(text, {.name = text}));
    }
    groups.names = names.Take();
    return groups;
  }
  for (std::uint32_t i = 0; i < recording.label_set_count(); ++i) {
    std::string text = LabelValues(recording, LabelSetId(i), key);
    text = text.empty() ? fmt::format("(no {})", key) : text;
    groups.of_label.push_back(names.Intern(text, {.name = text}));
  }
  groups.names = names.Take();
  return groups;
}

// By the words of a dictionary that match the stacks; words with label: match nothing here, because
// events are grouped by stack alone.
AllocationGroups GroupByBucket(const View& view, const By& by) {
  const Recording& recording = view.recording();
  const Dictionary& dictionary = by.keywords->dictionary();
  const std::size_t axis = AxisIndex(dictionary, by.axis).value_or(0);
  AllocationGroups groups;
  for (const Category& category : dictionary.axes[axis].categories) {
    groups.names.push_back({.name = category.name});
  }
  groups.names.push_back({.name = std::string(kOthers)});
  const auto others = static_cast<std::uint32_t>(groups.names.size() - 1);
  groups.of_stack.assign(recording.stack_count(), AllocationGroups::kRest);
  KeywordMatches matches(*by.keywords, recording);
  VisibleStack visible;
  for (std::uint32_t i = 0; i < groups.of_stack.size(); ++i) {
    if (!view.Expand(StackId(i), visible)) {
      continue;
    }
    std::uint32_t group = others;
    std::uint32_t rest = others;  // of words that count only when no other does
    for (const std::uint32_t word : matches.Words(matches.Of(StackId(i), LabelSetId(0U)))) {
      const WordPlace& place = by.keywords->places()[word];
      std::uint32_t& first = by.keywords->word(word).rest ? rest : group;
      first = place.axis == axis ? std::min(first, place.category) : first;
    }
    groups.of_stack[i] = group == others ? rest : group;
  }
  return groups;
}

}  // namespace

Result<AllocationGroups> GroupAllocations(const View& view, const By& by) {
  NodeSpace space;
  return GroupAllocations(view, by, space);
}

Result<AllocationGroups> GroupAllocations(const View& view, const By& by, NodeSpace& space) {
  switch (by.kind) {
    case By::Kind::kFrame:
    case By::Kind::kStack:
      return GroupByStack(view, by, space);
    case By::Kind::kLabel:
      return GroupByLabel(view.recording(), by.label);
    case By::Kind::kBucket:
      return GroupByBucket(view, by);
    case By::Kind::kTag:
    case By::Kind::kSize:
    case By::Kind::kInput:
      break;
  }
  return Fail(ErrorCode::kUsage,
              "--by: allocations are grouped by frames, stacks, a label or buckets",
              "function, filefunction, line, file, module, stack, label:KEY or bucket");
}

}  // namespace memtool
