#include "memtool/profile/answers/write.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cctype>
#include <cmath>
#include <deque>
#include <iterator>
#include <string>

#include "memtool/profile/base/escape.h"
#include "memtool/profile/base/json_memory.h"
#include "memtool/profile/base/sizes.h"

namespace memtool {

namespace {

using Buffer = rapidjson::GenericStringBuffer<rapidjson::UTF8<>, JsonMemory>;
using Json = rapidjson::Writer<Buffer, rapidjson::UTF8<>, rapidjson::UTF8<>, JsonMemory>;

void PutText(Json& json, std::string_view bytes) {
  if (IsPlain(bytes)) {
    json.String(bytes.data(), static_cast<rapidjson::SizeType>(bytes.size()));
    return;
  }
  const std::string text = ToUtf8(bytes);
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

// Lists and objects nest as deep as their declarations, never as deep as an input.
struct PutValue {
  Json& json;
  void operator()(std::monostate) const { json.Null(); }
  void operator()(bool value) const { json.Bool(value); }
  void operator()(std::int64_t value) const { json.Int64(value); }
  void operator()(std::uint64_t value) const { json.Uint64(value); }
  void operator()(double value) const {
    if (std::isfinite(value)) {
      json.Double(value);
    } else {
      json.Null();
    }
  }
  void operator()(const std::string& text) const { PutText(json, text); }
  void operator()(const SharedText& text) const { PutText(json, text.str()); }
  void operator()(const Value::List& list) const {
    json.StartArray();
    for (const Value& value : list) {
      std::visit(*this, value.data());
    }
    json.EndArray();
  }
  void operator()(const Value::Object& object) const {
    json.StartObject();
    for (const auto& [key, value] : object) {
      PutText(json, key);
      std::visit(*this, value.data());
    }
    json.EndObject();
  }
};

void Put(Json& json, const Value& value) {
  std::visit(PutValue{json}, value.data());
}

std::string_view SeverityName(Severity severity) {
  return severity == Severity::kNote      ? "note"
         : severity == Severity::kWarning ? "warning"
                                          : "damage";
}

void PutDiagnostics(Json& json, const std::vector<Diagnostic>& diagnostics) {
  Value::List list;
  for (const Diagnostic& diagnostic : diagnostics) {
    list.push_back(Value::Object{{"severity", SeverityName(diagnostic.severity)},
                                 {"code", diagnostic.code},
                                 {"message", diagnostic.message},
                                 {"offset", diagnostic.offset},
                                 {"count", diagnostic.count}});
  }
  Put(json, list);
}

// The keys before the rows, without the closing brace.
void PutEnvelope(Json& json, const AnswerView& answer, std::size_t limit) {
  const AnswerHead& head = *answer.head;
  PutText(json, "schema");
  PutText(json, "memtool." + std::string(head.question) + "/1");
  PutText(json, "inputs");
  Value::List inputs;
  for (const InputNote& input : head.inputs) {
    Value::Object object{{"path", input.path}, {"format", input.format}, {"moment", input.moment}};
    object.insert(object.end(), input.details.begin(), input.details.end());
    inputs.push_back(std::move(object));
  }
  Put(json, inputs);
  PutText(json, "sample_type");
  PutText(json, head.sample_type);
  PutText(json, "unit");
  PutText(json, head.unit);
  for (const auto& [key, value] : answer.figures) {
    PutText(json, key);
    Put(json, value);
  }
  PutText(json, "rows_cut");
  json.Uint64(answer.CutBy(limit));
}

// Every row that is to be written, in order.
template <class Visit>
void ForEachRow(const AnswerView& answer, std::size_t limit, Visit visit) {
  if (answer.rows) {
    for (const auto next = answer.rows(limit); const auto* row = next();) {
      visit(*row);
    }
  }
}

// Rows as lines of JSON, each reusing the memory of the one before it.
class RowPrinter {
 public:
  explicit RowPrinter(const AnswerView& answer) : fields_(answer.fields) {}

  // Valid until the next call.
  std::string_view Print(const std::vector<Value>& row) {
    buffer_.Clear();
    json_.Reset(buffer_);
    json_.StartObject();
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      json_.Key(fields_[i].key.data(), static_cast<rapidjson::SizeType>(fields_[i].key.size()));
      Put(json_, row[i]);
    }
    json_.EndObject();
    const std::string_view made(buffer_.GetString(), buffer_.GetSize());
    if (IsPlain(made)) {
      return made;
    }
    line_ = EscapeJson(made);
    return line_;
  }

 private:
  const std::vector<FieldInfo>& fields_;
  Buffer buffer_;
  Json json_{buffer_};
  std::string line_;
};

// The object stays open for what `write` adds, in lines, so that big results stream and diff well.
template <class Write>
void WriteAround(const AnswerView& answer, std::size_t limit, const TextSink& out, Write write) {
  Buffer buffer;
  Json json(buffer);
  json.StartObject();
  PutEnvelope(json, answer, limit);
  out(EscapeJson({buffer.GetString(), buffer.GetSize()}));
  out(",\n");
  write();
  buffer.Clear();
  json.Reset(buffer);
  PutDiagnostics(json, answer.head->diagnostics);
  out(",\n\"diagnostics\":");
  out(EscapeJson({buffer.GetString(), buffer.GetSize()}));
  out("}\n");
}

struct CsvCell {
  std::string& line;
  void operator()(std::monostate) const {}
  void operator()(bool value) const { line += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { Number(fmt::format_int(value)); }
  void operator()(std::uint64_t value) const { Number(fmt::format_int(value)); }
  void Number(const fmt::format_int& digits) const { line.append(digits.data(), digits.size()); }
  void operator()(double value) const {
    if (std::isfinite(value)) {
      fmt::format_to(std::back_inserter(line), FMT_COMPILE("{}"), value);
    }
  }
  void operator()(const SharedText& text) const { (*this)(text.str()); }
  void operator()(const std::string& text) const {
    // Nearly all texts: letters, digits and what is harmless everywhere but at the beginning.
    const bool as_is = IsPlain(text) &&
                       (text.empty() || std::isalnum(static_cast<unsigned char>(text[0])) != 0) &&
                       text.find(',') == std::string::npos && text.find('"') == std::string::npos;
    line += as_is ? text : EscapeCsv(text);
  }
  void operator()(const Value::List& list) const { line += EscapeCsv(ToJson(list)); }
  void operator()(const Value::Object& object) const { line += EscapeCsv(ToJson(object)); }
};

}  // namespace

std::string ToJson(const Value& value) {
  Buffer buffer;
  Json json(buffer);
  Put(json, value);
  return {buffer.GetString(), buffer.GetSize()};
}

void WriteJson(const AnswerView& answer, std::size_t limit, const TextSink& out) {
  WriteAround(answer, limit, out, [&] {
    out("\"rows\":[");
    std::string_view begin = "\n";
    RowPrinter printer(answer);
    ForEachRow(answer, limit, [&](const std::vector<Value>& row) {
      out(begin);
      out(printer.Print(row));
      begin = ",\n";
    });
    out("\n]");
  });
}

Result<std::vector<std::string>> MakeJsonColumns(const AnswerView& answer, std::size_t limit,
                                                 std::size_t max_bytes) {
  struct Column {
    Buffer text;
    Json json{text};
  };
  std::deque<Column> columns(answer.fields.size());
  for (Column& column : columns) {
    column.json.StartArray();
  }
  const auto next = answer.rows ? answer.rows(limit) : [] { return nullptr; };
  while (const auto* row = next()) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      Put(columns[i].json, (*row)[i]);
      bytes += columns[i].text.GetSize();
    }
    if (bytes > max_bytes) {
      return Fail(
          ErrorCode::kLimit,
          fmt::format("as columns the rows are longer than {}, which would be held in memory",
                      FormatSize(static_cast<std::int64_t>(max_bytes))),
          "--format json, jsonl and csv write row by row");
    }
  }
  std::vector<std::string> lists;
  for (; !columns.empty(); columns.pop_front()) {
    Column& column = columns.front();
    column.json.EndArray();
    lists.push_back(EscapeJson({column.text.GetString(), column.text.GetSize()}));
  }
  return lists;
}

void WriteJsonColumns(const AnswerView& answer, std::size_t limit,
                      const std::vector<std::string>& columns, const TextSink& out) {
  WriteAround(answer, limit, out, [&] {
    out("\"columns\":{");
    for (std::size_t i = 0; i < columns.size(); ++i) {
      out(i == 0 ? "\n" : ",\n");
      out(ToJson(answer.fields[i].key));
      out(":");
      out(columns[i]);
    }
    out("\n}");
  });
}

void WriteJsonLines(const AnswerView& answer, std::size_t limit, const TextSink& out) {
  RowPrinter printer(answer);
  ForEachRow(answer, limit, [&](const std::vector<Value>& row) {
    out(printer.Print(row));
    out("\n");
  });
}

void WriteCsv(const AnswerView& answer, std::size_t limit, const TextSink& out) {
  std::string line;
  for (const FieldInfo& field : answer.fields) {
    line += field.layout.nests ? "" : (line.empty() ? "" : ",") + EscapeCsv(field.key);
  }
  line += "\r\n";
  out(line);
  ForEachRow(answer, limit, [&](const std::vector<Value>& row) {
    line.clear();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (answer.fields[i].layout.nests) {
        continue;
      }
      line += i == 0 ? "" : ",";
      std::visit(CsvCell{line}, row[i].data());
    }
    line += "\r\n";
    out(line);
  });
}

}  // namespace memtool
