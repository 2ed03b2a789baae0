#include <utility>

#include "documents/keywords/yaml_tree.h"
#include "memtool/formats/settings.h"

namespace memtool::formats {

namespace {

constexpr TreeWords kSettingsWords{.noun = "file of settings",
                                   .example = "theme: dark",
                                   .nesting = "a command, an option, values"};

Setting MakeSetting(const std::string& command, const YamlValue::Member& member) {
  Setting setting{
      .command = command, .option = member.key, .values = {}, .place = GetPlace(member.mark)};
  if (member.value.kind == YamlValue::Kind::kText) {
    setting.values.push_back(member.value.text);
  }
  for (const auto& [value, mark] : member.value.list) {
    setting.values.push_back(value);
  }
  return setting;
}

std::vector<Setting> SettingsFrom(const YamlValue& root) {
  if (root.kind != YamlValue::Kind::kMap) {
    Refuse(root.mark, std::string(KindName(root.kind)) + " where options were expected",
           std::string(kSettingsWords.example));
  }
  std::vector<Setting> settings;
  for (const YamlValue::Member& member : root.members) {
    if (member.value.kind != YamlValue::Kind::kMap) {
      settings.push_back(MakeSetting({}, member));
      continue;
    }
    for (const YamlValue::Member& inner : member.value.members) {
      if (inner.value.kind == YamlValue::Kind::kMap) {
        Refuse(inner.value.mark, "the value of '" + inner.key + "' is a map",
               "write a text or a list");
      }
      settings.push_back(MakeSetting(member.key, inner));
    }
  }
  return settings;
}

}  // namespace

Result<std::vector<Setting>> ParseSettings(std::string_view text, const std::string& name) {
  std::vector<Setting> settings;
  MEMTOOL_TRY(ReadTree(text, name, kSettingsWords,
                       [&](const YamlValue& root) { settings = SettingsFrom(root); }));
  return settings;
}

Result<std::vector<Setting>> ReadSettings(const std::string& path) {
  auto text = ReadTreeText(path, kSettingsWords);
  MEMTOOL_TRY(text);
  return ParseSettings(*text, path);
}

}  // namespace memtool::formats
