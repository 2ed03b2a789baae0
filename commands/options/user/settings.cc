#include "options/user/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/parsers.hpp>
#include <string_view>

#include "memtool/formats/settings.h"
#include "options/user/user_files.h"
#include "words/known_words.h"

namespace memtool::commands {

namespace {

// How answers look, and whose code is one's own: nothing that decides what an answer is about.
constexpr auto kSettings = std::to_array<std::string_view>(
    {"ascii", "color", "columns", "hyperlinks", "not-own", "own", "quiet", "theme", "unit"});

Error Refusal(const std::string& path, const formats::Setting& setting, std::string message,
              std::string hint = {}) {
  return {.code = ErrorCode::kUsage,
          .input = path + ":" + setting.place,
          .message = std::move(message),
          .hint = std::move(hint)};
}

Result<void> Check(const std::string& path, const formats::Setting& setting) {
  if (!setting.command.empty() && FindCommand(setting.command) == nullptr) {
    return Fail(Refusal(path, setting, fmt::format("there is no command '{}'", setting.command),
                        "memtool help lists them"));
  }
  if (std::find(kSettings.begin(), kSettings.end(), setting.option) == kSettings.end()) {
    return Fail(Refusal(path, setting, fmt::format("'{}' is not a setting", setting.option),
                        fmt::format("{}", fmt::join(kSettings, ", "))));
  }
  if (setting.command.empty() && setting.option == "columns") {
    return Fail(Refusal(path, setting, "each command has columns of its own",
                        "top: {columns: \"flat,where\"}"));
  }
  return {};
}

bool IsTable(const po::variables_map& values) {
  const auto format = values.find("format");
  return format == values.end() || format->second.as<std::string>() == "table";
}

Result<void> CheckWords(const std::string& path, const formats::Setting& setting,
                        const po::option_description& option) {
  const auto* with_words = dynamic_cast<const WithWords*>(option.semantic().get());
  if (with_words == nullptr || with_words->known().list || with_words->known().others) {
    return {};  // the command itself looks at them
  }
  const std::vector<std::string>& words = with_words->known().words;
  for (const std::string& value : setting.values) {
    if (std::find(words.begin(), words.end(), value) == words.end()) {
      return Fail(Refusal(path, setting,
                          fmt::format("{}: '{}' is not a choice", setting.option, value),
                          fmt::format("{}", fmt::join(words, ", "))));
    }
  }
  return {};
}

// As if the command line had it.
Result<void> Store(const std::string& path, const formats::Setting& setting,
                   const po::options_description& options, po::variables_map& values) {
  const po::option_description& option = options.find(setting.option, false);
  MEMTOOL_TRY(CheckWords(path, setting, option));
  po::option given;
  given.string_key = setting.option;
  given.value = setting.values;
  if (option.semantic()->max_tokens() == 0) {
    if (setting.values != std::vector<std::string>{"true"}) {
      return setting.values == std::vector<std::string>{"false"}
                 ? Result<void>{}
                 : Fail(Refusal(path, setting,
                                fmt::format("'{}' is true or false", setting.option)));
    }
    given.value.clear();
  }
  po::parsed_options parsed(&options);
  parsed.options.push_back(std::move(given));
  try {
    po::store(parsed, values);
  } catch (const po::error& error) {
    return Fail(Refusal(path, setting, error.what()));
  }
  return {};
}

}  // namespace

std::string UserSettings() {
  return UserFile("MEMTOOL_CONFIG", "config.yaml");
}

Result<void> AddSettings(const std::string& path, std::string_view command,
                         const po::options_description& options, po::variables_map& values) {
  auto settings = formats::ReadSettings(path);
  MEMTOOL_TRY(settings);
  // What is said of this command comes first: the first that is stored stays.
  std::stable_partition(settings->begin(), settings->end(),
                        [](const formats::Setting& setting) { return !setting.command.empty(); });
  for (const formats::Setting& setting : *settings) {
    MEMTOOL_TRY(Check(path, setting));
    const bool of_this = setting.command.empty() || setting.command == command;
    const bool known = options.find_nothrow(setting.option, false) != nullptr;
    if (of_this && known && (setting.option != "columns" || IsTable(values))) {
      MEMTOOL_TRY(Store(path, setting, options, values));
    }
  }
  return {};
}

}  // namespace memtool::commands
