#include "check/check_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "memtool/profile/base/sizes.h"
#include "output/escape.h"
#include "output/tabulate.h"
#include "output/text/cpp_names.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

std::string WhatText(const CheckRow& row) {
  switch (row.what) {
    case CheckWhat::kDevice:
      return "peak of device " + row.name;
    case CheckWhat::kBucket:
      return "bucket " + row.name;
    case CheckWhat::kFunction:
      return "functions " + row.name;
    default:
      return std::string(ToName(row.what));
  }
}

std::string CauseText(const CheckCause& cause, bool against_base) {
  const std::string place = PlaceText(cause.file, 0);
  const std::string where = NameText(cause.name) + (place.empty() ? "" : " " + place);
  if (!against_base) {
    return fmt::format("{} {}", FormatSize(cause.now), where);
  }
  return fmt::format(
      "{} {} ({})", FormatSize(cause.growth(), SizeUnit::kAuto, true), where,
      cause.base ? fmt::format("{} → {}", FormatSize(*cause.base), FormatSize(cause.now)) : "new");
}

std::string BecauseText(const CheckRow& row) {
  std::string text;
  for (const CheckCause& cause : row.because) {
    text += (text.empty() ? "" : ", ") + CauseText(cause, row.base.has_value());
  }
  return text;
}

bool HasSeveralInputs(const CheckAnswer& answer) {
  return std::any_of(answer.rows.begin(), answer.rows.end(),
                     [&](const CheckRow& row) { return row.input != answer.rows.front().input; });
}

// The limit that is next to be broken.
std::string ClosestText(const CheckAnswer& answer) {
  const auto share = [](const CheckRow& row) {
    return row.limit <= 0
               ? 1.0
               : static_cast<double>(row.value.value_or(0)) / static_cast<double>(row.limit);
  };
  const auto closest =
      std::max_element(answer.rows.begin(), answer.rows.end(),
                       [&](const CheckRow& a, const CheckRow& b) { return share(a) < share(b); });
  return closest == answer.rows.end()
             ? std::string()
             : fmt::format("; the closest is {}: {} of {} ({:.1f}%)", WhatText(*closest),
                           FormatSize(closest->value.value_or(0)), FormatSize(closest->limit),
                           100 * share(*closest));
}

std::string UnknownText(const CheckRow& row) {
  return fmt::format("{}: the input does not tell it; {} allows {}", WhatText(row),
                     row.base ? "the baseline" : "the budget", FormatSize(row.limit));
}

// "2 of 7 limits broken".
std::string SummaryText(const CheckAnswer& answer) {
  const std::string limits = Counted(answer.rows.size(), "limit");
  if (answer.broken > 0) {
    return fmt::format("{} of {} broken", answer.broken, limits);
  }
  if (answer.unknown > 0) {
    return fmt::format("{} of {} unknown", answer.unknown, limits);
  }
  return answer.rows.empty() ? "OK  there are no limits"
                             : fmt::format("OK  within {}{}", limits, ClosestText(answer));
}

std::vector<std::string> Verdict(const CheckAnswer& answer, const std::string& against) {
  std::vector<std::string> head;
  const bool several = HasSeveralInputs(answer);
  for (const CheckRow& row : answer.rows) {
    if (row.broken()) {
      head.push_back(
          fmt::format("FAILED  {}{}", BrokenText(row), several ? " · " + row.input : ""));
      if (!row.because.empty()) {
        head.push_back("  because " + BecauseText(row));
      }
    }
  }
  for (const CheckRow& row : answer.rows) {
    if (!row.value) {
      head.push_back(
          fmt::format("UNKNOWN  {}{}", UnknownText(row), several ? " · " + row.input : ""));
    }
  }
  head.push_back(SummaryText(answer));
  head.push_back((several || answer.rows.empty() ? "" : answer.rows.front().input + " ") + against);
  return head;
}

// Workflow commands end at a line's end, and % begins an escape.
std::string CommandText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '%' ? "%25" : c == '\n' ? "%0A" : c == '\r' ? "%0D" : std::string(1, c);
  }
  return escaped;
}

}  // namespace

std::string BrokenText(const CheckRow& row) {
  const std::string limit = row.base ? fmt::format("the {} allowed ({} in the baseline)",
                                                   FormatSize(row.limit), FormatSize(*row.base))
                                     : "its budget of " + FormatSize(row.limit);
  return fmt::format("{} is {}, {} above {}", WhatText(row), FormatSize(row.value.value_or(0)),
                     FormatSize(row.over()), limit);
}

Sentences CheckSentences(const CheckAnswer& answer, const std::string& against) {
  return {.verdict = Verdict(answer, against), .notes = answer.notes};
}

TextTable CheckTable(const CheckAnswer& answer, Sentences said, std::size_t limit) {
  TextTable table;
  for (std::string& note : said.notes) {
    note.insert(0, "note: ");
  }
  PutSentences(std::move(said), table);
  table.verdict_ink = answer.broken > 0 ? Ink::kGrew : Ink::kNone;
  TableColumns<CheckRow> columns(CheckFields(), true,
                                 {"ok", "value", "limit", "over", "base", "what", "input"});
  columns["ok"].get = [](const CheckRow& row) {
    return Cell(!row.value ? "unknown" : row.broken() ? "FAILED" : "ok");
  };
  columns["over"].get = [](const CheckRow& row) {
    return row.broken() ? Cell(Amount{.value = row.over()}) : Cell();
  };
  columns["what"].get = [](const CheckRow& row) { return Cell(WhatText(row)); };
  columns.KeepIf(HasSeveralInputs(answer), "input");
  Tabulate(answer.rows, columns.all(), limit, 1, table);
  return table;
}

std::vector<std::string> Annotations(const CheckAnswer& answer) {
  std::vector<std::string> lines;
  for (const CheckRow& row : answer.rows) {
    if (!row.value) {
      lines.push_back("::warning title=memtool check::" +
                      CommandText(EscapeText(row.input + ": " + UnknownText(row))));
    }
    if (row.broken()) {
      const std::string because = BecauseText(row);
      lines.push_back(
          fmt::format("::error title=memtool check::{}",
                      CommandText(EscapeText(fmt::format("{}: {}{}{}", row.input, BrokenText(row),
                                                         because.empty() ? "" : ": ", because)))));
    }
  }
  for (const std::string& note : answer.notes) {
    lines.push_back("::notice title=memtool check::" + CommandText(EscapeText(note)));
  }
  return lines;
}

std::string JunitXml(const CheckAnswer& answer) {
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"memtool check\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
      "skipped=\"{}\">\n",
      answer.rows.size(), answer.broken, answer.unknown);
  for (const CheckRow& row : answer.rows) {
    xml += fmt::format(R"(  <testcase classname="{}" name="{}{}")", EscapeXml(row.input),
                       EscapeXml(WhatText(row)), row.base ? " (baseline)" : "");
    if (!row.value) {
      xml += fmt::format(">\n    <skipped message=\"{}\"/>\n  </testcase>\n",
                         EscapeXml(UnknownText(row)));
      continue;
    }
    if (!row.broken()) {
      xml += "/>\n";
      continue;
    }
    xml += fmt::format(">\n    <failure message=\"{}\">{}</failure>\n  </testcase>\n",
                       EscapeXml(BrokenText(row)), EscapeXml(BecauseText(row)));
  }
  return xml + "</testsuite>\n";
}

}  // namespace memtool::commands
