#include "mcp/tools.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/command.h"
#include "help/declared_answers.h"
#include "help/help.h"
#include "memtool/profile/answers/write.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kMaxLines = 40;
constexpr std::size_t kMaxKept = 8;             // files that stay in memory
constexpr std::string_view kDataRows = "20";    // of the data, unless others are asked for
constexpr std::string_view kDataPoints = "60";  // of a timeline
constexpr std::string_view kMaxOutput = "max=output-bytes=2MiB";

// The commands that are tools of their own; `run` is for the others.
constexpr auto kTools = std::to_array<std::string_view>(
    {"overview", "top", "diff", "oom", "timeline", "buckets", "leaks", "ranks"});
constexpr std::string_view kAny = "run";

// The options whose values are files to read; all others with files or folders are refused.
constexpr auto kReading = std::to_array<std::string_view>(
    {"diff-base", "keywords", "expected-sum", "baseline", "budget"});
// What this server decides itself.
constexpr auto kOwn = std::to_array<std::string_view>({"file", "format", "columns", "help"});

template <class List>
bool Has(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Those that have an answer as data.
std::vector<std::string_view> Answering() {
  std::vector<std::string_view> commands;
  for (const DeclaredAnswer& answer : DeclaredAnswers()) {
    if (!Has(commands, answer.command)) {
      commands.push_back(answer.command);
    }
  }
  return commands;
}

bool TakesFile(const po::option_description& option) {
  const std::string value = option.format_parameter();
  return option.semantic()->max_tokens() > 0 &&
         (value.find("FILE") != std::string::npos || value.find("DIR") != std::string::npos ||
          option.long_name() == "files-from");
}

// An option as a property of a schema.
Value::Object SchemaOf(const po::option_description& option) {
  const bool flag = option.semantic()->max_tokens() == 0;
  return {{"type", flag ? Value("boolean") : Value(Value::List{"string", "number", "array"})},
          {"description", option.description()}};
}

Value::Object StringsSchema(std::string_view about) {
  return {{"type", "array"}, {"items", Value::Object{{"type", "string"}}}, {"description", about}};
}

constexpr std::string_view kFilesAbout =
    "paths of inputs, absolute or below the first folder of the server: snapshots, profiles, "
    "traces, "
    "logs; a folder of ranks for ranks and overview";

Value::Object ToolOf(const CommandEntry& entry) {
  const auto command = entry.make();
  po::options_description declared;
  command->Declare(declared);
  Value::Object options;
  for (const auto& option : OftenUsed(command->doc(), declared)) {
    if (!Has(kOwn, option->long_name()) &&
        (!TakesFile(*option) || Has(kReading, option->long_name()))) {
      options.emplace_back(option->long_name(), SchemaOf(*option));
    }
  }
  const Value::Object schema{
      {"type", "object"},
      {"properties",
       Value::Object{
           {"files", StringsSchema(kFilesAbout)},
           {"options",
            Value::Object{{"type", "object"},
                          {"description", fmt::format("these, or any long option of `memtool {} "
                                                      "--help`, without dashes",
                                                      entry.name)},
                          {"properties", std::move(options)}}}}},
      {"required", Value::List{"files"}}};
  return {{"name", entry.name},
          {"title", fmt::format("memtool {}", entry.name)},
          {"description", entry.summary},
          {"inputSchema", schema}};
}

Value::Object AnyTool() {
  Value::List commands;
  for (const std::string_view command : Answering()) {
    commands.emplace_back(command);
  }
  const Value::Object schema{
      {"type", "object"},
      {"properties",
       Value::Object{
           {"command", Value::Object{{"type", "string"}, {"enum", std::move(commands)}}},
           {"files", StringsSchema(kFilesAbout)},
           {"pattern",
            Value::Object{{"type", "string"},
                          {"description", "of peek: a regular expression of functions"}}},
           {"options", Value::Object{{"type", "object"},
                                     {"description",
                                      "long options of the command, without dashes: true for "
                                      "one without a value, an array for one that is repeated"}}}}},
      {"required", Value::List{"command", "files"}}};
  return {{"name", kAny},
          {"title", "any command of memtool"},
          {"description",
           "any command that answers: account, segments, steps, events, tags, tree, peek, traces, "
           "flame, whatif, fit, info, check and the others"},
          {"inputSchema", schema}};
}

// A scalar of JSON as a command line has it.
std::optional<std::string> ScalarText(const JsonValue& value) {
  if (value.IsString()) {
    return std::string(value.GetString(), value.GetStringLength());
  }
  if (value.IsInt64()) {
    return std::to_string(value.GetInt64());
  }
  if (value.IsUint64()) {
    return std::to_string(value.GetUint64());
  }
  return value.IsDouble() ? std::optional(fmt::format("{}", value.GetDouble())) : std::nullopt;
}

// The values of an option: one, or several.
Result<std::vector<std::string>> ValuesOf(std::string_view name, const JsonValue& value) {
  std::vector<std::string> texts;
  const auto add = [&](const JsonValue& one) {
    const auto text = ScalarText(one);
    if (text) {
      texts.push_back(*text);
    }
    return text.has_value();
  };
  const bool good = value.IsArray() ? std::all_of(value.Begin(), value.End(), add) : add(value);
  if (!good) {
    return Fail(ErrorCode::kUsage,
                fmt::format("options.{}: a string, a number, or an array of these", name));
  }
  return texts;
}

std::string_view KeyOf(const JsonValue::Member& member) {
  return {member.name.GetString(), member.name.GetStringLength()};
}

// A file that an option reads: as it stands, or after "@"; a dictionary of the program is none.
Result<void> CheckReading(const Roots& roots, std::string_view option, const std::string& text) {
  if (option == "keywords" && text.starts_with("builtin:")) {
    return {};
  }
  const bool at = option == "expected-sum";
  if (at && !text.starts_with('@')) {
    return {};  // a size
  }
  return roots.Check(at ? text.substr(1) : text);
}

// One that is declared and that a server may take, by its whole name.
Result<const po::option_description*> FindOption(const po::options_description& declared,
                                                 const std::string& name,
                                                 const std::string& command) {
  const auto* option = declared.find_nothrow(name, false);
  const bool known = option != nullptr && option->long_name() == name;
  if (!known || Has(kOwn, name) || (TakesFile(*option) && !Has(kReading, name))) {
    return Fail(ErrorCode::kUsage,
                fmt::format("options.{}: {}", name,
                            known ? "is not for a server" : "there is no such option"),
                fmt::format("memtool {} --help lists them", command));
  }
  return option;
}

Result<void> AddOption(const Roots& roots, const po::option_description& option,
                       const JsonValue& value, std::vector<std::string>& words) {
  const std::string& name = option.long_name();
  if (value.IsBool()) {
    if (option.semantic()->max_tokens() > 0) {
      return Fail(ErrorCode::kUsage, fmt::format("options.{}: takes a value", name));
    }
    if (value.GetBool()) {
      words.push_back("--" + name);
    }
    return {};
  }
  auto values = ValuesOf(name, value);
  MEMTOOL_TRY(values);
  for (const std::string& text : *values) {
    if (TakesFile(option)) {
      MEMTOOL_TRY(CheckReading(roots, name, text));
    }
    words.push_back(fmt::format("--{}={}", name, text));
  }
  return {};
}

Result<void> AddOptions(const Roots& roots, const po::options_description& declared,
                        const JsonValue& options, std::vector<std::string>& words) {
  if (!options.IsObject()) {
    return Fail(ErrorCode::kUsage, "options: an object of names and values");
  }
  for (const auto& member : options.GetObject()) {
    auto option = FindOption(declared, std::string(KeyOf(member)), words.front());
    MEMTOOL_TRY(option);
    MEMTOOL_TRY(AddOption(roots, **option, member.value, words));
  }
  return {};
}

bool IsGiven(const std::vector<std::string>& words, std::string_view option) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word.starts_with("--" + std::string(option) + "=");
  });
}

// The first lines of a text, and how many more there are.
std::string Shortened(std::string text) {
  std::size_t end = 0;
  for (std::size_t line = 0; line < kMaxLines; ++line) {
    end = text.find('\n', end);
    if (end == std::string::npos) {
      return text;
    }
    ++end;
  }
  const auto more = std::count(text.begin() + static_cast<std::ptrdiff_t>(end), text.end(), '\n');
  if (more > 0) {
    text.resize(end);
    text += fmt::format("… {} more lines\n", more);
  }
  return text;
}

// A message is one line.
std::string OneLine(std::string json) {
  std::replace(json.begin(), json.end(), '\n', ' ');
  return json;
}

std::string ResultOf(const std::string& text, std::string_view structured, bool failed) {
  const Value content(Value::List{Value::Object{{"type", "text"}, {"text", text}}});
  return fmt::format(R"({{"content":{}{}{},"isError":{}}})", ToJson(content),
                     structured.empty() ? "" : ",\"structuredContent\":", structured, failed);
}

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

Ran RunOnce(const std::vector<std::string>& words, RecordingCache& cache) {
  StringSink out;
  StringSink err;
  Streams streams{out, err, {}, &cache};
  streams.names_next = false;
  const int code = RunMain(words, streams);
  return {.code = code, .out = out.text(), .err = err.text()};
}

bool Answered(int code) {
  return code == static_cast<int>(ExitCode::kOk) || code == static_cast<int>(ExitCode::kGate) ||
         code == static_cast<int>(ExitCode::kDamage);
}

}  // namespace

const JsonValue* MemberOf(const JsonValue* object, const char* key) {
  if (object == nullptr || !object->IsObject()) {
    return nullptr;
  }
  const auto found = object->FindMember(key);
  return found == object->MemberEnd() ? nullptr : &found->value;
}

std::string_view StringOf(const JsonValue* value) {
  return value == nullptr || !value->IsString()
             ? std::string_view()
             : std::string_view(value->GetString(), value->GetStringLength());
}

Value ToolList() {
  Value::List tools;
  for (const std::string_view name : kTools) {
    tools.emplace_back(ToolOf(*FindCommand(name)));
  }
  tools.emplace_back(AnyTool());
  // Whoever asks may be told that nothing changes and that nothing leaves this machine.
  for (Value& tool : tools) {
    Value::Object object = std::get<Value::Object>(tool.data());
    object.emplace_back("annotations", Value::Object{{"readOnlyHint", true},
                                                     {"destructiveHint", false},
                                                     {"idempotentHint", true},
                                                     {"openWorldHint", false}});
    tool = std::move(object);
  }
  return Value::Object{{"tools", std::move(tools)}};
}

Result<std::vector<std::string>> Tools::WordsOf(std::string_view command,
                                                const JsonValue& arguments) {
  std::vector<std::string> words{std::string(command)};
  const auto made = FindCommand(command)->make();
  po::options_description declared;
  made->Declare(declared);
  if (const JsonValue* options = MemberOf(&arguments, "options")) {
    MEMTOOL_TRY(AddOptions(roots_, declared, *options, words));
  }
  const JsonValue* pattern = MemberOf(&arguments, "pattern");
  if (command == "peek") {
    if (StringOf(pattern).empty()) {
      return Fail(ErrorCode::kUsage, "peek needs a pattern");
    }
    words.push_back(fmt::format("--file={}", StringOf(pattern)));
  } else if (pattern != nullptr) {
    return Fail(ErrorCode::kUsage, "pattern is for peek");
  }
  const JsonValue* files = MemberOf(&arguments, "files");
  if (files == nullptr || !files->IsArray() || files->Empty()) {
    return Fail(ErrorCode::kUsage, "files: an array of one path or more");
  }
  std::vector<std::string> paths;
  for (const JsonValue& file : files->GetArray()) {
    if (!file.IsString()) {
      return Fail(ErrorCode::kUsage, "files: an array of strings");
    }
    paths.push_back(*ScalarText(file));
    MEMTOOL_TRY(roots_.Check(paths.back()));
    words.push_back("--file=" + paths.back());
  }
  Refresh(paths);
  return words;
}

void Tools::Refresh(const std::vector<std::string>& files) {
  bool changed = read_.size() + files.size() > kMaxKept;
  std::map<std::string, FileState> now;
  for (const std::string& file : files) {
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0) {
      now[file] = {.size = status.st_size,
                   .modified = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec,
                   .inode = status.st_ino};
      const auto before = read_.find(file);
      // What is below a folder may change without it.
      changed = changed || S_ISDIR(status.st_mode) ||
                (before != read_.end() && before->second != now[file]);
    }
  }
  if (changed) {
    cache_.Forget();
    read_.clear();
  }
  read_.insert(now.begin(), now.end());
}

std::string Tools::Answer(const std::vector<std::string>& words) {
  const Ran text = RunOnce(words, cache_);
  if (!Answered(text.code)) {
    return ResultOf(Shortened(text.err), {}, true);
  }
  std::vector<std::string> data = words;
  data.insert(data.end(), {"--format=json", fmt::format("--{}", kMaxOutput)});
  const auto made = FindCommand(words.front())->make();
  po::options_description declared;
  made->Declare(declared);
  for (const auto& [option, value] :
       {std::pair<std::string_view, std::string_view>("limit", kDataRows),
        {"rows", kDataRows},
        {"points", kDataPoints}}) {
    const auto* there = declared.find_nothrow(std::string(option), false);
    if (there != nullptr && !there->description().empty() && !IsGiven(words, option)) {
      data.push_back(fmt::format("--{}={}", option, value));
    }
  }
  const Ran answer = RunOnce(data, cache_);
  const bool is_data = Answered(answer.code) && answer.out.starts_with('{');
  return ResultOf(Shortened(text.out + text.err), is_data ? OneLine(answer.out) : std::string(),
                  false);
}

Result<std::string> Tools::Call(std::string_view name, const JsonValue* arguments) {
  std::string command(name);
  if (arguments == nullptr || !arguments->IsObject()) {
    return Fail(ErrorCode::kUsage, "arguments: an object");
  }
  if (name == kAny) {
    const JsonValue* asked = MemberOf(arguments, "command");
    command = StringOf(asked);
    if (!Has(Answering(), command)) {
      return ResultOf(fmt::format("'{}' is no command that answers", command), {}, true);
    }
  } else if (!Has(kTools, name)) {
    return Fail(ErrorCode::kUsage, fmt::format("there is no tool '{}'", name));
  }
  auto words = WordsOf(command, *arguments);
  return words ? Answer(*words) : ResultOf(ToString(words.error()), {}, true);
}

}  // namespace memtool::commands
