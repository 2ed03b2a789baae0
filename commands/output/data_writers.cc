// JSON, JSON lines and CSV: raw integers, every key stable.
#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>

#include "output/escape.h"
#include "output/writers.h"

namespace memtool::commands {

namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

void PutText(Json& json, std::string_view bytes) {
  const std::string text = ToUtf8(bytes);
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void PutCell(Json& json, const Cell& cell) {
  struct Visitor {
    Json& json;
    void operator()(std::monostate) const { json.Null(); }
    void operator()(const std::string& text) const { PutText(json, text); }
    void operator()(std::int64_t count) const { json.Int64(count); }
    void operator()(const Amount& amount) const { json.Int64(amount.value); }
    void operator()(const Percent& percent) const {
      if (std::isfinite(percent.ratio)) {
        json.Double(percent.ratio);
      } else {
        json.Null();
      }
    }
    void operator()(const RawJson& raw) const {
      json.RawValue(raw.text.data(), raw.text.size(), rapidjson::kArrayType);
    }
  };
  std::visit(Visitor{json}, cell);
}

// Rows as lines of JSON, each in the memory of the one before it.
class RowPrinter {
 public:
  explicit RowPrinter(const Report& report) {
    for (const Column& column : report.columns) {
      keys_.push_back(ToUtf8(column.key));
    }
  }

  // Valid until the next call.
  std::string_view Print(const std::vector<Cell>& row) {
    buffer_.Clear();
    json_.Reset(buffer_);
    json_.StartObject();
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (!keys_[i].empty()) {
        json_.Key(keys_[i].data(), static_cast<rapidjson::SizeType>(keys_[i].size()));
        PutCell(json_, row[i]);
      }
    }
    json_.EndObject();
    line_ = EscapeJson({buffer_.GetString(), buffer_.GetSize()});
    return line_;
  }

 private:
  std::vector<std::string> keys_;  // empty = not in data formats
  rapidjson::StringBuffer buffer_;
  Json json_{buffer_};
  std::string line_;
};

void PutDiagnostics(Json& json, const Report& report) {
  json.StartArray();
  for (const Diagnostic& diagnostic : report.diagnostics) {
    json.StartObject();
    PutText(json, "severity");
    PutText(json, diagnostic.severity == Severity::kNote      ? "note"
                  : diagnostic.severity == Severity::kWarning ? "warning"
                                                              : "damage");
    PutText(json, "code");
    PutText(json, diagnostic.code);
    PutText(json, "message");
    PutText(json, diagnostic.message);
    PutText(json, "offset");
    if (diagnostic.offset) {
      json.Uint64(*diagnostic.offset);
    } else {
      json.Null();
    }
    PutText(json, "count");
    json.Uint64(diagnostic.count);
    json.EndObject();
  }
  json.EndArray();
}

// The keys before the rows, without the closing brace.
void PutEnvelope(Json& json, const Report& report, std::size_t limit) {
  PutText(json, "schema");
  PutText(json, "memtool." + std::string(report.command) + "/1");
  PutText(json, "inputs");
  json.StartArray();
  for (const ReportInput& input : report.inputs) {
    json.StartObject();
    PutText(json, "path");
    PutText(json, input.path);
    PutText(json, "format");
    PutText(json, input.format);
    PutText(json, "moment");
    PutText(json, input.moment);
    for (const auto& [key, value] : input.details) {
      PutText(json, key);
      json.RawValue(value.data(), value.size(), rapidjson::kObjectType);
    }
    json.EndObject();
  }
  json.EndArray();
  PutText(json, "sample_type");
  PutText(json, report.sample_type);
  PutText(json, "unit");
  PutText(json, report.unit);
  for (const auto& [key, value] : report.totals) {
    PutText(json, key);
    PutCell(json, value);
  }
  const CutOff cut = CutBy(report, limit);
  PutText(json, "rows_cut");
  json.Uint64(cut.rows);
}

}  // namespace

void WriteJson(const Report& report, std::size_t limit, Sink& out) {
  rapidjson::StringBuffer buffer;
  Json json(buffer);
  json.StartObject();
  PutEnvelope(json, report, limit);
  // The object stays open: rows follow one a line, so that big results stream and diff well.
  out.Write(EscapeJson({buffer.GetString(), buffer.GetSize()}));
  out.Write(",\n\"rows\":[");
  bool first = true;
  RowPrinter printer(report);
  ForEachRow(report, limit, [&](const std::vector<Cell>& row) {
    out.Write(first ? "\n" : ",\n");
    out.Write(printer.Print(row));
    first = false;
  });
  buffer.Clear();
  json.Reset(buffer);
  PutDiagnostics(json, report);
  out.Write("\n],\n\"diagnostics\":");
  out.Write(EscapeJson({buffer.GetString(), buffer.GetSize()}));
  out.Write("}\n");
}

void WriteJsonLines(const Report& report, std::size_t limit, Sink& out) {
  RowPrinter printer(report);
  ForEachRow(report, limit, [&](const std::vector<Cell>& row) {
    out.Write(printer.Print(row));
    out.Write("\n");
  });
}

void WriteCsv(const Report& report, std::size_t limit, Sink& out) {
  std::string line;
  for (const Column& column : report.columns) {
    if (!column.key.empty()) {
      line += (line.empty() ? "" : ",") + EscapeCsv(column.key);
    }
  }
  out.Write(line + "\r\n");
  struct Visitor {
    std::string& line;
    void operator()(std::monostate) const {}
    void operator()(const std::string& text) const { line += EscapeCsv(text); }
    void operator()(std::int64_t count) const {
      const fmt::format_int digits(count);
      line.append(digits.data(), digits.size());
    }
    void operator()(const Amount& amount) const { (*this)(amount.value); }
    void operator()(const Percent& percent) const {
      line += std::isfinite(percent.ratio) ? std::to_string(percent.ratio) : std::string{};
    }
    void operator()(const RawJson& json) const { line += EscapeCsv(json.text); }
  };
  ForEachRow(report, limit, [&](const std::vector<Cell>& row) {
    line.clear();
    bool first = true;
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      if (!report.columns[i].key.empty()) {
        line += first ? "" : ",";
        std::visit(Visitor{line}, row[i]);
        first = false;
      }
    }
    line += "\r\n";
    out.Write(line);
  });
}

}  // namespace memtool::commands
