#include "whatif/context_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "memtool/profile/base/sizes.h"
#include "output/tabulate.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

std::string Verdict(const ContextFit& answer) {
  if (answer.fitting <= 0) {
    return fmt::format("not even one token fits in {}: the other parts take {}",
                       FormatSize(answer.budget), FormatSize(answer.other_bytes));
  }
  std::string text =
      fmt::format("one sequence of up to {} tokens fits", FormatCount(answer.fitting));
  const auto own = std::find_if(answer.rows.begin(), answer.rows.end(),
                                [](const ContextRow& row) { return row.own && !row.longest; });
  if (own != answer.rows.end()) {
    text += own->sequences == 0 ? fmt::format("; the longest that {} takes, {}, does not",
                                              answer.producer, FormatCount(own->tokens))
                                : fmt::format(", or {} of {}, the longest that {} takes",
                                              FormatCount(own->sequences), FormatCount(own->tokens),
                                              answer.producer);
  }
  return text;
}

std::string Rule(const ContextFit& answer) {
  return fmt::format(
      "{} a token: the KV cache of {} tokens takes {}{} ({} line {})",
      FormatSize(static_cast<std::int64_t>(answer.bytes_per_token())), FormatCount(answer.tokens),
      FormatSize(answer.kv_bytes), answer.device.empty() ? "" : " on " + answer.device,
      answer.head.inputs.front().path, FormatCount(static_cast<std::int64_t>(answer.line)));
}

// What the cache has to fit into.
std::string Budget(const ContextFit& answer) {
  const std::string rest = fmt::format(
      "the other parts, {}, stay as they are{}", FormatSize(answer.other_bytes),
      answer.sliding > 0
          ? fmt::format(", and so do caches of a sliding window, {}", FormatSize(answer.sliding))
          : "");
  switch (answer.budget_kind) {
    case ContextBudget::kFree:
      return fmt::format("of {} that was free before; {}", FormatSize(answer.budget), rest);
    case ContextBudget::kShare:
      return fmt::format("of {}, {:.0f}% of the card as {} takes here; {}",
                         FormatSize(answer.budget), 100 * answer.share, answer.producer, rest);
    case ContextBudget::kLimit:
      return fmt::format("of {}; {}", FormatSize(answer.budget), rest);
    case ContextBudget::kAsIs:
      break;
  }
  return fmt::format(
      "{}{} made the caches as large as fits: --card NAME or SIZE says what another card would "
      "hold",
      answer.sliding > 0
          ? fmt::format("caches of a sliding window take {} besides; ", FormatSize(answer.sliding))
          : std::string(),
      answer.producer);
}

}  // namespace

Sentences ContextSentences(const ContextFit& answer, const std::string& card_note) {
  Sentences said{.verdict = {Verdict(answer), Rule(answer), Budget(answer)},
                 .notes = {"from one log: compute buffers may grow with the context too, and a "
                           "model has a longest context of its own"}};
  if (answer.budget_kind == ContextBudget::kLimit) {
    said.verdict.push_back(card_note);
  }
  return said;
}

TextTable ContextTable(const ContextFit& answer, Sentences said) {
  TableColumns<ContextRow> columns(kContextFields, true, {"tokens", "sequences", "kv_bytes"});
  TextTable table;
  Tabulate(answer.rows, columns.all(), 0, 2, table);
  PutSentences(std::move(said), table);
  return table;
}

}  // namespace memtool::commands
