#include "torch_snapshot/context.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "support/read_error.h"

namespace memtool::formats::torch_snapshot {

const char* KindName(ValueKind kind) {
  constexpr std::array<const char*, 15> kPlain{
      "None",     "a truth value", "a number", "a number",      "a fraction",
      "text",     "bytes",         "?",        "a frame",       "a pair of numbers",
      "an event", "a segment",     "a block",  "an annotation", "a history entry"};
  constexpr std::array<const char*, 11> kContainers{"an empty list",
                                                    "an empty dict",
                                                    "a list of frames",
                                                    "a list of events",
                                                    "a list of segments",
                                                    "a list of blocks",
                                                    "a list of annotations",
                                                    "a block's history",
                                                    "a list of traces",
                                                    "a snapshot",
                                                    "a dict or list of another kind"};
  const auto at = static_cast<std::size_t>(kind);
  const auto first = static_cast<std::size_t>(ValueKind::kEmptyList);
  if (at < kPlain.size()) {
    return kPlain[at];
  }
  return at >= first && at - first < kContainers.size() ? kContainers[at - first] : "?";
}

Context::Context(const Limits& limits_in, std::string form_in)
    : limits(limits_in), form(std::move(form_in)) {
  for (const std::string_view word : kWords) {
    builder.Intern(word);
  }
}

void NoteLog::Add(Severity severity, std::string code, std::string message, std::uint64_t offset) {
  const auto [it, fresh] = index_.try_emplace({code, message}, notes_.size());
  if (fresh) {
    notes_.push_back({.severity = severity,
                      .code = std::move(code),
                      .message = std::move(message),
                      .offset = offset});
  } else {
    ++notes_[it->second].count;
  }
}

void NoteLog::AddUnknownKey(const char* where, std::uint32_t key, std::string_view name,
                            std::uint64_t offset) {
  const auto it = keys_.find(key);
  if (it != keys_.end()) {
    ++notes_[it->second].count;
    return;
  }
  // A hostile file may have millions of them.
  constexpr std::size_t kMaxKeys = 100;
  if (keys_.size() >= kMaxKeys) {
    Add(Severity::kNote, "unknown_key", "more keys that this version does not know", offset);
    return;
  }
  keys_.emplace(key, notes_.size());
  constexpr std::size_t kMaxTextBytes = 80;
  notes_.push_back({.severity = Severity::kNote,
                    .code = "unknown_key",
                    .message = fmt::format("{} with a key that this version does not know: {}",
                                           where, name.substr(0, kMaxTextBytes)),
                    .offset = offset});
}

void NoteLog::MoveTo(RecordingBuilder& builder) {
  for (Diagnostic& note : notes_) {
    builder.AddDiagnostic(std::move(note));
  }
  notes_.clear();
}

std::uint16_t StreamTable::Index(std::uint64_t handle, std::uint64_t offset) {
  if (handle == last_handle_) {
    return last_;
  }
  const auto [it, fresh] = index_.try_emplace(handle, static_cast<std::uint16_t>(handles_.size()));
  if (fresh) {
    if (handles_.size() > std::numeric_limits<std::uint16_t>::max()) {
      ThrowRead(ErrorCode::kLimit, offset, "stream", "more than 65,536 streams");
    }
    handles_.push_back(handle);
  }
  last_handle_ = handle;
  last_ = it->second;
  return last_;
}

void Field::Wrong(const char* expected) const {
  ThrowRead(ErrorCode::kMalformed, offset_, std::string(kWords[static_cast<std::size_t>(key_)]),
            fmt::format("is {} where {} belongs", KindName(value_.kind), expected));
}

std::int64_t Field::OddSize() const {
  if (value_.kind == ValueKind::kBigUint || (value_.kind == ValueKind::kInt && value_.Int() < 0)) {
    ThrowRead(ErrorCode::kMalformed, offset_, std::string(kWords[static_cast<std::size_t>(key_)]),
              value_.kind == ValueKind::kInt
                  ? fmt::format("is negative: {} bytes", value_.Int())
                  : fmt::format("is {} bytes, more than 63 bits hold", value_.payload));
  }
  const std::int64_t size = WholeFloat();
  if (size < 0) {
    Wrong("a size");
  }
  return size;
}

// JSON writers may give whole numbers with a fraction or an exponent.
std::int64_t Field::WholeFloat() const {
  constexpr double kExact = 9007199254740992.0;
  if (value_.kind != ValueKind::kFloat || !(std::abs(value_.Float()) <= kExact) ||
      std::trunc(value_.Float()) != value_.Float()) {
    Wrong("a whole number");
  }
  return static_cast<std::int64_t>(value_.Float());
}

bool Field::Bool() const {
  if (value_.kind != ValueKind::kBool && value_.kind != ValueKind::kInt) {
    Wrong("true or false");
  }
  return value_.payload != 0;
}

}  // namespace memtool::formats::torch_snapshot
