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
#include "oom_text/words/line_body.h"
#include "oom_text/words/phrases.h"

namespace memtool::formats::oom_text {

namespace {

using log::Clean;
using log::GetProcess;
using log::GetRank;
using log::GetTag;

constexpr std::size_t kMaxOpen = 256;         // cut-off messages at a time
constexpr std::size_t kMaxRetained = 10'000;  // messages in the answer
constexpr int kPatience = 64;
constexpr int kWrappedLines = 3;  // of a failure that has a pattern

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

void Scan::FindIn(std::string_view line, std::uint64_t number, std::size_t until) {
  const std::string_view tag = GetTag(line);
  for (std::size_t from = 0; from < line.size();) {
    const std::size_t at = FindStart(line, from);
    if (at >= std::min(until, line.size())) {
      return;
    }
    if (IsInSource(line, at)) {
      from = std::min(line.find(line[at - 1], at + 1), line.size());  // the end of the literal
      continue;
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
