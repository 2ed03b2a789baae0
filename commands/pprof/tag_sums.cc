#include "pprof/tag_sums.h"

#include <algorithm>

#include "memtool/profile/base/key_hash.h"
#include "pprof/graph.h"
#include "pprof/measure.h"

namespace memtool::commands::pprof {

TagTable::TagTable(const Recording& recording, const std::vector<std::string>& joined,
                   const LabelUnits& units, const std::string& output_unit) {
  const auto unit = units.find("bytes");
  unit_ = unit == units.end() ? "bytes" : unit->second;
  begin_.reserve(joined.size() + 1);
  for (std::uint32_t set = 0; set < joined.size(); ++set) {
    if (!joined[set].empty()) {
      uses_.push_back({ToNumber(joined[set], ""), 0});
    }
    for (const Label& label : recording.Labels(LabelSetId(set))) {
      if (!label.numeric || recording.Text(label.key) != "bytes") {
        continue;  // the only numbers that pprof draws
      }
      const std::string name = ScaledLabel(label.number, unit_, output_unit);
      uses_.push_back({ToNumber(joined[set], name), label.number});
    }
    begin_.push_back(uses_.size());
  }
}

std::uint32_t TagTable::ToNumber(const std::string& joined, const std::string& number) {
  const auto fresh = static_cast<std::uint32_t>(names_.size());
  const auto [found, added] = numbers_[joined].try_emplace(number, fresh);
  if (added) {
    names_.push_back({joined, number});
  }
  return found->second;
}

void TagTable::AddTo(NodeTags& tags, std::uint32_t tag, std::int64_t number, const Weight& flat,
                     const Weight& cum) const {
  const Name& name = names_[tag];
  if (name.number.empty()) {
    tags.texts.emplace(name.joined, Tag{.name = name.joined, .flat = flat, .cum = cum});
  } else {
    tags.numbers[name.joined].emplace(
        name.number,
        Tag{.name = name.number, .unit = unit_, .number = number, .flat = flat, .cum = cum});
  }
}

void StackTags::Clear() {
  for (const Sum& sum : sums_) {
    row_[sum.tag] = 0;
  }
  sums_.clear();
}

void StackTags::Add(std::span<const TagTable::Use> uses, std::size_t sample, const Weight& weight) {
  for (const auto& [tag, number] : uses) {
    if (row_[tag] == 0) {
      sums_.push_back({.tag = tag, .first = sample, .number = number});
      row_[tag] = static_cast<std::uint32_t>(sums_.size());
    }
    pprof::Add(sums_[row_[tag] - 1].weight, weight);
  }
}

std::size_t NodeTagSums::Find(std::uint32_t node, std::uint32_t tag) const {
  const std::uint64_t key = std::uint64_t{node} << 32U | tag;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = static_cast<std::size_t>(HashNumber(key)) & mask;
  while (slots_[at] != 0 &&
         (entries_[slots_[at] - 1].node != node || entries_[slots_[at] - 1].tag != tag)) {
    at = (at + 1) & mask;
  }
  return at;
}

void NodeTagSums::Grow() {
  constexpr std::size_t kFirst = 1024;
  slots_.assign(std::max(kFirst, slots_.size() * 2), 0);
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    slots_[Find(entries_[i].node, entries_[i].tag)] = i + 1;
  }
}

void NodeTagSums::Add(std::uint32_t node, const StackTags::Sum& sum, bool flat) {
  if ((entries_.size() + 1) * 2 > slots_.size()) {
    Grow();
  }
  std::uint32_t& slot = slots_[Find(node, sum.tag)];
  if (slot == 0) {
    entries_.push_back({.node = node, .tag = sum.tag, .first = sum.first, .number = sum.number});
    slot = static_cast<std::uint32_t>(entries_.size());
  }
  Entry& entry = entries_[slot - 1];
  if (sum.first < entry.first) {
    entry.first = sum.first;
    entry.number = sum.number;
  }
  pprof::Add(flat ? entry.flat : entry.cum, sum.weight);
}

std::vector<NodeTags> NodeTagSums::Named(const TagTable& table, std::size_t count,
                                         const std::vector<std::uint32_t>& shown) const {
  std::vector<char> wanted(count, 0);
  for (const std::uint32_t node : shown) {
    wanted[node] = 1;
  }
  std::vector<NodeTags> nodes(count);
  for (const Entry& entry : entries_) {
    if (wanted[entry.node] != 0) {
      table.AddTo(nodes[entry.node], entry.tag, entry.number, entry.flat, entry.cum);
    }
  }
  return nodes;
}

}  // namespace memtool::commands::pprof
