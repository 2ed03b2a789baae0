#include "memtool/profile/answers/oom.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "answers/oom/oom_conclude.h"
#include "answers/oom/oom_figures.h"
#include "answers/oom/oom_order.h"
#include "answers/oom/oom_table_rows.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/clamped_sums.h"

namespace memtool {

namespace {

constexpr std::size_t kOthersHeld = 100;

// Who holds what is live, the largest first; together with the rounding and what lies in no block,
// they sum to live, pending and unplaced.
std::vector<OomRow> Holders(const Selection& selection, const OomState* state,
                            const OomQuery& query, By& by) {
  NodeSpace space;
  Tabulator table(query.by, space);
  table.Add(MakeInput(selection));
  by = table.by();
  std::vector<OomRow> holders;
  for (Row& row : table.Rows(query.sort)) {
    if (row.value.flat != 0) {
      holders.push_back({.kind = OomRow::Kind::kHolder,
                         .name = std::move(row.name),
                         .bytes = row.value.flat,
                         .file = std::move(row.file),
                         .line = row.line,
                         .via = std::move(row.via)});
    }
  }
  if (state == nullptr || query.partial || selection.choice().name != "space") {
    return holders;
  }
  if (state->unlisted > 0) {
    holders.push_back(
        {.kind = OomRow::Kind::kUnlisted, .name = "(unlisted)", .bytes = state->unlisted});
  }
  const std::int64_t held =
      SaturatingAdd(SaturatingAdd(state->live, state->pending), state->unplaced);
  const std::int64_t rounding =
      SaturatingSubtract(SaturatingSubtract(held, table.total()), state->unlisted);
  if (rounding > 0) {
    holders.push_back({.kind = OomRow::Kind::kRounding, .name = "(rounding)", .bytes = rounding});
  }
  return holders;
}

// The parts, and the holders after the last of the live parts.
// Of a program: arguments follow theirs; other buffers may be in several of its parts, so they
// follow all of them.
void AddRows(std::vector<OomRow> holders, OomAnswer& answer) {
  if (const auto& breakdown = answer.found->breakdown) {
    for (const OomPart& part : breakdown->parts) {
      // Less than nothing by rounding is nothing.
      answer.rows.push_back({.kind = OomRow::Kind::kPart,
                             .name = part.key,
                             .bytes = std::max<std::int64_t>(part.bytes, 0),
                             .precision = part.precision,
                             .contradicts = part.contradicts()});
    }
    if (breakdown->saturated) {
      NoteClampedSums(answer.head.diagnostics);
    }
  }
  const bool program =
      answer.found->breakdown && answer.found->breakdown->kind == BreakdownTotal::kProgram;
  const auto arguments = std::find_if(answer.rows.begin(), answer.rows.end(),
                                      [](const OomRow& row) { return row.name == "arguments"; });
  if (program && arguments != answer.rows.end()) {
    const auto others = std::stable_partition(holders.begin(), holders.end(),
                                              [](const OomRow& row) { return row.argument; });
    answer.rows.insert(std::next(arguments), std::make_move_iterator(holders.begin()),
                       std::make_move_iterator(others));
    holders.erase(holders.begin(), others);
  }
  const auto held =
      std::find_if(answer.rows.rbegin(), answer.rows.rend(), [program](const OomRow& row) {
        return program || row.name == "live" || row.name == "pending";
      }).base();
  answer.rows.insert(held, std::make_move_iterator(holders.begin()),
                     std::make_move_iterator(holders.end()));
  for (OomRow& row : answer.rows) {
    row.share = Share(row.bytes, answer.whole());
  }
}

void AddOther(OomOther other, OomAnswer& answer) {
  if (answer.others.size() < kOthersHeld) {
    answer.others.push_back(std::move(other));
  }
  ++answer.other_count;
}

// Failures at other moments than the selection's.
void AddOtherEvents(const Selection& selection, OomAnswer& answer) {
  const Recording& recording = selection.recording();
  const auto& moments = selection.moments();
  for (std::size_t row = 0; row < recording.history->traces.size(); ++row) {
    const Trace& trace = recording.history->traces[row];
    const auto events = GetEvents(recording, trace);
    for (std::size_t e = 0; e < events.size(); ++e) {
      const auto event = static_cast<std::int64_t>(e);
      const bool shown =
          events[e].action == Action::kOom &&
          std::any_of(moments.begin(), moments.end(), [&](const MomentOfTrace& moment) {
            return moment.trace == row && moment.event == event;
          });
      if (events[e].action == Action::kOom && !shown) {
        AddOther({.place = {.kind = OomPlace::Kind::kTrace, .trace = TraceText(trace)},
                  .requested_bytes = events[e].size,
                  .event = event},
                 answer);
      }
    }
  }
}

// Whatever the selection's sample type: parts are bytes.
void OfMemory(AnswerHead& head) {
  head.sample_type = "memory";
  head.unit = "bytes";
}

Value ToMicros(const std::optional<std::int64_t>& nanos) {
  return nanos ? Value(*nanos / 1000) : Value();
}

// A time without its year orders messages; as a number it would mislead.
std::optional<std::int64_t> DatedTime(const OomMessage& message) {
  return message.time && HasYear(*message.time) ? message.time : std::nullopt;
}

void AddJudged(const OomCase& found, std::vector<NamedValue>& figures) {
  const OomFacts& facts = found.facts;
  const auto bytes = [](const std::optional<Quantity>& quantity) {
    return Value(Possible(quantity));
  };
  const auto judged = [&found](std::int64_t figure) {
    return found.judged() ? Value(figure) : Value();
  };
  const OomVerdict& verdict = found.verdict;
  figures.insert(figures.end(), {{"close", verdict.close ? 1 : 0},
                                 {"asked", bytes(facts.requested_bytes)},
                                 {"driver_free", bytes(facts.free)},
                                 {"capacity", bytes(facts.capacity)},
                                 {"limit", bytes(facts.limit)},
                                 {"live", bytes(GetLive(found))},
                                 {"cached", bytes(facts.cached)},
                                 {"short_of_driver", judged(verdict.short_of_driver)},
                                 {"short_in_all", judged(verdict.short_in_all)},
                                 {"fits_in_one_piece", judged(verdict.short_in_all == 0 ? 1 : 0)}});
  if (found.state) {
    const OomState& state = *found.state;
    figures.insert(
        figures.end(),
        {{"reserved", state.reserved},
         {"largest_free", state.largest_free},
         {"fragmented_bytes", state.gives.unlisted > 0 ? Value() : Value(state.gives.fragmented)},
         {"usable_free", state.usable_free},
         {"usable_largest", state.usable_largest},
         {"estimated_segments", state.estimated}});
  }
  if (found.peak) {
    figures.insert(figures.end(), {{"peak", found.peak->bytes}, {"peak_event", found.peak->event}});
  }
  if (found.snapshot) {
    figures.insert(figures.end(), {{"rank", found.place.rank}, {"time_us", ToMicros(found.time)}});
  }
}

// The last attempt that failed and was repeated.
Value MakeRetry(const OomAnswer& answer) {
  if (!answer.last_retry) {
    return {};
  }
  const OomMessage& retry = *answer.last_retry;
  const auto bytes = [](const std::optional<OomNumber>& number) {
    return number ? Value(number->bytes) : Value();
  };
  return Value::Object{{"line", retry.line},
                       {"asked", bytes(retry.requested_bytes)},
                       {"driver_free", bytes(retry.free)},
                       {"capacity", bytes(retry.capacity)}};
}

Value MakeConclusion(const OomAnswer& answer) {
  if (!answer.found) {
    return {};
  }
  const OomConclusion& conclusion = answer.found->conclusion;
  Value::List advice;
  for (const OomAdvice& each : answer.advice) {
    advice.push_back(ToValue(each));
  }
  return Value::Object{{"reason", ToName(conclusion.reason)},
                       {"ruled_out", conclusion.ruled_out == OomRuledOut::kNothing
                                         ? Value()
                                         : Value(ToName(conclusion.ruled_out))},
                       {"advice", std::move(advice)}};
}

}  // namespace

AnswerView MakeView(const OomAnswer& answer) {
  std::vector<NamedValue> figures{{"total", Value(Unclamped(answer.whole()))},
                                  {"verdict", answer.found ? VerdictName(*answer.found) : "none"}};
  if (answer.found) {
    AddJudged(*answer.found, figures);
  }
  figures.emplace_back("conclusion", MakeConclusion(answer));
  if (!answer.found) {
    figures.emplace_back("killed_line", answer.killed > 0 ? Value(answer.killed) : Value());
  }
  if (!answer.found || answer.found->message) {
    figures.emplace_back("messages", answer.messages);
    figures.emplace_back("retries", answer.retries);
    figures.emplace_back("last_retry", MakeRetry(answer));
  }
  if (answer.found && answer.found->message) {
    const OomMessage& message = *answer.found->message;
    figures.insert(figures.end(), {{"message", answer.message},
                                   {"line", message.line},
                                   {"wording", ToName(message.wording)},
                                   {"complete", message.complete ? 1 : 0},
                                   {"rank", answer.found->place.rank},
                                   {"time_us", ToMicros(DatedTime(message))},
                                   {"gpu", message.gpu},
                                   {"operation", message.op.empty() ? Value() : message.op}});
  }
  if (answer.found && answer.found->message) {
    AddTables(*answer.found->message, figures);
  }
  return ViewRows(answer.head, std::move(figures), answer.rows, kOomFields);
}

std::vector<OomRow> FoldHolders(const OomAnswer& answer, std::size_t most) {
  const auto is_part = [](const OomRow& row) {
    return row.kind == OomRow::Kind::kPart || row.kind == OomRow::Kind::kRest;
  };
  std::vector<OomRow> folded;
  auto at = answer.rows.begin();
  while (at != answer.rows.end()) {
    // The holders of one part.
    const auto end = std::find_if(at, answer.rows.end(), is_part);
    const auto holders = static_cast<std::size_t>(end - at);
    const auto kept = at + static_cast<std::ptrdiff_t>(holders <= most + 1 ? holders : most);
    folded.insert(folded.end(), at, kept);
    if (kept != end) {
      folded.push_back(
          {.kind = OomRow::Kind::kOthers, .name = "(others)", .count = holders - most});
      for (auto row = kept; row != end; ++row) {
        folded.back().bytes = SaturatingAdd(folded.back().bytes, row->bytes);
      }
      folded.back().share = Share(folded.back().bytes, answer.whole());
    }
    at = end == answer.rows.end() ? end : std::next(end);
    if (end != answer.rows.end()) {
      folded.push_back(*end);
    }
  }
  return folded;
}

namespace {

// After what to try, before where to look.
void AddTrials(const Selection& selection, OomAnswer& answer) {
  if (selection.moments().size() != 1 || !answer.found->state) {
    return;
  }
  const HistoryIndex& index = *selection.history();
  const MomentOfTrace& at = selection.moments().front();
  const Trace& trace = index.history().traces[at.trace];
  const auto next_look = [&answer] {
    return std::find_if(answer.advice.begin(), answer.advice.end(), [](const OomAdvice& each) {
      return each.kind >= OomAdviceKind::kHeldOutside;
    });
  };
  if (auto changes = TryChanges(index, trace, *answer.found)) {
    answer.advice.insert(next_look(), *std::move(changes));
    const auto looks = std::find_if(
        answer.advice.begin(), answer.advice.end(),
        [](const OomAdvice& each) { return each.kind >= OomAdviceKind::kLookAtChanges; });
    answer.advice.insert(looks, OomAdvice{.kind = OomAdviceKind::kLookAtChanges});
  }
  auto trials = TryOthers(index, trace, at.event, *answer.found);
  if (trials) {
    // What is known to fail is no advice.
    const bool fails =
        std::any_of(trials->trials.begin(), trials->trials.end(), [](const OomTrial& trial) {
          return !trial.passes && trial.setting == "expandable_segments:True";
        });
    std::erase_if(answer.advice, [fails](const OomAdvice& each) {
      return fails && each.kind == OomAdviceKind::kExpandableSegments;
    });
    answer.advice.insert(next_look(), *std::move(trials));
  }
}

}  // namespace

std::int64_t RetriesIn(const Recording& recording) {
  std::int64_t retries = 0;
  for (const Diagnostic& diagnostic : recording.diagnostics) {
    retries += diagnostic.code == "retried" ? static_cast<std::int64_t>(diagnostic.count) : 0;
  }
  return retries;
}

OomAnswer Oom(const Selection& selection, const OomQuery& query) {
  OomAnswer answer{.found = MakeCase(selection)};
  answer.found->place.rank = RankOfPath(selection.name());
  answer.head.Add(selection);
  OfMemory(answer.head);
  const auto& state = answer.found->state;
  AddRows(Holders(selection, state ? &*state : nullptr, query, answer.by), answer);
  answer.retries = RetriesIn(selection.recording());
  answer.advice = Advise(*answer.found);
  AddTrials(selection, answer);
  AddOtherEvents(selection, answer);
  return answer;
}

namespace {

bool IsOfDevice(const OomMessage& message, std::string_view device) {
  return device.empty() || (message.gpu && std::to_string(*message.gpu) == device);
}

// Of the same request, with figures that the other one lacks.
bool IsMorePrecise(const OomMessage& message, const OomMessage& than) {
  const auto other = [](const std::optional<int>& a, const std::optional<int>& b) {
    return a && b && *a != *b;
  };
  const auto figures = [](const OomMessage& each) { return each.free || each.capacity; };
  return message.requested_bytes && message.requested_bytes->bytes == than.requested_bytes->bytes &&
         !other(message.gpu, than.gpu) && !other(message.rank, than.rank) && figures(message) &&
         !figures(than);
}

}  // namespace

std::optional<std::int64_t> ChooseMessage(const OomMessages& messages,
                                          std::optional<std::int64_t> segment_size,
                                          std::string_view device) {
  if (segment_size) {
    return *segment_size < 0 ? messages.found + 1 + *segment_size : *segment_size;
  }
  std::optional<std::int64_t> first;
  for (std::int64_t number = 1; number <= messages.last(); ++number) {
    const OomMessage& message = messages.at(number);
    if (!IsOfDevice(message, device)) {
      continue;
    }
    if (!first || (message.requested_bytes && !messages.at(*first).requested_bytes)) {
      first = number;
    }
    const OomMessage& best = messages.at(*first);
    if (best.requested_bytes && IsMorePrecise(message, best)) {
      first = number;
    }
  }
  return first;
}

void AddOthers(const OomMessages& messages, std::int64_t number, OomAnswer& answer) {
  for (std::int64_t each = 1; each <= messages.last(); ++each) {
    const OomMessage& message = messages.at(each);
    if (each != number && answer.others.size() < kOthersHeld) {
      answer.others.push_back(
          {.place = GetPlace(message),
           .requested_bytes = message.requested_bytes
                                  ? std::optional(message.requested_bytes->bytes)
                                  : std::nullopt,
           .message = each,
           .line = message.line});
    }
  }
  answer.other_count = messages.found - (number > 0 ? 1 : 0);
}

// A message that says only what was asked for, and a log that says what there was before it.
void UseLedger(const Ledger& ledger, OomCase& found) {
  if (found.conclusion.reason != OomReason::kOnlyRequested || found.message->device.empty() ||
      !ledger.free) {
    return;
  }
  found.room = OomRoom{.producer = ledger.producer,
                       .free = ledger.free->bytes,
                       .line = ledger.free->line,
                       .taken = ledger.taken};
  const std::int64_t lacking =
      SaturatingSubtract(found.facts.requested_bytes->bytes, found.room->left());
  if (lacking > 0) {
    found.verdict.why = OomCause::kFull;
    found.verdict.in_all = std::max<std::int64_t>(found.room->left(), 0);
    found.verdict.short_in_all = lacking;
    Conclude(found);
  }
}

OomAnswer Oom(const OomMessages& messages, std::int64_t number, std::string_view path) {
  OomAnswer answer{.messages = messages.found,
                   .message = number,
                   .retries = messages.retries,
                   .last_retry = messages.last_retry,
                   .killed = messages.killed,
                   .log_lines = messages.lines,
                   .log_bytes = messages.bytes};
  OfMemory(answer.head);
  answer.head.inputs.push_back(
      {.path = path == "-" ? "standard input" : std::string(path), .format = "oom-text"});
  if (number > 0) {
    const OomMessage& message = messages.at(number);
    answer.head.inputs.front().moment = "line:" + std::to_string(message.line);
    answer.found = MakeCase(WithTables(messages, number));
    if (!message.rank) {
      answer.found->place.rank = RankOfPath(path);
    }
    answer.order = GetOrder(messages);
    AddRows(TableHolders(*answer.found), answer);
    AddOthers(messages, number, answer);
  }
  if (messages.strings != nullptr) {
    constexpr auto kEnd = std::numeric_limits<std::uint64_t>::max();
    const OomMessage none;
    const OomMessage& message = number > 0 ? messages.at(number) : none;
    const std::string device = !message.device.empty() ? message.device
                               : message.gpu           ? std::to_string(*message.gpu)
                                                       : std::string();
    answer.ledger =
        LedgerBefore(messages.statements, *messages.strings, number > 0 ? message.line : kEnd,
                     {.prefix = message.prefix, .rank = message.rank, .device = device});
  }
  if (answer.found) {
    if (answer.ledger) {
      UseLedger(*answer.ledger, *answer.found);
    }
    answer.advice = Advise(*answer.found);
  }
  return answer;
}

}  // namespace memtool
