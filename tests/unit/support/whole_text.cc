#include "support/whole_text.h"

#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

namespace memtool::test {

namespace {

// The structs are taken apart by structured bindings: a member that is added to the model and not
// here does not compile.
std::string Text(const SampleType& row);
std::string Text(const Mapping& row);
std::string Text(const Function& row);
std::string Text(const Line& row);
std::string Text(const Location& row);
std::string Text(const Label& row);
std::string Text(const Diagnostic& row);
std::string Text(const BlindSpot& row);
std::string Text(const Counter& row);
std::string Text(const Setting& row);
std::string Text(const Statement& row);
std::string Text(const UnreadLine& row);
std::string Text(const MemoryDomain& row);
std::string Text(const Trace& row);
std::string Text(const Event& row);
std::string Text(const Mark& row);
std::string Text(const AddressRange& row);
std::string Text(const Breakdown& row);
std::string Text(const BreakdownPart& row);
std::string Text(const Segment& row);
std::string Text(const Block& row);
std::string Text(const Origin& row);
std::string Text(const Metadata& row);
std::string Text(const Profile& row);
std::string Text(const History& row);
std::string Text(const AllocatorState& row);

template <class T>
std::string Text(const RowVector<T>& values);

template <class T>
std::string Text(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<int>(value));
  } else {
    return std::to_string(value);
  }
}
template <class Tag>
std::string Text(const Id<Tag>& id) {
  return id.valid() ? std::to_string(id.value()) : "none";
}
std::string Text(const std::string& text) {
  return "'" + text + "'";
}
template <class T>
std::string Text(const std::optional<T>& value) {
  return value ? Text(*value) : "absent";
}
template <class Values>
std::string TextOfAll(const Values& values) {
  std::string all = "[";
  for (const auto& value : values) {
    all += Text(value) + " ";
  }
  return all + "]";
}
template <class T>
std::string Text(const std::vector<T>& values) {
  return TextOfAll(values);
}
template <class T>
std::string Text(const RowVector<T>& values) {
  return TextOfAll(values);
}
template <class First, class... More>
std::string Row(const First& first, const More&... more) {
  return ((Text(first)) + ... + (" " + Text(more))) + "\n";
}

std::string Text(const SampleType& row) {
  const auto& [type, unit, role] = row;
  return Row(type, unit, role);
}
std::string Text(const Mapping& row) {
  const auto& [a, b, c, d, e, f, g, h, i] = row;
  return Row(a, b, c, d, e, f, g, h, i);
}
std::string Text(const Function& row) {
  const auto& [a, b, c, d] = row;
  return Row(a, b, c, d);
}
std::string Text(const Line& row) {
  const auto& [a, b, c] = row;
  return Row(a, b, c);
}
std::string Text(const Location& row) {
  const auto& [a, b, c, d, e] = row;
  return Row(a, b, c, d, e);
}
std::string Text(const Label& row) {
  const auto& [a, b, c, d, e] = row;
  return Row(a, b, c, d, e);
}
std::string Text(const Diagnostic& row) {
  const auto& [a, b, c, d, e] = row;
  return Row(a, b, c, d, e);
}
std::string Text(const BlindSpot& row) {
  const auto& [a, b] = row;
  return Row(a, b);
}
std::string Text(const Counter& row) {
  const auto& [a, b, c] = row;
  return Row(a, b, c);
}
std::string Text(const Setting& row) {
  const auto& [a, b] = row;
  return Row(a, b);
}
std::string Text(const Statement& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = row;
  return Row(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
}
std::string Text(const UnreadLine& row) {
  const auto& [a, b] = row;
  return Row(a, b);
}
std::string Text(const MemoryDomain& row) {
  const auto& [a, b, c, d, e, f] = row;
  return Row(a, b, c, d, e, f);
}
std::string Text(const Trace& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = row;
  return Row(a, b, c, d, e, f, g, h, i, j, k, l, m);
}
std::string Text(const Event& row) {
  const auto& [a, b, c, d, e, f, g] = row;
  return Row(a, b, c, d, e, f, g);
}
std::string Text(const Mark& row) {
  const auto& [a, b, c, d] = row;
  return Row(a, b, c, d);
}
std::string Text(const AddressRange& row) {
  const auto& [a, b, c, d, e] = row;
  return Row(a, b, c, d, e);
}
std::string Text(const Breakdown& row) {
  const auto& [a, b, c, d] = row;
  return Row(a, b, c, d);
}
std::string Text(const BreakdownPart& row) {
  const auto& [a, b, c] = row;
  return Row(a, b, c);
}
std::string Text(const Segment& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = row;
  return Row(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
}
std::string Text(const Block& row) {
  const auto& [a, b, c, d, e] = row;
  return Row(a, b, c, d, e);
}
std::string Text(const Origin& row) {
  const auto& [a, b, c, d, e, f, g, h] = row;
  return Row(a, b, c, d, e, f, g, h);
}
std::string Text(const Metadata& row) {
  const auto& [a, b, c, d, e, packing, f, g, h, i, j, k, l, m, n, o] = row;
  return Row(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
}
std::string Text(const Profile& row) {
  const auto& [a, b, c, d, e, f, sums] = row;  // sums of the columns say nothing more
  return Row(a, b, c, d, e, f);
}
std::string Text(const History& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k] = row;
  return Row(a, b, c, d, e, f, g, h, i, j, k);
}
std::string Text(const AllocatorState& row) {
  const auto& [a, b] = row;
  return Row(a, b);
}
template <class Runs>
std::string RunsText(const Runs& runs, std::size_t count,
                     const std::function<std::string(std::uint32_t)>& row) {
  std::string text = std::to_string(runs.items().size()) + "\n";
  for (std::uint32_t i = 0; i < count; ++i) {
    text += row(i) + "\n";
  }
  return text;
}
}  // namespace

std::string WholeText(const Recording& recording) {
  const auto& [strings, mappings, functions, lines, locations, stacks, label_sets, metadata,
               diagnostics, blind_spots, profile, history, state, counters, settings, statements,
               unread] = recording;
  std::string text;
  for (std::uint32_t i = 0; i < strings.size(); ++i) {
    text += Text(std::string(strings[StringId(i)])) + "\n";
  }
  text += Row(mappings, functions, lines, locations, metadata, diagnostics, blind_spots, profile,
              counters, settings, statements, unread);
  text += RunsText(stacks, stacks.size(), [&](std::uint32_t i) {
    const auto items = recording.Stack(StackId(i));
    return Text(std::vector(items.begin(), items.end()));
  });
  text += RunsText(label_sets, label_sets.size(), [&](std::uint32_t i) {
    const auto items = recording.Labels(LabelSetId(i));
    return Text(std::vector(items.begin(), items.end()));
  });
  text += history ? Text(*history) : "no history\n";
  return text + (state ? Text(*state) : "no state\n");
}

}  // namespace memtool::test
