#include "options/frames_option.h"

#include <boost/program_options/value_semantic.hpp>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "memtool/formats/frames.h"
#include "memtool/profile/select/frame_class.h"
#include "options/user/user_files.h"

namespace memtool::commands {

namespace {

std::vector<FrameRules::Group> GetGroup(const char* option, const std::vector<std::string>& texts) {
  FrameRules::Group group{.name = option, .words = {}};
  for (const std::string& text : texts) {
    group.words.push_back("/" + text + "/");
  }
  return group.words.empty() ? std::vector<FrameRules::Group>() : std::vector{std::move(group)};
}

}  // namespace

void FramesOption::Declare(po::options_description_easy_init add) {
  add("own", po::value(&own_)->value_name("REGEX"),
      "frames that match are your own code, even in an installed package; may be repeated");
  add("not-own", po::value(&not_own_)->value_name("REGEX"),
      "frames that match are not your own code; may be repeated");
  add("print-frames", po::bool_switch(&print_),
      "print the rules for what is your own code, as YAML, and exit");
}

Result<void> FramesOption::Resolve() {
  for (const auto* texts : {&own_, &not_own_}) {
    for (const std::string& text : *texts) {
      if (text.empty()) {
        return Fail(ErrorCode::kUsage, "--own and --not-own need a regular expression");
      }
    }
  }
  FrameRules rules;
  if (given()) {
    rules.layers.push_back(
        {.own = GetGroup("--own", own_), .not_own = GetGroup("--not-own", not_own_)});
    // Only for its error, before anything is read.
    MEMTOOL_TRY(FrameClassifier::Compile(rules));
  }
  file_ = UserFile("MEMTOOL_FRAMES", "frames.yaml");
  if (!file_.empty()) {
    auto read = formats::ReadFrameRules(file_);
    MEMTOOL_TRY(read);
    rules.layers.push_back(std::move(read->layers.front()));
    rules.through = std::move(read->through);
  }
  if (rules.layers.empty()) {
    return {};
  }
  const FrameRules& builtin = BuiltinFrameRules();
  rules.layers.push_back(builtin.layers.front());
  rules.native = builtin.native;
  rules.through.insert(rules.through.end(), builtin.through.begin(), builtin.through.end());
  rules_ = std::make_shared<const FrameRules>(std::move(rules));
  return {};
}

std::optional<Result<ExitCode>> FramesOption::PrintInstead(Streams& streams) const {
  if (!print_) {
    return std::nullopt;
  }
  streams.out.Write(
      VisibleText::Lines(formats::FormatFrameRules(rules_ ? *rules_ : BuiltinFrameRules())));
  return ExitCode::kOk;
}

std::string FramesOption::Describe() const {
  std::string text;
  const auto add = [&text](std::string_view key, const std::string& value) {
    text += (text.empty() ? "" : " ") + std::string(key) + "=" + value;
  };
  for (const std::string& own : own_) {
    add("own", own);
  }
  for (const std::string& not_own : not_own_) {
    add("not-own", not_own);
  }
  if (!file_.empty()) {
    add("rules", file_);
  }
  return text;
}

}  // namespace memtool::commands
