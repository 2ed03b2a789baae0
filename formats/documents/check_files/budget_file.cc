#include <fmt/format.h>

#include <utility>

#include "documents/keywords/yaml_tree.h"
#include "memtool/formats/baseline.h"

namespace memtool::formats {

namespace {

constexpr TreeWords kBudgetWords{.noun = "budget",
                                 .example = "peak: 70GiB",
                                 .nesting = "devices, buckets or functions, a name, a size"};

std::int64_t SizeIn(const YamlValue::Member& member, SizeBase base) {
  if (member.value.kind != YamlValue::Kind::kText) {
    Refuse(member.value.mark,
           fmt::format("'{}' is {} where a size was expected", member.key,
                       KindName(member.value.kind)),
           std::string(kBudgetWords.example));
  }
  const auto size = ParseSize(member.value.text, base);
  if (!size) {
    Refuse(member.value.mark, fmt::format("'{}': {}", member.key, size.error().message),
           "write it as 70GiB or 512MiB");
  }
  // Nobody means 20 bytes by it.
  constexpr std::int64_t kLeastWithoutUnit = std::int64_t{1} << 20U;
  const std::string& text = member.value.text;
  if (*size > 0 && *size < kLeastWithoutUnit && text.back() >= '0' && text.back() <= '9') {
    Refuse(member.value.mark, fmt::format("'{}': {} bytes?", member.key, text),
           fmt::format("did you mean {}GiB? {}B is bytes", text, text));
  }
  return *size;
}

// Calls `take` for each name and size of a map.
template <class Take>
void ForEachSize(const YamlValue::Member& member, SizeBase base, const Take& take) {
  if (member.value.kind != YamlValue::Kind::kMap) {
    Refuse(member.value.mark,
           fmt::format("'{}' is {} where names with sizes were expected", member.key,
                       KindName(member.value.kind)),
           fmt::format("{}:\n  NAME: 4GiB", member.key));
  }
  for (const YamlValue::Member& inner : member.value.members) {
    take(inner, SizeIn(inner, base));
  }
}

void Take(const YamlValue::Member& member, SizeBase base, Budget& budget) {
  const auto named = [&](std::vector<std::pair<std::string, std::int64_t>>& list) {
    ForEachSize(member, base, [&](const YamlValue::Member& inner, std::int64_t size) {
      list.emplace_back(inner.key, size);
    });
  };
  if (member.key == "peak") {
    budget.peak = SizeIn(member, base);
  } else if (member.key == "total") {
    budget.total = SizeIn(member, base);
  } else if (member.key == "reserved") {
    budget.reserved = SizeIn(member, base);
  } else if (member.key == "devices") {
    named(budget.devices);
  } else if (member.key == "buckets") {
    named(budget.buckets);
  } else if (member.key == "functions") {
    ForEachSize(member, base, [&](const YamlValue::Member& inner, std::int64_t size) {
      auto pattern = NamePattern::Compile(inner.key);
      if (!pattern) {
        Refuse(inner.mark, fmt::format("'{}': {}", inner.key, pattern.error().message));
      }
      budget.functions.push_back({inner.key, *std::move(pattern), size});
    });
  } else {
    Refuse(member.mark, fmt::format("'{}' is not known", member.key),
           "peak:, total:, reserved:, devices:, buckets: or functions:");
  }
}

}  // namespace

Result<Budget> ParseBudget(std::string_view text, const std::string& name, SizeBase base) {
  Budget budget;
  MEMTOOL_TRY(ReadTree(text, name, kBudgetWords, [&](const YamlValue& root) {
    if (root.kind != YamlValue::Kind::kMap) {
      Refuse(root.mark, fmt::format("{} where limits were expected", KindName(root.kind)),
             std::string(kBudgetWords.example));
    }
    for (const YamlValue::Member& member : root.members) {
      Take(member, base, budget);
    }
  }));
  return budget;
}

Result<Budget> ReadBudget(const std::string& path, SizeBase base) {
  auto text = ReadTreeText(path, kBudgetWords);
  if (!text) {
    text.error().input = path;
    return Fail(std::move(text.error()));
  }
  return ParseBudget(*text, path, base);
}

}  // namespace memtool::formats
