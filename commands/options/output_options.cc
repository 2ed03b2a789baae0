#include "options/output_options.h"

#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>
#include <map>

#include "memtool/profile/answers/write.h"
#include "next/next.h"
#include "output/columns.h"
#include "output/whole_file.h"
#include "output/writers.h"
#include "words/choice.h"
#include "words/known_words.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kTableRows = 20;

constexpr std::array<Choice<Format>, 6> kFormats{{{"table", Format::kTable},
                                                  {"json", Format::kJson},
                                                  {"json-columns", Format::kJsonColumns},
                                                  {"jsonl", Format::kJsonl},
                                                  {"csv", Format::kCsv},
                                                  {"markdown", Format::kMarkdown}}};

// "table, json or csv"
std::string FormatsText() {
  std::string text;
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    const std::string_view joint = i == 0 ? "" : i + 1 < kFormats.size() ? ", " : " or ";
    text += fmt::format("{}{}", joint, kFormats[i].word);
  }
  return text;
}

void ShowTimes(std::vector<Cell>& row, std::int64_t nanos) {
  for (Cell& cell : row) {
    if (const auto* amount = std::get_if<Amount>(&cell); amount != nullptr && !amount->bytes) {
      cell = TimeText(amount->value, nanos, amount->sign);
    }
  }
}

// Amounts of a profile of time are shown as times.
TextTable InItsUnit(TextTable table, const AnswerHead* head) {
  const std::int64_t nanos = head == nullptr ? 0 : NanosOf(head->unit);
  if (nanos == 0) {
    return table;
  }
  for (std::vector<Cell>& row : table.rows) {
    ShowTimes(row, nanos);
  }
  if (table.stream) {
    table.stream = [made = std::move(table.stream), nanos](std::span<const std::size_t> known) {
      return RowStream<std::vector<Cell>>(
          [next = made(known), nanos, cells = std::vector<Cell>()]() mutable {
            const std::vector<Cell>* row = next();
            if (row == nullptr) {
              return static_cast<std::vector<Cell>*>(nullptr);
            }
            cells = *row;
            ShowTimes(cells, nanos);
            return &cells;
          });
    };
  }
  return table;
}

}  // namespace

void OutputOptions::Declare(po::options_description& options) {
  po::options_description group("Output");
  auto add = group.add_options();
  add("format", ToValue(&format_text_, ToWords(kFormats))->value_name("FORMAT"),
      (FormatsText() + " (default table)").c_str());
  add("unit",
      ToValue(&unit_text_, {.words = {"auto", "B", "KiB", "MiB", "GiB", "TiB"}})
          ->value_name("UNIT"),
      "auto, B, KiB, MiB, GiB or TiB (default auto)");
  add("columns", po::value(&columns_)->value_name("LIST"),
      "only these columns, in this order, such as flat,where; not with json or jsonl");
  add("output,o", po::value(&output_)->value_name("FILE"), "write to FILE instead of stdout");
  options.add(group);
}

Result<void> OutputOptions::Resolve(std::optional<std::size_t> rows) {
  const auto* const format =
      std::find_if(kFormats.begin(), kFormats.end(), [this](const Choice<Format>& choice) {
        return choice.word == (format_text_ == "md" ? "markdown" : format_text_);
      });
  if (format == kFormats.end()) {
    return Fail(ErrorCode::kUsage, "--format: there is no format '" + format_text_ + "'",
                FormatsText());
  }
  format_ = format->value;
  if (!columns_.empty() && (format_ == Format::kJson || format_ == Format::kJsonl)) {
    return Fail(ErrorCode::kUsage, "--columns does not go with json and jsonl",
                "their rows have every column; --format json-columns has those that are named");
  }
  limit_ = format_ == Format::kTable && output_ == "-" ? kTableRows : 0;
  limit_ = rows.value_or(limit_);
  auto unit = ParseSizeUnit(unit_text_);
  MEMTOOL_TRY(unit);
  unit_ = *unit;
  return {};
}

std::string OutputOptions::NextOf(const AnswerView& answer, const Streams& streams) const {
  return format_ == Format::kTable ? NextLines(answer, streams, Width(streams)) : "";
}

Result<void> OutputOptions::Print(const TextTable& table, const std::string& next,
                                  Streams& streams) const {
  auto columns = columns_.empty() ? Result<std::vector<std::size_t>>(ShownColumns(table))
                                  : ChooseColumns(table, columns_);
  MEMTOOL_TRY(columns);
  const std::size_t limit = table.blocks.empty() ? limit_ : 0;
  const TableStyle style{
      .limit = limit,
      .width = Width(streams),
      .palette = format_ == Format::kTable ? palette(streams) : Palette(),
      .links = output_ == "-" && streams.look.links ? &streams.look.links : nullptr,
      .unit = unit_,
      .columns = *std::move(columns)};
  return Deliver(streams, [&](Sink& out) {
    (format_ == Format::kMarkdown ? WriteMarkdown : WriteTable)(table, style, out);
    out.Write(VisibleText::Lines(next));
  });
}

Result<void> OutputOptions::Print(const AnswerView& answer,
                                  const std::function<TextTable()>& tabulate,
                                  Streams& streams) const {
  return is_table() ? Print(InItsUnit(tabulate(), answer.head), NextOf(answer, streams), streams)
                    : PrintRows(answer, limit_, streams);
}

Result<void> OutputOptions::PrintWhole(const AnswerView& answer,
                                       const std::function<TextTable()>& tabulate,
                                       Streams& streams) const {
  return is_table() ? Print(InItsUnit(tabulate(), answer.head), NextOf(answer, streams), streams)
                    : PrintRows(answer, 0, streams);
}

Result<void> OutputOptions::PrintRows(const AnswerView& answer, std::size_t limit,
                                      Streams& streams) const {
  std::optional<AnswerView> chosen;
  if (!columns_.empty()) {
    auto fields = ChooseFields(answer, columns_);
    MEMTOOL_TRY(fields);
    chosen = *std::move(fields);
  }
  const AnswerView& view = chosen ? *chosen : answer;
  if (streams.on_answer) {
    streams.on_answer(view, limit);
    return {};
  }
  std::vector<std::string> columns;
  if (format_ == Format::kJsonColumns) {
    auto made = MakeJsonColumns(view, limit);
    MEMTOOL_TRY(made);
    columns = *std::move(made);
  }
  return Deliver(streams, [&](Sink& out) {
    const TextSink sink = [&out](std::string_view bytes) { out.WriteBytes(bytes); };
    switch (format_) {
      case Format::kJson:
        memtool::WriteJson(view, limit, sink);
        break;
      case Format::kJsonColumns:
        memtool::WriteJsonColumns(view, limit, columns, sink);
        break;
      case Format::kJsonl:
        memtool::WriteJsonLines(view, limit, sink);
        break;
      default:
        memtool::WriteCsv(view, limit, sink);
    }
  });
}

Result<void> OutputOptions::Deliver(Streams& streams,
                                    const std::function<void(Sink& out)>& write) const {
  if (output_ == "-") {
    write(streams.out);
    return {};
  }
  return StreamWholeFile(
      output_,
      [&](const ByteSink& byte_sink) {
        CallbackSink out(byte_sink);
        out.SetAscii(streams.look.ascii);
        write(out);
        return out.Flush();
      },
      streams);
}

Result<void> OutputOptions::PrintText(const AnswerView& answer, VisibleText text,
                                      Streams& streams) const {
  text.AppendLines(NextOf(answer, streams));
  return Deliver(streams, [&text](Sink& out) { out.Write(text); });
}

}  // namespace memtool::commands
