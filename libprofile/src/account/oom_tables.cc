#include "memtool/profile/account/oom_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"

namespace memtool {

namespace {

using Number = std::optional<OomNumber>;

Quantity ToQuantity(const OomNumber& number) {
  return {.bytes = number.bytes, .precision = number.precision, .source = "message"};
}

void AddPart(MemoryBreakdown& breakdown, std::string_view key, const Number& part) {
  if (part && part->bytes != 0) {
    breakdown.parts.push_back(
        {.key = std::string(key), .bytes = part->bytes, .precision = part->precision});
  }
}

// A TPU's program in its own parts, where they are known; else as one.
void AddProgram(MemoryBreakdown& breakdown, const OomProgram& program) {
  const std::array<std::pair<std::string_view, const Number*>, 4> parts{
      {{"temporaries", &program.temporaries},
       {"globals", &program.globals},
       {"scoped", &program.scoped},
       {"overlays", &program.overlays}}};
  const bool divided = std::any_of(parts.begin(), parts.end(),
                                   [](const auto& part) { return part.second->has_value(); });
  if (!divided) {
    return AddPart(breakdown, "program", program.program);
  }
  for (const auto& [key, part] : parts) {
    AddPart(breakdown, key, *part);
  }
}

// The numbers of "8388608,8,4" up to `end`, which is consumed.
std::vector<std::int64_t> NumbersUpTo(std::string_view& text, std::string_view ends) {
  constexpr std::size_t kMaxDimensions = 64;
  std::vector<std::int64_t> numbers;
  while (numbers.size() < kMaxDimensions && !text.starts_with('-')) {
    const auto number = TakeNumber<std::int64_t>(text);
    if (!number) {
      break;
    }
    numbers.push_back(*number);
    if (!text.starts_with(',')) {
      break;
    }
    text.remove_prefix(1);
  }
  const bool whole = !text.empty() && ends.find(text.front()) != std::string_view::npos;
  text.remove_prefix(whole ? 1 : 0);
  return whole ? numbers : std::vector<std::int64_t>();
}

}  // namespace

std::optional<MemoryBreakdown> MakeBreakdown(const OomProgram& program) {
  const Number& whole = program.total ? program.total : program.program;
  if (!whole) {
    return std::nullopt;
  }
  MemoryBreakdown breakdown{.kind = BreakdownTotal::kProgram, .whole = ToQuantity(*whole)};
  if (program.total) {
    AddPart(breakdown, "arguments", program.arguments);
    AddPart(breakdown, "heap", program.heap);
    AddPart(breakdown, "reserved", program.reserved);
  }
  AddPart(breakdown, "constants", program.constants);
  AddPart(breakdown, "outputs", program.outputs);
  AddProgram(breakdown, program);
  std::int64_t left = whole->bytes;
  std::int64_t precision = whole->precision;
  for (const OomPart& part : breakdown.parts) {
    left = SaturatingSubtract(left, part.bytes);
    precision = SaturatingAdd(precision, part.precision);
  }
  const bool rounding = Magnitude(left) <= precision;
  if (left < 0 && rounding) {  // the parts say it more exactly
    breakdown.whole.bytes = SaturatingSubtract(breakdown.whole.bytes, left);
  } else if (left != 0) {
    breakdown.adds_up = left > 0 || rounding;
    breakdown.parts.push_back(
        {.key = rounding ? "rounding" : "rest", .bytes = left, .precision = precision});
  }
  return breakdown;
}

std::vector<OomBufferGroup> MakeGroups(const OomProgram& program) {
  using Key = std::tuple<std::string_view, std::string_view, std::int64_t, std::string_view, bool>;
  std::map<Key, OomBufferGroup> groups;
  for (const OomBuffer& buffer : program.buffers) {
    OomBufferGroup& group =
        groups[{buffer.name, buffer.file, buffer.line, buffer.shape, buffer.argument}];
    group.first = group.first == nullptr ? &buffer : group.first;
    ++group.count;
    group.bytes = SaturatingAdd(group.bytes, buffer.size.bytes);
    group.precision = SaturatingAdd(group.precision, buffer.size.precision);
    group.padding = SaturatingAdd(group.padding, buffer.padding ? buffer.padding->bytes : 0);
  }
  std::vector<OomBufferGroup> sorted;
  sorted.reserve(groups.size());
  for (const auto& [key, group] : groups) {
    sorted.push_back(group);
  }
  // By name where sizes are equal: the map's order.
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const OomBufferGroup& a, const OomBufferGroup& b) { return a.bytes > b.bytes; });
  return sorted;
}

std::optional<OomTiles> ParseTiles(std::string_view shape) {
  const std::size_t open = shape.find('[');
  if (open == std::string_view::npos) {
    return std::nullopt;
  }
  shape.remove_prefix(open + 1);
  const auto dimensions = NumbersUpTo(shape, "]");
  if (dimensions.size() < 2 || !shape.starts_with('{')) {
    return std::nullopt;
  }
  shape.remove_prefix(1);
  const auto order = NumbersUpTo(shape, ":");  // the innermost first
  constexpr std::string_view kTile = "T(";
  if (order.size() != dimensions.size() || !shape.starts_with(kTile)) {
    return std::nullopt;
  }
  shape.remove_prefix(kTile.size());
  const auto tile = NumbersUpTo(shape, ")");
  const auto size = static_cast<std::int64_t>(dimensions.size());
  if (tile.size() != 2 || order[0] >= size || order[1] >= size) {
    return std::nullopt;
  }
  return OomTiles{.second = dimensions[static_cast<std::size_t>(order[1])],
                  .minor = dimensions[static_cast<std::size_t>(order[0])],
                  .tile_second = tile[0],
                  .tile_minor = tile[1]};
}

}  // namespace memtool
