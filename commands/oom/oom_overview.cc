#include "oom/oom_overview.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "oom/oom_words.h"
#include "output/tabulate.h"
#include "output/text/colors.h"

namespace memtool::commands {

namespace {

std::string DeviceText(const OomInputRow& row) {
  return row.found ? WhereText(row.found->place) : std::string();
}

std::string WhyText(const OomInputRow& row) {
  if (!row.found || !row.found->failed) {
    return "–";
  }
  return std::string(VerdictName(*row.found)) + (row.found->verdict.close ? " (close)" : "");
}

std::string Summary(const OomInputsAnswer& answer) {
  std::string text = fmt::format("{} of {} inputs ran out of memory", FormatCount(answer.failed),
                                 FormatCount(static_cast<std::int64_t>(answer.rows.size())));
  const char* before = ": ";
  for (const auto& [verdict, count] : answer.verdicts) {
    text += before + FormatCount(count) + " " + verdict;
    before = ", ";
  }
  if (answer.order) {
    text += " · " + OrderText(*answer.order);
  }
  return text;
}

}  // namespace

AnswerView ViewInWords(const OomInputsAnswer& answer) {
  std::vector<Field<OomInputRow>> fields(kOomInputFields.begin(), kOomInputFields.end());
  fields.insert(fields.begin() + 1,
                {"device", "DEVICE", Unit::kText,
                 [](const OomInputRow& row) -> Value { return DeviceText(row); }});
  fields.push_back({"answer", "", Unit::kText, [](const OomInputRow& row) {
                      return row.found ? Value(Headline(*row.found)) : Value();
                    }});
  return ViewRows<OomInputRow>(answer.head, ViewOf(answer).figures, answer.rows, std::move(fields));
}

void Tabulate(const OomInputsAnswer& answer, TextTable& table) {
  constexpr std::size_t kAsked = 2;
  const auto field = [](std::string_view key) {
    return ColumnOf(FieldNamed(kOomInputFields, key), true);
  };
  std::vector<TableColumn<OomInputRow>> columns{
      field("input"),
      {{.title = "DEVICE", .left = true, .drop = 4, .key = "device"}, DeviceText},
      field("asked"),
      field("driver_free"),
      field("live"),
      field("cached"),
      {{.title = "WHY", .left = true}, WhyText}};
  columns[0].style.path = true;
  columns[2].style.drop = 1;
  columns[3].style.drop = 3;
  columns[4].style.drop = 2;
  columns[5].style.drop = 5;
  Tabulate(answer.rows, columns, 0, kAsked, table);
  table.head = {Summary(answer)};
  table.verdict_color = answer.failed > 0 ? kAlarm256 : kBluishGreen;
  table.foot = {"memtool oom FILE explains one"};
}

}  // namespace memtool::commands
