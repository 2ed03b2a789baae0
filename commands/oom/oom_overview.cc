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
  auto fields = kOomInputFields;
  for (Field<OomInputRow>& field : fields) {
    if (field.key == "device") {
      field.get = [](const OomInputRow& row) -> Value { return DeviceText(row); };
    } else if (field.key == "answer") {
      field.get = [](const OomInputRow& row) -> Value {
        return row.found ? Value(Headline(*row.found)) : Value();
      };
    }
  }
  return ViewRows(answer.head, MakeView(answer).figures, answer.rows, fields);
}

void Tabulate(const OomInputsAnswer& answer, TextTable& table) {
  constexpr std::size_t kRequested = 2;
  TableColumns<OomInputRow> columns(kOomInputFields, true);
  columns["device"].get = DeviceText;
  columns["verdict"].get = WhyText;
  Tabulate(answer.rows, columns.all(), 0, kRequested, table);
  table.head = {Summary(answer)};
  table.verdict_ink = answer.failed > 0 ? Ink::kGrew : Ink::kShrank;
  table.foot = {"memtool oom FILE explains one"};
}

}  // namespace memtool::commands
