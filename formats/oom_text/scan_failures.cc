// Failures that the table of patterns knows: messages of what it says, and wrapped ones joined.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "log/line_prefix.h"
#include "memtool/profile/base/arithmetic.h"
#include "oom_text/scan.h"
#include "oom_text/words/line_body.h"

namespace memtool::formats::oom_text {

using log::GetProcess;
using log::GetRank;
using log::GetTag;

namespace {

// As far as both say what was asked for, and exactly enough.
bool IsSameRequest(const OomMessage& a, const OomMessage& b) {
  return !a.requested_bytes || !b.requested_bytes ||
         Magnitude(SaturatingSubtract(a.requested_bytes->bytes, b.requested_bytes->bytes)) <=
             SaturatingAdd(a.requested_bytes->precision, b.requested_bytes->precision);
}

// As far as both say which device and which process.
bool MayBeSamePlace(const OomMessage& a, const OomMessage& b) {
  return (!a.gpu || !b.gpu || *a.gpu == *b.gpu) &&
         (a.prefix.empty() || b.prefix.empty() || a.prefix == b.prefix);
}

// A driver that was asked for one buffer in pieces says which piece failed, and then its caller
// says of what buffer, and where.
bool IsPartOf(const OomMessage& piece, const OomMessage& whole) {
  return piece.device.empty() && !whole.device.empty() && piece.requested_bytes &&
         whole.requested_bytes && piece.requested_bytes->bytes < whole.requested_bytes->bytes;
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

// What its pattern knows beyond the line; what a later line knows is more exact.
void Explain(OomMessage& message, const log::Pattern& pattern) {
  if (pattern.cause) {
    message.cause = pattern.cause;
    message.why = pattern.why;
  }
  if (!pattern.remedy.empty()) {
    message.remedy = pattern.remedy;
  }
}

// `again`: the message that `found` would be by itself.
void TellMore(OomMessage& last, const OomMessage& again, const log::FoundFailure& found) {
  Fill(last, found.amounts);
  Explain(last, *found.pattern);
  if (!again.device.empty()) {  // "0", then "CUDA0"
    last.gpu = again.gpu;
    last.device = again.device;
  }
  last.absurd = last.absurd || again.absurd;
  if (last.wording == OomWording::kNoFigures && !found.amounts.empty()) {
    last.wording = OomWording::kLibrary;
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
  Explain(message, pattern);
  message.absurd = found.absurd;
  if (found.amounts.empty() && !found.absurd && !pattern.host && !pattern.wording) {
    message.wording = OomWording::kNoFigures;
  }
  for (const Statement& amount : found.amounts) {
    if (amount.device.valid()) {
      message.device = statements_.Text(amount.device);
      const bool remote = message.device.ends_with(']');  // "RPC0[10.0.0.5:50053]"
      message.gpu = remote ? std::nullopt : DeviceNumber(message.device);
    }
  }
  constexpr std::size_t kBefore = 200;
  const std::size_t reach = std::min(found.begin, kBefore);
  const std::string_view tag = GetTag(line.text);
  message.rank = GetRank(tag, line.text.substr(found.begin - reach, reach));
  message.prefix = GetProcess(tag).substr(0, kMaxProcessLength);
  return message;
}

OomMessage* Scan::LastOf(const std::string& producer, const log::LogLine& at, std::uint64_t reach) {
  const bool near = !log_.messages.empty() && log_.messages.back().kind == producer &&
                    at.number - log_.messages.back().line <= reach;
  return near ? &log_.messages.back() : nullptr;
}

bool Scan::TellsMore(const log::FoundFailure& found, const log::LogLine& at) {
  // Lines from a failure to what says more of it; a server that does not start prints the same
  // traceback twice.
  const bool detail = found.pattern->kind == log::Pattern::Kind::kDetail;
  const bool ends = found.amounts.empty() || found.pattern->wording == OomWording::kVllm;
  const std::uint64_t near = ends && !detail ? 400 : 24;
  OomMessage* const known =
      detail || found.pattern->repeats ? LastOf(found.pattern->producer, at, near) : nullptr;
  if (known == nullptr) {
    if (detail && found.pattern->alone) {
      statements_.Keep(found.amounts);
    }
    return detail;
  }
  OomMessage& last = *known;
  const OomMessage again = MakeMessage(found, at);
  const bool same = found.amounts.empty() ? again.prefix == last.prefix
                                          : (IsSameRequest(again, last) || IsPartOf(last, again)) &&
                                                MayBeSamePlace(again, last);
  if (detail || same) {
    TellMore(last, again, found);
  }
  return detail || same;
}

void Scan::TakeFailure(const log::FoundFailure& found, const log::LogLine& at) {
  if (found.pattern->kind == log::Pattern::Kind::kKilled) {
    log_.killed = log_.killed == 0 ? at.number : log_.killed;
    return;
  }
  if (found.pattern->kind == log::Pattern::Kind::kRecovered) {
    constexpr std::uint64_t kReach = 400;  // TensorRT dumps what it holds in between
    if (const OomMessage* const last = LastOf(found.pattern->producer, at, kReach)) {
      TakeRetry(*last, last->prefix);
      log_.messages.pop_back();
      --log_.found;
    }
    return;
  }
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
    if (found.begin < joined_end_ || bare == telling || (bare && any) ||
        IsInSource(at.text, found.begin)) {
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

}  // namespace memtool::formats::oom_text
