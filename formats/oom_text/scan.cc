#include "oom_text/scan.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "log/escapes.h"
#include "log/line_prefix.h"
#include "log/log_lines.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "oom_text/words/phrases.h"

namespace memtool::formats::oom_text {

namespace {

using log::Clean;
using log::GetProcess;
using log::GetRank;
using log::GetTag;

constexpr std::size_t kMaxTextBytes = log::kLineOverlap / 2;  // of one message
constexpr std::size_t kMaxOpen = 256;                         // cut-off messages at a time
constexpr std::size_t kMaxRetained = 10'000;                  // messages in the answer
constexpr std::size_t kMaxProcessLength = 128;
constexpr int kPatience = 64;
constexpr int kWrappedLines = 3;  // of a failure that has a pattern

// Without the box-drawing characters at the end of a line.
std::string_view WithoutFrame(std::string_view line) {
  constexpr std::string_view kBar = "│";
  for (bool more = true; more && !line.empty();) {
    more = line.back() == ' ' || line.back() == '|' || line.back() == '\t';
    line.remove_suffix(more ? 1 : 0);
    if (line.ends_with(kBar)) {
      line.remove_suffix(kBar.size());
      more = true;
    }
  }
  return line;
}

// A continuation without its tag and the characters of boxes, comments and quotes before it.
std::string_view GetBody(std::string_view line, std::string_view tag) {
  line.remove_prefix(tag.size());
  for (bool more = true; more && !line.empty();) {
    more = false;
    for (const std::string_view mark :
         {std::string_view(" "), std::string_view("\t"), std::string_view("#"),
          std::string_view(">"), std::string_view("│"), std::string_view("|")}) {
      if (line.starts_with(mark)) {
        line.remove_prefix(mark.size());
        more = true;
      }
    }
  }
  return WithoutFrame(line);
}

// A message has one of these. Cheap words: most lines say nothing about memory.
constexpr std::array<std::string_view, 4> kMessageWords = {"emory", "MEMORY", "o allocate",
                                                           "OOM when"};

const log::WordFilter& MessageWords() {
  static const log::WordFilter words({kMessageWords.begin(), kMessageWords.end()});
  return words;
}

std::vector<const log::PatternTable*> TablesWith(const log::PatternTable* more) {
  std::vector<const log::PatternTable*> tables;
  if (more != nullptr) {
    tables.push_back(more);
  }
  tables.push_back(&log::BuiltinPatterns());
  return tables;
}

// What a line says something with, outside of tables.
log::WordFilter MakeWords(const log::PatternTable* more) {
  std::vector<std::string> words(kMessageWords.begin(), kMessageWords.end());
  words.insert(words.end(), kTableWords.begin(), kTableWords.end());
  words.insert(words.end(), log::SampleTables::kWords.begin(), log::SampleTables::kWords.end());
  for (const log::PatternTable* table : TablesWith(more)) {
    for (const log::Pattern& pattern : table->patterns()) {
      words.push_back(pattern.anchor);
    }
  }
  return log::WordFilter(std::move(words));
}

}  // namespace

Scan::Scan(const log::PatternTable* patterns) : statements_(TablesWith(patterns)) {}

bool Scan::WantsNext() const {
  return !open_.empty() || wrapped_.number > 0 || tables_.open() || statements_.WantsNext();
}

void Scan::Take(const log::LogLine& at) {
  const std::string_view seen = Clean(at.text, clean_);
  const std::uint64_t number = at.number;
  time_ = at.time;
  std::size_t until = at.until;
  if (!open_.empty()) {
    GoOn(seen.substr(0, kMaxTextBytes));
  }
  if (seen.size() != at.text.size() && until < at.text.size()) {
    std::string behind;
    const std::size_t left = Clean(at.text.substr(until), behind).size();
    until = seen.size() - std::min(left, seen.size());
  }
  const std::string_view tag = GetTag(seen);
  tables_.Take(seen, number, tag, GetProcess(tag));
  GoOnWrapped(seen);
  const log::LogLine line{
      .text = seen, .number = number, .until = until, .previous = at.previous, .time = at.time};
  statements_.Take(line);
  const bool unfinished = statements_.unfinished();
  const bool known = TakeFailures(line, true);
  const std::uint64_t before = log_.found + open_.size() + log_.retries;
  if (!known && MessageWords().Find(seen, 0) != std::string_view::npos) {
    FindIn(seen, number, until);
  }
  if (!known && log_.found + open_.size() + log_.retries == before) {
    TakeFailures(line, false);
  }
  if (unfinished && seen.size() <= kMaxTextBytes) {
    wrapped_ = {.text = std::string(WithoutFrame(seen)),
                .tag = std::string(tag),
                .number = number,
                .time = time_,
                .left = kWrappedLines};
  }
}

namespace {

// The number that a name of a device ends with: "cuda:1", "ROCm0".
std::optional<int> NumberAtEnd(std::string_view name) {
  const std::size_t other = name.find_last_not_of("0123456789");
  return ParseNumber<int>(name.substr(other == std::string_view::npos ? 0 : other + 1));
}

// As far as both say what was asked for, and exactly enough.
bool IsSameRequest(const OomMessage& a, const OomMessage& b) {
  return !a.requested_bytes || !b.requested_bytes ||
         Magnitude(SaturatingSubtract(a.requested_bytes->bytes, b.requested_bytes->bytes)) <=
             SaturatingAdd(a.requested_bytes->precision, b.requested_bytes->precision);
}

// The figures of a failure, as its pattern names them.
void Fill(OomMessage& message, const std::vector<Statement>& amounts) {
  const auto of = [&amounts](std::string_view name) -> const Statement* {
    const auto at = std::find_if(amounts.begin(), amounts.end(), [name](const Statement& amount) {
      return amount.what().name == name;
    });
    return at == amounts.end() ? nullptr : &*at;
  };
  for (auto at = amounts.begin(); at != amounts.end(); ++at) {
    const Statement& amount = *at;
    OomNumber number{.bytes = amount.value, .precision = amount.above};
    const std::string_view name = amount.what().name;
    // What a message asks for in two pieces.
    for (auto other = amounts.begin(); other != at; ++other) {
      if (other->what().name == name) {
        number = {.bytes = SaturatingAdd(number.bytes, other->value),
                  .precision = SaturatingAdd(number.precision, other->above)};
      }
    }
    for (const auto& [known, to] : {std::pair(std::string_view("asked"), &message.requested_bytes),
                                    {"free", &message.free},
                                    {"total", &message.capacity},
                                    {"limit", &message.limit},
                                    {"allocated", &message.allocated},
                                    {"cached", &message.unallocated},
                                    {"largest_free", &message.largest},
                                    {"process", &message.process},
                                    {"lacking", &message.lacking}}) {
      if (name == known) {
        *to = number;
      }
    }
  }
  const auto difference = [](const OomNumber& whole, const Statement& part) {
    return OomNumber{.bytes = SaturatingSubtract(whole.bytes, part.value),
                     .precision = SaturatingAdd(whole.precision, part.above)};
  };
  if (const Statement* reserved = of("reserved"); reserved != nullptr && message.allocated) {
    message.unallocated =
        OomNumber{.bytes = SaturatingSubtract(reserved->value, message.allocated->bytes),
                  .precision = SaturatingAdd(reserved->above, message.allocated->precision)};
  }
  if (const Statement* used = of("used"); used != nullptr && message.capacity) {
    message.free = difference(*message.capacity, *used);
  }
}

}  // namespace

OomMessage Scan::MakeMessage(const log::FoundFailure& found, const log::LogLine& line) const {
  const log::Pattern& pattern = *found.pattern;
  OomMessage message{
      .wording = pattern.wording.value_or(pattern.host ? OomWording::kHost : OomWording::kLibrary),
      .kind = found.memory.empty() ? pattern.producer : found.memory,
      .line = line.number,
      .time = line.time,
      .complete = !pattern.cut || found.amounts.empty(),
      .retry = pattern.kind == log::Pattern::Kind::kRetry};
  message.chip = found.chip;
  message.shape = found.shape;
  message.op = found.op;
  Fill(message, found.amounts);
  if (!message.requested_bytes && !message.free && !message.limit && !pattern.host &&
      !pattern.wording) {
    message.wording = OomWording::kNoFigures;
  }
  for (const Statement& amount : found.amounts) {
    if (amount.device.valid()) {
      message.gpu = NumberAtEnd(statements_.Text(amount.device));
    }
  }
  constexpr std::size_t kBefore = 200;
  const std::size_t reach = std::min(found.begin, kBefore);
  const std::string_view tag = GetTag(line.text);
  message.rank = GetRank(tag, line.text.substr(found.begin - reach, reach));
  message.prefix = GetProcess(tag).substr(0, kMaxProcessLength);
  return message;
}

bool Scan::TellsMore(const log::FoundFailure& found, const log::LogLine& at) {
  constexpr std::uint64_t kNear = 24;  // lines from a failure to what says more of it
  const bool detail = found.pattern->kind == log::Pattern::Kind::kDetail;
  if ((!detail && !found.pattern->repeats) || log_.messages.empty() ||
      log_.messages.back().kind != found.pattern->producer ||
      at.number - log_.messages.back().line > kNear) {
    return detail;
  }
  OomMessage& last = log_.messages.back();
  const OomMessage again = MakeMessage(found, at);
  const bool same = found.amounts.empty() ? again.prefix == last.prefix
                                          : IsSameRequest(again, last) &&
                                                again.gpu.value_or(-1) == last.gpu.value_or(-1);
  if (detail || same) {
    Fill(last, found.amounts);
  }
  return detail || same;
}

void Scan::TakeFailure(const log::FoundFailure& found, const log::LogLine& at) {
  if (TellsMore(found, at)) {
    return;
  }
  const std::string_view process = GetProcess(GetTag(at.text));
  if (!found.pattern->after_retry || AfterRetry(process, at.number)) {
    TakeMessage(MakeMessage(found, at), process);
  }
}

bool Scan::TakeFailures(const log::LogLine& at, bool telling) {
  bool any = false;
  for (const log::FoundFailure& found : statements_.failures()) {
    const bool bare = found.amounts.empty() && found.pattern->kind == log::Pattern::Kind::kFailure;
    if (found.begin < joined_end_ || bare == telling || (bare && any)) {
      continue;  // a line says once that memory ran out
    }
    any = true;
    TakeFailure(found, at);
  }
  return any;
}

// Of a failure that begins in one line and ends in the next: what its pattern says of both. Returns
// where it ends.
std::optional<std::size_t> Scan::TakeJoined(const std::string& text) {
  const log::LogLine line{.text = text, .number = wrapped_.number, .time = wrapped_.time};
  statements_.TakeFailures(line);
  for (const log::FoundFailure& found : statements_.failures()) {
    if (found.begin >= wrapped_.text.size() || found.end <= wrapped_.text.size() ||
        found.pattern->cut) {
      continue;
    }
    const bool known = !log_.messages.empty() && log_.messages.back().line == line.number;
    if (known) {
      log_.messages.back() = MakeMessage(found, line);
    } else {
      TakeFailure(found, line);
    }
    return found.end;
  }
  return std::nullopt;
}

void Scan::GoOnWrapped(std::string_view line) {
  joined_end_ = 0;
  if (wrapped_.number == 0) {
    return;
  }
  const std::string_view tag = GetTag(line);
  const std::string_view body = GetBody(line, tag);
  const std::string spaced = wrapped_.text + ' ' + std::string(body);
  --wrapped_.left;
  if (tag == wrapped_.tag && spaced.size() <= kMaxTextBytes) {
    // Some programs break lines within words.
    const std::string joined = wrapped_.text + std::string(body);
    for (const std::string& text : {spaced, joined}) {
      if (const auto end = TakeJoined(text)) {
        wrapped_ = {};
        const auto body_at = static_cast<std::size_t>(body.data() - line.data());
        joined_end_ = body_at + body.size() - std::min(text.size() - *end, body.size());
        return;
      }
    }
    wrapped_.text = spaced;
  }
  if (wrapped_.left == 0) {
    wrapped_ = {};
  }
}

void Scan::FindIn(std::string_view line, std::uint64_t number, std::size_t until) {
  const std::string_view tag = GetTag(line);
  for (std::size_t from = 0; from < line.size();) {
    const std::size_t at = FindStart(line, from);
    if (at >= std::min(until, line.size())) {
      return;
    }
    const std::string_view text = WithoutFrame(line.substr(at, kMaxTextBytes));
    auto parsed = ParseMessage(text);
    if (!parsed) {
      // Past its first character only: a real message may begin within the same words.
      from = at + 1;
      continue;
    }
    parsed->message.line = number;
    parsed->message.time = time_;
    constexpr std::size_t kBefore = 200;
    const std::size_t left = at > kBefore ? at - kBefore : 0;
    parsed->message.rank = GetRank(tag, line.substr(left, at - left));
    parsed->message.prefix = GetProcess(tag).substr(0, kMaxProcessLength);
    if (!parsed->message.gpu) {
      parsed->message.gpu = GpuOfAllocator(line.substr(left, at - left + parsed->consumed));
    }
    from = at + std::max<std::size_t>(parsed->consumed, 1);
    if (!parsed->message.retry && parsed->starved && open_.size() < kMaxOpen) {
      open_.push_back({.message = std::move(parsed->message),
                       .text = std::string(text),
                       .tag = std::string(tag),
                       .consumed = parsed->consumed,
                       .patience = kPatience});
    } else {
      TakeMessage(std::move(parsed->message), GetProcess(tag));
    }
  }
}

bool Scan::AfterRetry(std::string_view process, std::uint64_t line) const {
  constexpr std::uint64_t kAtOnce = 64;
  return retry_.line > 0 && retry_.process == process && line - retry_.line <= kAtOnce;
}

void Scan::TakeRetry(OomMessage message, std::string_view process) {
  ++log_.retries;
  if (message.wording == OomWording::kTorchRetry) {
    retry_ = {.process = std::string(process), .line = message.line};
  }
  log_.last_retry = std::move(message);
}

void Scan::TakeMessage(OomMessage message, std::string_view process) {
  if (message.retry) {
    TakeRetry(std::move(message), process);
    return;
  }
  if (message.wording == OomWording::kNoFigures && message.kind == "CUDA" &&
      AfterRetry(process, message.line)) {
    // The warning is about the call that this error ends: its figures are the best there are.
    const OomMessage& retry = *log_.last_retry;
    message.wording = retry.wording;
    message.gpu = retry.gpu;
    message.requested_bytes = retry.requested_bytes;
    message.free = retry.free;
    message.capacity = retry.capacity;
  }
  Add(std::move(message));
}

// Passes the line to the messages that it may continue.
void Scan::GoOn(std::string_view line) {
  const std::string_view tag = GetTag(line);
  for (Open& open : open_) {
    if (tag != open.tag) {
      open.closed = --open.patience <= 0;
      continue;
    }
    const std::string_view body = GetBody(line, tag);
    std::string text = open.text + ' ' + std::string(body);
    auto parsed = ParseMessage(text);
    bool more = parsed && parsed->consumed > open.text.size() && text.size() <= kMaxTextBytes;
    if (!more) {
      // Some programs break lines within words.
      std::string joined = open.text + std::string(body);
      auto whole = ParseMessage(joined);
      if (whole && whole->consumed > open.text.size() && joined.size() <= kMaxTextBytes) {
        more = true;
        text = std::move(joined);
        parsed = std::move(whole);
      }
    }
    // A line may end before anything significant: "(e.g.," and the like.
    const bool waits = parsed && parsed->starved && text.size() <= kMaxTextBytes &&
                       parsed->consumed >= open.consumed && open.patience > 1;
    if (!more && !waits) {
      open.closed = true;
      continue;
    }
    parsed->message.line = open.message.line;
    parsed->message.rank = open.message.rank;
    parsed->message.time = open.message.time;
    parsed->message.prefix = open.message.prefix;
    open.message = std::move(parsed->message);
    open.consumed = parsed->consumed;
    open.text = std::move(text);
    open.closed = !parsed->starved;
    --open.patience;
  }
  for (Open& open : open_) {
    if (open.closed) {
      Add(std::move(open.message));
    }
  }
  std::erase_if(open_, [](const Open& open) { return open.closed; });
}

// Keeps messages in order: a cut-off one may end after others that began later.
void Scan::Add(OomMessage message) {
  ++log_.found;
  auto at = log_.messages.end();
  while (at != log_.messages.begin() && (at - 1)->line > message.line) {
    --at;
  }
  log_.messages.insert(at, std::move(message));
  if (log_.messages.size() > kMaxRetained) {
    log_.messages.pop_back();
  }
}

namespace {

// TensorFlow's error says what its allocator said before.
bool SaysAgain(const OomMessage& error, const OomMessage& before) {
  constexpr std::int64_t kRounding = 512;
  return error.wording == OomWording::kTensorFlow && before.wording == OomWording::kXla &&
         error.requested_bytes && before.requested_bytes &&
         Magnitude(
             SaturatingSubtract(error.requested_bytes->bytes, before.requested_bytes->bytes)) <=
             SaturatingAdd(before.requested_bytes->precision, kRounding);
}

}  // namespace

// The pool of XLA and TensorFlow asks for much at a time, then for less: only the last refusal of a
// process that says nothing else is its failure. What is said again is one message.
void Scan::MovePoolMessages() {
  constexpr std::uint64_t kAtOnce = 64;  // lines
  struct Last {
    OomMessage* growth = nullptr;
    const OomMessage* failure = nullptr;
  };
  std::map<std::string, Last> processes;
  for (OomMessage& message : log_.messages) {
    if (!IsOfPool(message)) {
      continue;
    }
    Last& last = processes[message.prefix];
    if (OomMessage* const growth = last.growth; growth != nullptr) {
      ++log_.retries;
      if (!log_.last_retry || log_.last_retry->line < growth->line) {
        log_.last_retry = *growth;
      }
      growth->retry = true;
      message.driver_refused = message.line - growth->line <= kAtOnce;
    }
    last.growth = message.growth ? &message : nullptr;
    if (last.failure != nullptr && SaysAgain(message, *last.failure)) {
      message.retry = true;
    } else if (!message.growth) {
      last.failure = &message;
    }
  }
  log_.found -=
      std::erase_if(log_.messages, [](const OomMessage& message) { return message.retry; });
}

OomLog Scan::Finish() {
  for (Open& open : open_) {
    Add(std::move(open.message));
  }
  open_.clear();
  MovePoolMessages();
  std::move(tables_).GiveTo(log_);
  log_.statements = statements_.Finish();
  return std::move(log_);
}

OomLog ScanLog(ByteWindow& in, const log::PatternTable* patterns, std::string* text) {
  static const log::WordFilter builtin = MakeWords(nullptr);
  const auto own = patterns == nullptr ? std::nullopt : std::optional(MakeWords(patterns));
  Scan scan(patterns);
  const std::uint64_t lines = log::ReadLines(in, own ? *own : builtin, scan, text);
  OomLog log = scan.Finish();
  log.lines = lines;
  log.bytes = in.offset();
  return log;
}

bool IsLog(std::string_view head) {
  const bool utf16 = head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF");
  return !head.empty() && (utf16 || head.find('\0') == std::string_view::npos);
}

}  // namespace memtool::formats::oom_text

namespace memtool::formats {

OomLog FindOoms(std::string_view text) {
  ByteWindow window(MakeMemorySource(std::as_bytes(std::span(text.data(), text.size()))));
  return oom_text::ScanLog(window);
}

}  // namespace memtool::formats
