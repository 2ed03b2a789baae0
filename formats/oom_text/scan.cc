#include "oom_text/scan.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "oom_text/line_time.h"
#include "oom_text/words/phrases.h"
#include "support/byte_cursor.h"

namespace memtool::formats::oom_text {

namespace {

constexpr std::size_t kStep = std::size_t{256} << 10U;    // bytes read at a time
constexpr std::size_t kMaxLine = std::size_t{1} << 20U;   // a longer line comes in pieces,
constexpr std::size_t kOverlap = std::size_t{32} << 10U;  // which share this much
constexpr std::size_t kMaxTextBytes = kOverlap / 2;       // of one message
constexpr std::size_t kMaxOpen = 256;                     // cut-off messages at a time
constexpr std::size_t kMaxRetained = 10'000;              // messages in the answer
constexpr std::size_t kMaxProcessLength = 128;
constexpr int kPatience = 64;
constexpr std::uint64_t kLongTraceback = 200;  // lines of a traceback, which tell no time

// Where the escape sequence at `at` (which is ESC) ends: CSI, OSC, or two characters.
std::size_t EscapeEnd(std::string_view line, std::size_t at) {
  constexpr char kBell = '\x07';
  constexpr char kEscape = '\x1b';
  std::size_t end = at + 2;
  if (at + 1 >= line.size()) {
    return line.size();
  }
  if (line[at + 1] == '[') {
    while (end < line.size() && (line[end] < '\x40' || line[end] > '\x7e')) {
      ++end;
    }
    return std::min(end + 1, line.size());
  }
  if (line[at + 1] == ']') {
    while (end < line.size() && line[end] != kBell && line[end] != kEscape) {
      ++end;
    }
    // ESC \ ends it as well.
    return std::min(end + (end < line.size() && line[end] == kEscape ? 2 : 1), line.size());
  }
  return std::min(end, line.size());
}

// The line as a person sees it: without escape sequences and the zeros of UTF-16.
std::string_view Clean(std::string_view line, std::string& buffer) {
  if (line.find('\x1b') == std::string_view::npos && line.find('\0') == std::string_view::npos) {
    return line;
  }
  buffer.clear();
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      at = EscapeEnd(line, at);
    } else {
      if (line[at] != '\0') {
        buffer.push_back(line[at]);
      }
      ++at;
    }
  }
  return buffer;
}

// "[rank3]: ", "[1,3]<stderr>:", "(pid=71) ", "3: ": what launchers put before each line of a
// process. Empty when there is none.
std::string_view GetTag(std::string_view line) {
  if (line.empty()) {
    return {};
  }
  std::size_t end = 0;
  if (line.front() == '[' || line.front() == '(') {
    const std::size_t close = line.find(line.front() == '[' ? ']' : ')');
    if (close == std::string_view::npos) {
      return {};
    }
    end = close + 1;
    if (line.substr(end).starts_with("<std")) {
      end = std::min(line.find('>', end), line.size() - 1) + 1;
    }
  } else {
    while (end < line.size() && IsDigit(line[end])) {
      ++end;
    }
    if (end == 0 || end == line.size() || line[end] != ':') {
      return {};
    }
  }
  return line.substr(0, end + (end < line.size() && line[end] == ':' ? 1 : 0));
}

// What distinguishes the lines of one process from those of others; "[W1005 09:12:40 …]" is a
// logger's time, and does not.
std::string_view GetProcess(std::string_view tag) {
  const bool time =
      tag.size() > 2 && tag[0] == '[' && tag[1] >= 'A' && tag[1] <= 'Z' && IsDigit(tag[2]);
  return time ? std::string_view() : tag;
}

std::optional<int> NumberAt(std::string_view text) {
  const auto number = TakeNumber<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

// From "[rank3]", "rank=3", "Rank 3", "[1,3]<stderr>", "3:".
std::optional<int> GetRank(std::string_view tag, std::string_view before) {
  for (const std::string_view word : {std::string_view("rank"), std::string_view("Rank")}) {
    if (const std::size_t at = before.rfind(word); at != std::string_view::npos) {
      std::string_view rest = before.substr(at + word.size());
      rest.remove_prefix(std::min(rest.find_first_not_of(" =:_"), rest.size()));
      if (auto number = NumberAt(rest)) {
        return number;
      }
    }
  }
  if (const std::size_t comma = tag.find(',');
      comma != std::string_view::npos && tag.find("]<std") != std::string_view::npos) {
    return NumberAt(tag.substr(comma + 1));
  }
  return !tag.empty() && IsDigit(tag.front()) ? NumberAt(tag) : std::nullopt;
}

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

}  // namespace

void Scan::Take(std::string_view line, std::uint64_t number, std::size_t until) {
  const std::string_view seen = Clean(line, clean_);
  if (const auto time = GetTime(seen)) {
    time_ = time;
    time_line_ = number;
  }
  if (!open_.empty()) {
    GoOn(seen.substr(0, kMaxTextBytes));
  }
  if (seen.size() != line.size() && until < line.size()) {
    std::string behind;
    const std::size_t left = Clean(line.substr(until), behind).size();
    until = seen.size() - std::min(left, seen.size());
  }
  if (awaits_pool_) {
    TakePool(seen);
  }
  const std::string_view tag = GetTag(seen);
  tables_.Take(seen, number, tag, GetProcess(tag));
  // Cheap words first: most lines say nothing about memory.
  if (seen.find("emory") != std::string_view::npos ||
      seen.find("MEMORY") != std::string_view::npos ||
      seen.find("o allocate") != std::string_view::npos ||
      seen.find("OOM when") != std::string_view::npos ||
      seen.find("llocation with size") != std::string_view::npos ||
      seen.find("Hbm usage") != std::string_view::npos ||
      seen.find("ASSERT FAILED") != std::string_view::npos ||
      seen.find("ALLOC_FAILED") != std::string_view::npos) {
    FindIn(seen, number, until);
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
    parsed->message.time = number - time_line_ <= kLongTraceback ? time_ : std::nullopt;
    constexpr std::size_t kBefore = 200;
    const std::size_t left = at > kBefore ? at - kBefore : 0;
    parsed->message.rank = GetRank(tag, line.substr(left, at - left));
    parsed->message.prefix = GetProcess(tag).substr(0, kMaxProcessLength);
    from = at + std::max<std::size_t>(parsed->consumed, 1);
    if (!Weigh(*parsed, GetProcess(tag))) {
      continue;
    }
    if (parsed->message.retry) {
      TakeRetry(std::move(parsed->message), GetProcess(tag));
    } else if (parsed->starved && open_.size() < kMaxOpen) {
      open_.push_back({.message = std::move(parsed->message),
                       .text = std::string(text),
                       .tag = std::string(tag),
                       .consumed = parsed->consumed,
                       .patience = kPatience});
    } else {
      Add(std::move(parsed->message));
    }
  }
}

bool Scan::Weigh(Parsed& parsed, std::string_view tag) {
  constexpr std::uint64_t kExcerpt = 24;  // lines of the driver's own log between
  constexpr std::uint64_t kAtOnce = 64;
  OomMessage& message = parsed.message;
  const bool after_retry = retry_.Near(tag, message.line, kAtOnce);
  if (parsed.role == Role::kRepeat && bare_.Near(tag, message.line, kExcerpt)) {
    return false;
  }
  if (parsed.role == Role::kAfterRetry && !after_retry) {
    return false;
  }
  if (parsed.role == Role::kDetail && !log_.messages.empty()) {
    OomMessage& last = log_.messages.back();
    constexpr std::uint64_t kNext = 2;
    if (last.kind == message.kind && last.gpu == message.gpu && last.requested_bytes &&
        message.line - last.line <= kNext &&
        Magnitude(
            SaturatingSubtract(last.requested_bytes->bytes, message.requested_bytes->bytes)) <=
            last.requested_bytes->precision) {
      last.requested_bytes = message.requested_bytes;
      return false;
    }
  }
  if (message.wording == OomWording::kNoFigures && message.kind == "CUDA") {
    bare_ = {.tag = std::string(tag), .line = message.line};
    if (after_retry) {
      // The warning is about the call that this error ends: its figures are the best there are.
      const OomMessage& retry = *log_.last_retry;
      message.wording = retry.wording;
      message.gpu = retry.gpu;
      message.requested_bytes = retry.requested_bytes;
      message.free = retry.free;
      message.capacity = retry.capacity;
    }
  }
  return true;
}

void Scan::TakeRetry(OomMessage message, std::string_view tag) {
  ++log_.retries;
  if (message.wording == OomWording::kTorchRetry) {
    retry_ = {.tag = std::string(tag), .line = message.line};
  }
  log_.last_retry = std::move(message);
}

// XLA's allocator lists its pool below its message: "Limit:   16106127360", "InUse:   14516489216".
void Scan::TakePool(std::string_view line) {
  OomMessage& message = log_.messages.back();
  for (const auto& [name, number] : {std::pair(std::string_view("Limit:"), &message.limit),
                                     {std::string_view("InUse:"), &message.allocated}}) {
    const std::size_t at = line.find(name);
    if (at == std::string_view::npos || *number) {
      continue;
    }
    Phrases rest(line.substr(at + name.size()));
    std::int64_t bytes = 0;
    if (!rest.TakeSize(*number) && rest.TakeInteger(bytes)) {
      *number = OomNumber{.bytes = bytes};
    }
  }
  awaits_pool_ = !message.limit || !message.allocated;
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
  awaits_pool_ = message.wording == OomWording::kXla && at == log_.messages.end();
  log_.messages.insert(at, std::move(message));
  if (log_.messages.size() > kMaxRetained) {
    log_.messages.pop_back();
    awaits_pool_ = false;
  }
}

OomLog Scan::Finish() {
  for (Open& open : open_) {
    Add(std::move(open.message));
  }
  open_.clear();
  std::move(tables_).GiveTo(log_);
  return std::move(log_);
}

namespace {

// A progress bar rewrites its line: each state is looked at, under the line's number.
void TakeStates(Scan& scan, std::string_view line, std::uint64_t number) {
  while (!line.empty()) {
    const std::size_t end = std::min(line.find('\r'), line.size());
    if (end > 0) {
      scan.Take(line.substr(0, end), number);
    }
    line.remove_prefix(std::min(end + 1, line.size()));
  }
}

}  // namespace

OomLog ScanLog(ByteWindow& in, std::string* text) {
  Scan scan;
  std::uint64_t number = 1;
  const auto advance = [&in, &text](std::string_view hand) {
    if (text != nullptr && text->size() + hand.size() > kMaxKeptLog) {
      text->clear();
      text = nullptr;
    } else if (text != nullptr) {
      text->append(hand);
    }
    in.Advance(hand.size());
  };
  for (std::size_t left = 0;;) {
    const std::string_view hand = AsText(in.Fill(left + kStep));
    const bool last = hand.size() < left + kStep;
    std::size_t given = 0;
    for (std::size_t end = hand.find('\n', left); end != std::string_view::npos;
         end = hand.find('\n', given)) {
      TakeStates(scan, hand.substr(given, end - given), number);
      ++number;
      given = end + 1;
    }
    const std::string_view open = hand.substr(given);
    if (last) {
      TakeStates(scan, open, number);
      number -= open.empty() ? 1 : 0;
      advance(hand);
      break;
    }
    if (open.size() >= kMaxLine) {
      const std::size_t state = open.rfind('\r');
      if (state != std::string_view::npos) {
        TakeStates(scan, open.substr(0, state), number);
        given += state + 1;
      } else {
        scan.Take(open, number, open.size() - kOverlap);
        given = hand.size() - kOverlap;
      }
    }
    left = hand.size() - given;
    advance(hand.substr(0, given));
  }
  OomLog log = scan.Finish();
  log.lines = number;
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

std::string ToDisplayName(const OomMessage& message) {
  switch (message.wording) {
    case OomWording::kTorchCached:
      return "PyTorch, wording of 1.0 to 1.3";
    case OomWording::kTorchReserved:
      return "PyTorch, wording of 1.4 to 2.0";
    case OomWording::kTorchUnallocated:
      return "PyTorch, wording since 2.1";
    case OomWording::kTorchAsync:
      return "PyTorch on cudaMallocAsync";
    case OomWording::kTorchMps:
      return "PyTorch on MPS";
    case OomWording::kXla:
      return "XLA (JAX, TensorFlow)";
    case OomWording::kXlaHbm:
    case OomWording::kXlaScoped:
      return "XLA's compiler";
    case OomWording::kXlaTpu:
      return "XLA's runtime on a TPU";
    case OomWording::kTensorFlow:
      return "TensorFlow";
    case OomWording::kTorchRetry:
      return "PyTorch, figures of its last warning";
    case OomWording::kLibrary:
    case OomWording::kVllm:
      return message.kind;
    case OomWording::kHost:
      return message.kind == "CPU" ? "PyTorch's allocator of the host" : "the kernel of the host";
    case OomWording::kNoFigures:
      break;
  }
  return message.kind.empty() ? "without figures" : message.kind + ", without figures";
}

}  // namespace memtool::formats
