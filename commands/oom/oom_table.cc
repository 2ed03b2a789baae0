#include "oom/oom_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "oom/oom_words.h"
#include "output/tabulate.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kHoldersInTable = 5;

// What a log without a message says.
std::vector<OomSentence> Known(const OomAnswer& answer) {
  std::vector<OomSentence> known;
  if (answer.retries > 0) {
    known.push_back({"KNOWN", RetriesText(answer)});
  }
  if (answer.killed > 0) {
    known.push_back({"KNOWN", KilledText(answer)});
  }
  if (answer.ledger) {
    known.push_back({"KNOWN", LedgerText(answer)});
  }
  return known;
}

Value MakeSentences(const OomAnswer& answer, std::string_view rest) {
  Value::List list;
  const auto add = [&list](OomSentence sentence) {
    list.push_back(Value::Object{{"kind", sentence.word}, {"text", std::move(sentence.text)}});
  };
  if (answer.found) {
    for (OomSentence& sentence : Reasons(*answer.found)) {
      add(std::move(sentence));
    }
    for (const OomAdvice& advice : answer.advice) {
      for (OomSentence& sentence : Sentences(advice, *answer.found, rest)) {
        add(std::move(sentence));
      }
    }
    if (answer.ledger) {
      add({"KNOWN", LedgerText(answer)});
    }
  } else {
    for (OomSentence& sentence : Known(answer)) {
      add(std::move(sentence));
    }
  }
  return list;
}

std::string GetLine(const OomSentence& sentence) {
  return fmt::format("{:<6}{}", sentence.word, sentence.text);
}

// What a recording leaves uncertain.
void AddNotes(const OomAnswer& answer, const OomTableStyle& style, std::vector<std::string>& foot) {
  foot.insert(foot.end(), style.moments.begin(), style.moments.end());
  if (answer.other_count > 0) {
    foot.push_back(OtherEventsText(answer));
  }
  if (!answer.found->state) {
    return;
  }
  const OomState& state = *answer.found->state;
  if (state.estimated > 0) {
    foot.push_back(
        fmt::format("{} of {} segments are estimated: a history records requested sizes; block "
                    "sizes follow from the allocator's rules",
                    FormatCount(state.estimated), FormatCount(state.segments)));
  }
  for (const Diagnostic& diagnostic : answer.head.diagnostics) {
    if (diagnostic.code == "cut") {
      foot.push_back(diagnostic.message);
    }
  }
  if (state.unplaced > 0) {
    foot.push_back(
        fmt::format("{} of live blocks lie in no known segment: this history lacks segment events",
                    FormatSize(state.unplaced)));
  }
}

void AddText(const OomAnswer& answer, const OomTableStyle& style, std::string_view rest,
             TextTable& table) {
  const OomCase& found = *answer.found;
  for (const OomSentence& sentence : Reasons(found)) {
    table.head.push_back(GetLine(sentence));
  }
  if (answer.ledger) {
    table.head.push_back(GetLine({"KNOWN", LedgerText(answer)}));
  }
  table.head.push_back(style.source);
  if (!style.filters.empty()) {
    table.head.push_back("filters: " + style.filters);
  }
  if (found.breakdown) {
    table.head.push_back(WholeText(found) + " =");
  }
  table.foot = Doubts(found);
  for (const OomAdvice& advice : answer.advice) {
    for (const OomSentence& sentence : Sentences(advice, found, rest)) {
      if (style.names_next || sentence.word != "NEXT") {
        table.foot.push_back(GetLine(sentence));
      }
    }
  }
  if (found.snapshot) {
    AddNotes(answer, style, table.foot);
  } else if (answer.other_count > 0) {
    table.foot.push_back(OtherMessagesText(answer));
  }
  if (answer.retries > 0) {
    table.foot.push_back(RetriesText(answer));
  }
}

}  // namespace

AnswerView ViewInWords(const OomAnswer& answer, std::string_view rest) {
  AnswerView view = MakeView(answer);
  const auto conclusion =
      std::find_if(view.figures.begin(), view.figures.end(),
                   [](const NamedValue& figure) { return figure.first == "conclusion"; });
  *conclusion = {"answer", Headline(answer)};
  view.figures.insert(std::next(conclusion), {"sentences", MakeSentences(answer, rest)});
  return view;
}

void Tabulate(const OomAnswer& answer, const OomTableStyle& style, std::string_view rest,
              TextTable& table) {
  constexpr std::size_t kWhat = 2;  // no sum of what is cut, because rows divide other rows
  TableColumns<OomRow> columns(kOomFields, true, {"bytes", "share", "name"});
  columns["name"].get = [&answer](const OomRow& row) { return RowText(answer, row); };
  Tabulate(style.fold ? FoldHolders(answer, kHoldersInTable) : answer.rows, columns.all(),
           style.limit, kWhat, table);
  table.head = {Headline(answer)};
  table.verdict_ink = answer.found && answer.found->failed ? Ink::kGrew : Ink::kShrank;
  if (answer.found) {
    AddText(answer, style, rest, table);
  } else {
    for (const OomSentence& sentence : Known(answer)) {
      table.head.push_back(GetLine(sentence));
    }
    if (answer.killed == 0) {
      table.head.emplace_back("what a snapshot would show: see memtool help recording");
    }
  }
}

}  // namespace memtool::commands
