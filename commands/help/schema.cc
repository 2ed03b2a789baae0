// Declared answers as JSON Schema (draft 2020-12).
#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <optional>

#include "help/declared_answers.h"
#include "memtool/profile/answers/value.h"
#include "memtool/profile/answers/write.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kInputs = "{path: string, format: string, moment: string, ...}[]";
constexpr std::string_view kDiagnostics =
    R"({severity: "note"|"warning"|"damage", code: string, message: string, )"
    R"(offset: natural|null, count: natural}[])";

// A type in the notation of Field::type → its schema. The notation is the program's own: what it
// does not know ends the schema.
class TypeParser {
 public:
  explicit TypeParser(std::string_view type) : rest_(type) {}

  Value Type() {
    Value::List types;  // names of simple types
    Value::List words;  // literals
    Value::List others;
    bool natural = false;
    do {
      Alternative(types, words, others, natural);
    } while (Skip("|"));
    Value::Object schema;
    if (!words.empty()) {
      for (const Value& type : types) {
        const auto* name = std::get_if<std::string>(&type.data());
        words.push_back(name != nullptr && *name == "null" ? Value() : type);
      }
      return Value::Object{{"enum", std::move(words)}};
    }
    if (!types.empty()) {
      schema.emplace_back("type", types.size() == 1 ? types.front() : Value(types));
    }
    if (natural) {
      schema.emplace_back("minimum", 0);
    }
    if (others.empty()) {
      return schema;
    }
    if (!types.empty()) {
      others.emplace_back(std::move(schema));
    }
    return others.size() == 1 ? others.front() : Value(Value::Object{{"anyOf", std::move(others)}});
  }

 private:
  bool Skip(std::string_view word) {
    const bool found = rest_.starts_with(word);
    rest_.remove_prefix(found ? word.size() : 0);
    return found;
  }

  std::string_view Until(std::string_view ends) {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(ends));
    rest_.remove_prefix(word.size());
    return word;
  }

  void Alternative(Value::List& types, Value::List& words, Value::List& others, bool& natural) {
    std::optional<Value> whole;
    if (Skip("{")) {
      whole = Members();
    } else if (Skip("\"")) {
      words.emplace_back(Until("\""));
      Skip("\"");
      return;
    } else {
      const std::string_view word = Until("|[]{},? ");
      if (word == "0" || word == "1") {
        words.emplace_back(word == "1" ? 1 : 0);
        return;
      }
      if (!rest_.starts_with("[]")) {
        natural = natural || word == "natural";
        if (word != "any") {
          types.emplace_back(word == "natural" ? "integer" : word);
        }
        return;
      }
      whole = Item(word);
    }
    while (Skip("[]")) {
      whole = Value::Object{{"type", "array"}, {"items", *std::move(whole)}};
    }
    others.push_back(*std::move(whole));
  }

  static Value Item(std::string_view word) {
    return word == "natural" ? Value::Object{{"type", "integer"}, {"minimum", 0}}
           : word == "any"   ? Value::Object()
                             : Value::Object{{"type", word}};
  }

  // After "{", up to and including "}".
  Value Members() {
    Value::Object members;
    Value::List required;
    bool more = false;
    do {
      Skip(" ");
      if (Skip("...")) {
        more = true;
        continue;
      }
      const std::string_view key = Until("?:");
      if (!Skip("?")) {
        required.emplace_back(key);
      }
      Skip(": ");
      members.emplace_back(key, Type());
    } while (Skip(","));
    Skip("}");
    return Value::Object{{"type", "object"},
                         {"required", std::move(required)},
                         {"properties", std::move(members)},
                         {"additionalProperties", more}};
  }

  std::string_view rest_;
};

// The members of an object that several forms of an answer describe.
class ObjectSchema {
 public:
  // `required`: of this form; a member must be there that every form requires.
  void Add(std::string_view key, std::string_view type, std::string_view meaning = {}) {
    const bool perhaps = type.ends_with("?");
    Value schema = TypeParser(type).Type();
    if (!meaning.empty()) {
      auto with = std::get<Value::Object>(schema.data());
      with.insert(with.begin(), {"description", meaning});
      schema = std::move(with);
    }
    if (key.ends_with("_N")) {
      patterns_.emplace_back("^" + std::string(key.substr(0, key.size() - 1)) + "[0-9]+$",
                             std::move(schema));
      return;
    }
    AddMember(key, std::move(schema));
    if (!perhaps) {
      required_.emplace_back(key);
    }
  }
  // Of an array whose items have one of several forms.
  void AddArray(std::string_view key, const Value::List& forms) {
    Value items = forms.size() == 1 ? forms.front() : Value(Value::Object{{"anyOf", forms}});
    AddMember(key, Value::Object{{"type", "array"}, {"items", std::move(items)}});
    required_.emplace_back(key);
  }
  // Members that are not in every form are not required.
  void RequireOnly(const std::vector<std::string>& keys) { required_ = keys; }
  [[nodiscard]] const std::vector<std::string>& required() const { return required_; }
  [[nodiscard]] Value Make() const {
    Value::Object object{{"type", "object"},
                         {"required", Value::List(required_.begin(), required_.end())},
                         {"properties", members_},
                         {"additionalProperties", false}};
    if (!patterns_.empty()) {
      object.emplace_back("patternProperties", patterns_);
    }
    return object;
  }

 private:
  void AddMember(std::string_view key, Value schema) {
    const auto known = std::find_if(members_.begin(), members_.end(),
                                    [key](const auto& member) { return member.first == key; });
    if (known == members_.end()) {
      members_.emplace_back(key, std::move(schema));
    }
  }

  Value::Object members_;
  Value::Object patterns_;
  std::vector<std::string> required_;
};

Value RowSchema(const DeclaredAnswer& answer) {
  ObjectSchema row;
  for (const FieldInfo& field : answer.fields) {
    if (field.in_data) {
      row.Add(field.key, field.type, field.meaning);
    }
  }
  return row.Make();
}

}  // namespace

std::string SchemaText(std::string_view question) {
  ObjectSchema whole;
  whole.Add("schema", "\"memtool." + std::string(question) + "/1\"");
  whole.Add("inputs", kInputs);
  whole.Add("sample_type", "string");
  whole.Add("unit", "string");
  const std::vector<std::string> always = whole.required();
  Value::List rows;
  for (const DeclaredAnswer& answer : DeclaredAnswers()) {
    if (answer.question == question) {
      for (const FigureInfo& figure : answer.figures) {
        whole.Add(figure.key, figure.type, figure.meaning);
      }
      rows.push_back(RowSchema(answer));
    }
  }
  if (rows.empty()) {
    return {};
  }
  if (rows.size() > 1) {  // figures are of one form
    whole.RequireOnly(always);
  }
  whole.Add("rows_cut", "natural");
  whole.AddArray("rows", rows);
  whole.Add("diagnostics", kDiagnostics);
  auto object = std::get<Value::Object>(whole.Make().data());
  object.insert(object.begin(),
                {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "the answer memtool." + std::string(question) + "/1 as JSON"}});
  rapidjson::Document document;
  document.Parse(ToJson(object).c_str());
  rapidjson::StringBuffer text;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(text);
  writer.SetIndent(' ', 2);
  document.Accept(writer);
  return std::string(text.GetString(), text.GetSize()) + "\n";
}

}  // namespace memtool::commands
