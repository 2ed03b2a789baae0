#include "outcome.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/command.h"
#include "memtool/profile/answers/write.h"
#include "memtool/profile/base/escape.h"

namespace memtool::c {

namespace {

memtool_text View(const std::string& text) {
  return {text.c_str(), text.size()};
}

std::string Json(const Value& value) {
  return ToUtf8(ToJson(value));
}

Value InputsOf(const Table& table) {
  Value::List inputs;
  for (const InputNote& note : table.inputs) {
    Value::Object input{{"path", note.path}, {"format", note.format}, {"moment", note.moment}};
    for (const auto& [key, value] : note.details) {
      input.emplace_back(key, value);
    }
    inputs.emplace_back(std::move(input));
  }
  return inputs;
}

Value DiagnosticsOf(const Table& table) {
  Value::List diagnostics;
  for (const Diagnostic& diagnostic : table.diagnostics) {
    const char* severity = diagnostic.severity == Severity::kNote      ? "note"
                           : diagnostic.severity == Severity::kWarning ? "warning"
                                                                       : "damage";
    diagnostics.emplace_back(Value::Object{{"severity", severity},
                                           {"code", diagnostic.code},
                                           {"message", diagnostic.message},
                                           {"offset", diagnostic.offset},
                                           {"count", diagnostic.count}});
  }
  return diagnostics;
}

Value FiguresOf(const Table& table) {
  return Value::Object(table.figures.begin(), table.figures.end());
}

// Puts a column's numbers into what callers see.
struct PutData {
  memtool_column& out;

  template <class Number>
  void operator()(const std::vector<Number>& values) const {
    out.type = std::is_same_v<Number, double>          ? 'd'
               : std::is_same_v<Number, std::uint64_t> ? 'Q'
               : sizeof(Number) == 8                   ? 'q'
               : sizeof(Number) == 4                   ? 'i'
               : sizeof(Number) == 2                   ? 'h'
                                                       : 'b';
    out.data = values.data();
  }
  void operator()(const AnswerColumn::Truths& truths) const {
    out.type = '?';
    out.data = truths.values.data();
  }
  void operator()(const Categories& categories) const {
    std::visit(*this, categories.codes);
    out.word_count = categories.words.size();
    out.words = categories.words.bytes.data();
    out.word_ends = categories.words.ends.data();
  }
  void operator()(const std::vector<Value>& /*values*/) const {}
};

memtool_column ViewOf(const TableColumn& column, const Table& table) {
  memtool_column out{.key = column.key.c_str(),
                     .title = column.title.c_str(),
                     .unit = UnitName(column.unit, table.unit)};
  std::visit(PutData{out}, column.data);
  out.missing = column.missing.empty() ? nullptr : column.missing.data();
  return out;
}

// What the operating system refused, or 0: the end of such a message is in its own words.
int SystemErrorOf(const Error& error) {
  constexpr int kIsFolder = EISDIR;
  constexpr int kLast = 133;  // of Linux
  if (error.message == "is a folder, not a file") {
    return kIsFolder;
  }
  // A folder of ranks calls whatever it cannot read malformed.
  if (error.code != ErrorCode::kIo && error.code != ErrorCode::kOutput &&
      !error.message.starts_with("cannot be opened: ")) {
    return 0;
  }
  for (int number = 1; number <= kLast; ++number) {
    if (error.message.ends_with(fmt::format(": {}", std::strerror(number)))) {
      return number;
    }
  }
  return 0;
}

}  // namespace

void Outcome::SetOut(std::string text) {
  out_ = std::move(text);
  out = View(out_);
}

void Outcome::SetErr(std::string text) {
  err_ = std::move(text);
  err = View(err_);
}

void Outcome::SetError(const Error& given) {
  error_input_ = given.input;
  error_message_ = EscapeText(given.message);
  error_hint_ = EscapeText(given.hint);
  SetError(ErrorCodeName(given.code), EscapeText(ToString(given)));
  error_.offset = given.offset ? static_cast<std::int64_t>(*given.offset) : -1;
  error_.system_error = SystemErrorOf(given);
}

void Outcome::SetError(const char* name, std::string text) {
  error_text_ = std::move(text);
  error_ = {.code = name,
            .text = View(error_text_),
            .input = View(error_input_),
            .message = View(error_message_),
            .hint = View(error_hint_),
            .offset = -1,
            .system_error = 0};
  error = &error_;
}

void Outcome::SetTable(Table made) {
  shared_table = std::make_shared<const Table>(std::move(made));
  const Table& held = *shared_table;
  for (const TableColumn& column : held.columns) {
    columns_.push_back(ViewOf(column, held));
  }
  inputs_ = Json(InputsOf(held));
  diagnostics_ = Json(DiagnosticsOf(held));
  figures_ = Json(FiguresOf(held));
  table_ = {.question = held.question.c_str(),
            .unit = held.unit.c_str(),
            .sample_type = held.sample_type.c_str(),
            .rows = held.rows,
            .column_count = columns_.size(),
            .columns = columns_.data(),
            .inputs = View(inputs_),
            .diagnostics = View(diagnostics_),
            .figures = View(figures_)};
  table = &table_;
}

void Outcome::SetInput(std::shared_ptr<Input> read) {
  read->display = ToUtf8(read->display);
  read->format = read->display.c_str();
  read->has_history = read->index ? 1 : 0;
  shared_input = std::move(read);
  input = shared_input.get();
}

std::unique_ptr<Outcome> WithoutMemory() {
  auto outcome = std::make_unique<Outcome>();
  outcome->code = static_cast<int>(commands::ExitCode::kInput);
  outcome->SetError("memory", "needs more memory than there is");
  return outcome;
}

std::unique_ptr<Outcome> InternalFault(const std::string& what) {
  auto outcome = std::make_unique<Outcome>();
  outcome->code = static_cast<int>(commands::ExitCode::kInternal);
  outcome->SetError("internal", EscapeText(fmt::format("internal fault: {}", what)));
  return outcome;
}

std::unique_ptr<Outcome> Failed(Error error, const std::string& path) {
  error.input = error.input.empty() ? path : error.input;
  auto outcome = std::make_unique<Outcome>();
  outcome->code = static_cast<int>(commands::ExitCodeFor(error));
  outcome->SetError(error);
  return outcome;
}

}  // namespace memtool::c
