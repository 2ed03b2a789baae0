#include "log/patterns.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "documents/keywords/yaml_tree.h"
#include "log/pattern_text.h"
#include "memtool/formats/statements.h"

namespace memtool::formats::log {

namespace {

constexpr std::size_t kMaxPatterns = 1000;
constexpr TreeWords kWords{.noun = "table of patterns",
                           .example = "Producer: {name: {pattern: \"weights took {weights}\"}}",
                           .nesting = "producer, pattern, its fields, lists"};

bool ReadFlag(const YamlValue& value) {
  if (value.text != "yes" && value.text != "no") {
    Refuse(value.mark, fmt::format("'{}' is neither yes nor no", value.text));
  }
  return value.text == "yes";
}

Pattern::Kind ReadKind(const YamlValue& value) {
  static constexpr std::array<std::pair<std::string_view, Pattern::Kind>, 10> kKinds = {
      {{"measured", Pattern::Kind::kMeasured},
       {"plan", Pattern::Kind::kPlan},
       {"sum", Pattern::Kind::kSum},
       {"start", Pattern::Kind::kStart},
       {"ignore", Pattern::Kind::kIgnore},
       {"failure", Pattern::Kind::kFailure},
       {"detail", Pattern::Kind::kDetail},
       {"retry", Pattern::Kind::kRetry},
       {"recovered", Pattern::Kind::kRecovered},
       {"killed", Pattern::Kind::kKilled}}};
  for (const auto& [word, kind] : kKinds) {
    if (value.text == word) {
      return kind;
    }
  }
  Refuse(value.mark, fmt::format("no kind is called '{}'", value.text),
         "measured, plan, sum, start, ignore, failure, detail, retry, recovered");
}

void Want(const YamlValue& value, YamlValue::Kind kind, std::string_view what) {
  if (value.kind != kind) {
    Refuse(value.mark, fmt::format("{} is {}, not {}", what, KindName(value.kind), KindName(kind)));
  }
}

// How a failure is judged: by its figures, or by its words alone.
void ReadJudgement(const YamlValue::Member& field, Pattern& pattern) {
  const bool by_words = field.key == "cause";
  if (by_words) {
    pattern.cause = FindCause(field.value.text);
  } else {
    pattern.wording = FindWording(field.value.text);
  }
  if (by_words ? !pattern.cause : !pattern.wording) {
    Refuse(field.value.mark, fmt::format("no {} is called '{}'", field.key, field.value.text));
  }
}

// False: a pattern has no such field.
bool ReadField(const YamlValue::Member& field, Pattern& pattern) {
  static constexpr std::array<std::pair<std::string_view, bool Pattern::*>, 8> kFlags = {
      {{"adds", &Pattern::adds},
       {"alone", &Pattern::alone},
       {"after_retry", &Pattern::after_retry},
       {"cut", &Pattern::cut},
       {"host", &Pattern::host},
       {"titled", &Pattern::titled},
       {"repeats", &Pattern::repeats},
       {"report", &Pattern::report}}};
  for (const auto& [name, flag] : kFlags) {
    if (field.key == name) {
      pattern.*flag = ReadFlag(field.value);
      return true;
    }
  }
  static constexpr std::array<std::pair<std::string_view, std::string Pattern::*>, 4> kTexts = {
      {{"memory", &Pattern::memory},
       {"why", &Pattern::why},
       {"try", &Pattern::remedy},
       {"example", &Pattern::example}}};
  for (const auto& [name, text] : kTexts) {
    if (field.key == name) {
      pattern.*text = field.value.text;
      return true;
    }
  }
  if (field.key == "pattern") {
    if (auto made = CompilePattern(field.value.text, pattern); !made) {
      Refuse(field.value.mark, made.error().message, made.error().hint);
    }
  } else if (field.key == "kind") {
    pattern.kind = ReadKind(field.value);
  } else if (field.key == "rounds") {
    pattern.rounds_down = field.value.text == "down";
  } else if (field.key == "wording" || field.key == "cause") {
    ReadJudgement(field, pattern);
  } else if (field.key == "gives") {
    for (const auto& [text, mark] : field.value.list) {
      pattern.gives.push_back(text);
    }
  } else {
    return field.key == "versions";
  }
  return true;
}

Pattern ReadPattern(const std::string& producer, const YamlValue::Member& entry,
                    const std::string& file) {
  Want(entry.value, YamlValue::Kind::kMap, "a pattern");
  Pattern pattern{.producer = producer,
                  .name = entry.key,
                  .place = fmt::format("{}:{}", file, GetPlace(entry.mark))};
  for (const YamlValue::Member& field : entry.value.members) {
    const bool list = field.key == "gives";
    Want(field.value, list ? YamlValue::Kind::kList : YamlValue::Kind::kText, field.key);
    if (!ReadField(field, pattern)) {
      Refuse(field.mark, fmt::format("a pattern has no '{}'", field.key),
             "pattern, versions, kind, adds, rounds, host, titled, repeats, report, after_retry, "
             "alone, cut, memory, wording, cause, why, try, example, gives");
    }
  }
  if (pattern.expression.empty()) {
    Refuse(entry.mark, fmt::format("'{}' has no pattern", entry.key));
  }
  if (pattern.cause.has_value() == pattern.why.empty()) {
    Refuse(entry.mark, fmt::format("'{}' has one of cause and why, not both", entry.key));
  }
  return pattern;
}

}  // namespace

Result<PatternTable> PatternTable::Parse(std::string_view text, const std::string& name) {
  PatternTable table;
  const auto read = ReadTree(text, name, kWords, [&](const YamlValue& root) {
    Want(root, YamlValue::Kind::kMap, "the table");
    for (const YamlValue::Member& producer : root.members) {
      Want(producer.value, YamlValue::Kind::kMap, "a producer");
      std::string remedy;  // of the failure above
      for (const YamlValue::Member& entry : producer.value.members) {
        table.patterns_.push_back(ReadPattern(producer.key, entry, name));
        Pattern& pattern = table.patterns_.back();
        if (pattern.kind == Pattern::Kind::kFailure) {
          pattern.remedy = pattern.remedy.empty() ? remedy : pattern.remedy;
          remedy = pattern.remedy;
        }
        if (table.patterns_.size() > kMaxPatterns) {
          Refuse(entry.mark, fmt::format("more than {} patterns", kMaxPatterns), {},
                 ErrorCode::kLimit);
        }
      }
    }
  });
  MEMTOOL_TRY(read);
  std::vector<std::string> anchors;
  for (const Pattern& pattern : table.patterns_) {
    anchors.push_back(pattern.anchor);
  }
  table.anchors_ = std::make_unique<const WordFilter>(std::move(anchors));
  return table;
}

Result<PatternTable> PatternTable::ReadFile(const std::string& path) {
  const auto text = ReadTreeText(path, kWords);
  MEMTOOL_TRY(text);
  return Parse(*text, path);
}

void PatternTable::Choose(std::string_view line, std::vector<std::uint32_t>& chosen) const {
  anchors_->FindAll(line, chosen);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
}

std::unique_ptr<const re2::RE2> MakeRegexp(const Pattern& pattern) {
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  return std::make_unique<const re2::RE2>(pattern.expression, options);
}

namespace {

// Nearly half of the text is for people and for the table's own test.
std::string WithoutExamples(std::string_view text) {
  std::string rest;
  rest.reserve(text.size());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    const std::string_view words = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    const bool of_people = words.starts_with("#") || words.starts_with("versions:") ||
                           words.starts_with("example:") || words.starts_with("gives:");
    rest += of_people ? "\n" : line;
  }
  return rest;
}

}  // namespace

const PatternTable& BuiltinPatterns() {
  // Read when the first log is.
  static const PatternTable table =
      PatternTable::Parse(WithoutExamples(BuiltinLogPatterns()), "patterns.yaml").value();
  return table;
}

}  // namespace memtool::formats::log
