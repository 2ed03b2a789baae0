#include "memtool/profile/history/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

// Each group has the number of its name, in the order in which they come up.
template <class Index, class MakeName>
std::uint32_t GroupOf(Index& index, const typename Index::key_type& key,
                      std::vector<AllocationGroups::Name>& names, MakeName make_name) {
  const auto [it, added] = index.try_emplace(key, static_cast<std::uint32_t>(names.size()));
  if (added) {
    names.push_back(make_name());
  }
  return it->second;
}

// What each stack allocated in the whole history, and what was there without an allocation.
StackSums SumAllocations(const Recording& recording) {
  std::vector<std::int64_t> bytes(recording.stack_count());
  const auto add = [&bytes](StackId stack, std::int64_t size) {
    if (stack.valid()) {
      bytes[stack.value()] = SaturatingAdd(bytes[stack.value()], size);
    }
  };
  for (const Event& event : recording.history->events) {
    add(event.action == Action::kAlloc ? event.stack : StackId(), event.size);
  }
  StackSums sums;
  for (std::uint32_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != 0) {
      sums.rows.push_back({.stack = StackId(i), .value = bytes[i]});
    }
  }
  return sums;
}

// Functions that share name and file need a line to be told apart: the one that allocated most.
void AddLines(const View& view, const By& by, NodeSpace& space, AllocationGroups& groups) {
  if (by.kind != By::Kind::kFrame || !view.recording().history) {
    return;
  }
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> counts;
  const auto count = [&counts](const AllocationGroups::Name& name) -> std::size_t& {
    return counts[{name.name.view().substr(0, SharedText::kHead),
                   name.file.view().substr(0, SharedText::kHead)}];
  };
  bool repeated = false;
  for (const AllocationGroups::Name& name : groups.names) {
    repeated = (name.line == 0 && ++count(name) > 1) || repeated;
  }
  if (!repeated) {
    return;
  }
  FlatCum flat_cum(space);
  flat_cum.Add(view, SumAllocations(view.recording()), by.granularity);
  const std::vector<Place> places = flat_cum.Places();
  for (AllocationGroups::Name& name : groups.names) {
    if (count(name) > 1 && name.line == 0 && name.node.valid()) {
      name.line = places[name.node.value()].line;
    }
  }
}

AllocationGroups GroupByStack(const View& view, const By& by, NodeSpace& space) {
  using Name = AllocationGroups::Name;
  const Recording& recording = view.recording();
  AllocationGroups groups;
  std::map<std::vector<StringId>, std::uint32_t> stacks;
  KeyMap<NodeId, std::uint32_t> nodes;
  NodeWalker walker(view, by.granularity, space);
  NodeStack stack;
  groups.of_stack.assign(recording.stack_count(), AllocationGroups::kRest);
  for (std::uint32_t i = 0; i < groups.of_stack.size(); ++i) {
    if (!walker.Expand({.stack = StackId(i)}, stack)) {
      continue;
    }
    if (stack.nodes.empty()) {
      groups.of_stack[i] =
          GroupOf(stacks, {}, groups.names, [] { return Name{.name = std::string(kNoStack)}; });
    } else if (by.kind == By::Kind::kStack) {
      const std::vector<StringId> key = space.StackNames(stack.nodes);
      groups.of_stack[i] = GroupOf(stacks, key, groups.names, [&] {
        return Name{.name = space.ShareStack(key), .stack = StackId(i)};
      });
    } else {
      const NodeId node = stack.nodes.front();
      groups.of_stack[i] = GroupOf(nodes, node, groups.names, [&] {
        const Node& of = space[node];
        Name name{.name = space.Share(of.name),
                  .file = space.Share(of.file),
                  .line = of.line,
                  .node = node};
        if (name.name.empty()) {
          name.name = std::exchange(name.file, {});  // rows of files have no function
        }
        return name;
      });
    }
  }
  AddLines(view, by, space, groups);
  return groups;
}

AllocationGroups GroupByLabel(const Recording& recording, const std::string& key) {
  AllocationGroups groups;
  KeyMap<std::string, std::uint32_t> index;
  const auto group_of = [&](const std::string& text) {
    return GroupOf(index, text, groups.names, [&] { return AllocationGroups::Name{.name = text}; });
  };
  if (key == "stream") {  // named as AtMoment names it
    for (const std::uint64_t stream : recording.history->streams) {
      groups.of_stream.push_back(group_of(fmt::format("{:#x}", stream)));
    }
    return groups;
  }
  for (std::uint32_t i = 0; i < recording.label_set_count(); ++i) {
    const std::string text = LabelValues(recording, LabelSetId(i), key);
    groups.of_label.push_back(group_of(text.empty() ? fmt::format("(no {})", key) : text));
  }
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
    const auto word =
        DecidingWord(*by.keywords, matches.Words(matches.Of(StackId(i), LabelSetId(0U))), axis);
    groups.of_stack[i] = word ? by.keywords->places()[*word].category : others;
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
