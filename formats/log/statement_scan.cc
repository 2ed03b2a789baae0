#include "log/statement_scan.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "log/line_prefix.h"
#include "log/pattern_text.h"
#include "memtool/profile/base/numbers.h"

namespace memtool::formats::log {

namespace {

constexpr std::size_t kMaxStatements = 400'000;
constexpr std::size_t kMaxUnread = 200;
constexpr std::size_t kMaxUnreadBytes = 300;
constexpr std::size_t kMaxNameBytes = 200;

// An amount and a word about memory, in either order.
const re2::RE2& UnreadWords() {
  static const re2::RE2 words(
      "(?i)(?:memory|vram|hbm|alloc|reserved|buffer|kv.?cache).*[0-9] ?[KMGT]i?B\\b|"
      "[0-9] ?[KMGT]i?B\\b.*(?:memory|vram|hbm|alloc|reserved|buffer|kv.?cache)",
      re2::RE2::Latin1);
  return words;
}

StatementKind KindOf(const Pattern& pattern) {
  return pattern.kind == Pattern::Kind::kPlan  ? StatementKind::kPlan
         : pattern.kind == Pattern::Kind::kSum ? StatementKind::kSum
                                               : StatementKind::kMeasured;
}

// `unit`: as the line has it, where the pattern has none. There are never fewer than no tokens.
std::optional<ReadAmount> AmountOf(const Capture& capture, std::string_view word,
                                   std::string_view unit, bool rounds_down) {
  const auto amount =
      ParseAmount(word, capture.unit != 0 ? capture.unit : ParseUnit(unit), rounds_down);
  const bool fewer = capture.kind == Capture::Kind::kCount && amount && amount->value < 0;
  return fewer ? std::nullopt : amount;
}

}  // namespace

StatementScan::StatementScan(std::span<const PatternTable* const> tables) {
  for (const PatternTable* patterns : tables) {
    Table& table = tables_.emplace_back();
    table.patterns = patterns;
    table.regexps.resize(patterns->patterns().size());
  }
}

void StatementScan::Take(const LogLine& line) {
  failures_.clear();
  unfinished_ = false;
  if (!samples_.Take(line) && !TakePatterns(line, false)) {
    TakeUnread(line);
  }
}

void StatementScan::TakeFailures(const LogLine& line) {
  failures_.clear();
  unfinished_ = false;
  TakePatterns(line, true);
}

std::pair<std::span<const Statement>, bool> StatementScan::Find(const LogLine& line) {
  const std::size_t before = statements_.list.size();
  const bool known = TakePatterns(line, false);
  return {std::span<const Statement>(statements_.list).subspan(before), known};
}

// False: none of them matches.
bool StatementScan::TakePatterns(const LogLine& line, bool failures_only) {
  taken_.clear();
  bool known = false;
  for (Table& table : tables_) {
    table.patterns->Choose(line.text, chosen_);
    for (const std::uint32_t index : chosen_) {
      const Pattern& pattern = table.patterns->patterns()[index];
      if (failures_only && !pattern.fails()) {
        continue;
      }
      if (table.regexps[index] == nullptr) {
        table.regexps[index] = MakeRegexp(pattern);
      }
      const bool matches = TakeMatches(pattern, *table.regexps[index], line);
      known |= matches;
      unfinished_ |= pattern.fails() && (pattern.cut || !matches);
    }
  }
  return known;
}

// Records that several processes wrote at once may stand in one line.
bool StatementScan::TakeMatches(const Pattern& pattern, const re2::RE2& regexp,
                                const LogLine& line) {
  const re2::StringPiece text(line.text.data(), line.text.size());
  groups_.resize(static_cast<std::size_t>(regexp.NumberOfCapturingGroups()) + 1);
  bool any = false;
  for (std::size_t from = 0; from < text.size();) {
    if (!regexp.Match(text, from, text.size(), re2::RE2::UNANCHORED, groups_.data(),
                      static_cast<int>(groups_.size()))) {
      break;
    }
    any = true;
    const auto begin = static_cast<std::size_t>(groups_[0].data() - text.data());
    const std::size_t end = begin + std::max<std::size_t>(groups_[0].size(), 1);
    from = end;
    if (begin >= line.until) {
      break;  // of the next piece of the line
    }
    if (Claim(begin, end)) {
      failure_ = pattern.fails();
      if (failure_) {
        failures_.push_back({.pattern = &pattern,
                             .begin = begin,
                             .end = end,
                             .amounts = {},
                             .memory = pattern.memory,
                             .chip = {},
                             .shape = {},
                             .op = {}});
      }
      Read(pattern, line, begin);
    }
  }
  return any;
}

// Takes the bytes from `begin` to `end` for one match; false when some belong to another.
bool StatementScan::Claim(std::size_t begin, std::size_t end) {
  const auto behind = taken_.lower_bound(begin);
  if ((behind != taken_.end() && behind->first < end) ||
      (behind != taken_.begin() && std::prev(behind)->second > begin)) {
    return false;
  }
  taken_.emplace_hint(behind, begin, end);
  return true;
}

void StatementScan::Read(const Pattern& pattern, const LogLine& line, std::size_t begin) {
  if (pattern.kind == Pattern::Kind::kIgnore) {
    return;
  }
  // The process stands at the beginning of a line, a rank just before its words.
  constexpr std::size_t kReach = 200;
  const std::string_view first = line.text.substr(0, std::min(begin, kReach));
  const std::string_view before =
      line.text.substr(begin - std::min(begin, kReach), std::min(begin, kReach));
  const std::string_view process = GetNamedProcess(first);
  if (pattern.kind == Pattern::Kind::kStart) {
    ++statements_.starts;
    // Another number of the same process says itself that it began anew.
    run_ += process.empty() ? 1 : 0;
    return;
  }
  const auto rank = GetRank(GetTag(first), before);
  ReadGroups(pattern, {.line = line.number,
                       .time = line.time.value_or(kNoTime),
                       .producer = Intern(pattern.producer),
                       .process = Intern(process),
                       .device = {},
                       .stage = pattern.titled ? Intern(GetMessage(line.previous)) : StringId(),
                       .rank = rank.value_or(RankInName(process.empty() ? before : process)),
                       .kind = KindOf(pattern),
                       .adds = pattern.adds,
                       .host = pattern.host,
                       .run = run_});
}

// Where, when and what for.
void StatementScan::TakeText(Capture::Kind kind, std::string_view word, Statement& statement) {
  switch (kind) {
    case Capture::Kind::kDevice:
      statement.device = Intern(word);
      break;
    case Capture::Kind::kRank:
      statement.rank = ParseNumber<std::int32_t>(word).value_or(-1);
      break;
    case Capture::Kind::kTime: {
      constexpr std::int64_t kNanos = 1'000'000;
      statement.time = ParseNumber<std::int64_t>(word).value_or(0) * kNanos;
      break;
    }
    case Capture::Kind::kStage:
      statement.stage = Intern(GetMessage(word));
      break;
    default:
      NameInFailure(kind, word);
  }
}

// llama.cpp's and ollama's names of buffers of the host, among "CUDA0" and "MTL0_Mapped".
bool StatementScan::IsHostBuffer(StringId device) const {
  const std::string_view name = device.valid() ? statements_.strings[device] : std::string_view();
  return name.starts_with("CPU") || name.starts_with("AMX") || name.ends_with("_Host");
}

// What a pattern says of where comes first, whichever group has it.
void StatementScan::ReadGroups(const Pattern& pattern, Statement statement) {
  const auto text_of = [this](std::size_t group) {
    return std::string_view(groups_[group].data(), groups_[group].size());
  };
  for (const bool amounts : {false, true}) {
    std::size_t group = 1;
    for (const Capture& capture : pattern.captures) {
      const std::size_t at = group;
      group += capture.unit == 0 && capture.kind == Capture::Kind::kAmount ? 2 : 1;
      const bool is_amount =
          capture.kind == Capture::Kind::kAmount || capture.kind == Capture::Kind::kCount;
      if (is_amount != amounts || groups_[at].data() == nullptr) {
        continue;  // of a part that may be missing
      }
      const std::string_view word = text_of(at);
      if (!is_amount) {
        TakeText(capture.kind, word, statement);
      } else {
        TakeAmount(
            pattern, capture.amount,
            AmountOf(capture, word, capture.unit != 0 ? "" : text_of(at + 1), pattern.rounds_down),
            statement);
      }
    }
  }
}

void StatementScan::TakeAmount(const Pattern& pattern, std::uint8_t kind,
                               const std::optional<ReadAmount>& amount, Statement& statement) {
  if (failure_ && AmountKinds()[kind].name == "asked" && (!amount || amount->value < 0)) {
    failures_.back().absurd = true;
  } else if (amount) {
    statement.amount = kind;
    statement.value = amount->value;
    statement.below = amount->below;
    statement.above = amount->above;
    statement.host = statement.host || IsHostBuffer(statement.device);
    Add(statement);
    const bool first = reported_.emplace(kind, statement.device).second;
    only_reports_ = only_reports_ && pattern.report && first;
  }
}

// What only failures say.
void StatementScan::NameInFailure(Capture::Kind kind, std::string_view word) {
  if (!failure_) {
    return;
  }
  FoundFailure& failure = failures_.back();
  (kind == Capture::Kind::kMemory  ? failure.memory
   : kind == Capture::Kind::kChip  ? failure.chip
   : kind == Capture::Kind::kShape ? failure.shape
                                   : failure.op) = word;
}

StringId StatementScan::Intern(std::string_view name) {
  return name.empty() ? StringId() : statements_.strings.Intern(name.substr(0, kMaxNameBytes));
}

void StatementScan::Add(const Statement& statement) {
  if (failure_) {
    failures_.back().amounts.push_back(statement);
    return;
  }
  ++statements_.found;
  if (statements_.list.size() < kMaxStatements) {
    statements_.list.push_back(statement);
  }
}

void StatementScan::Keep(std::span<const Statement> amounts) {
  failure_ = false;
  for (const Statement& statement : amounts) {
    Add(statement);
  }
}

void StatementScan::TakeUnread(const LogLine& line) {
  constexpr std::size_t kReach = 2000;
  const std::string_view text = line.text.substr(0, kReach);
  if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), UnreadWords())) {
    return;
  }
  if (++statements_.unread_count <= kMaxUnread) {
    statements_.unread.push_back(
        {.line = line.number, .text = std::string(text.substr(0, kMaxUnreadBytes))});
  }
}

}  // namespace memtool::formats::log
