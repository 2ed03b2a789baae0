#include "pprof/pprof_reader.h"
#include "support/wire.h"

namespace memtool::formats {

namespace {

// A ValueType message: two string indices, and perhaps fields of newer writers. Other protobuf
// files that begin with field 1 (XSpace, HloProto) have text inside it.
bool IsSampleType(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes, 0);
  bool any = false;
  while (!cursor.done()) {
    const wire::Field field = wire::Next(cursor);
    if (field.number <= 2 && field.type != wire::kVarint) {
      return false;
    }
    any = any || field.number <= 2;
  }
  return any;
}

// What one top-level field says about the whole: certain, no, or keep looking.
struct Verdict {
  bool decided = false;
  Match match = Match::kNo;
  bool plausible = false;  // a field that profiles have
};

Verdict Look(ByteCursor& cursor, bool first) {
  const std::uint64_t tag = cursor.Varint();
  const std::uint64_t number = tag >> 3U;
  const std::uint64_t type = tag & 7U;
  // Wire types by field number; 13 (comments) comes in two forms, one by one and packed.
  const bool length = number <= 6 || number == 11;
  const bool known = number >= 1 && number <= 15;
  const std::uint64_t expected = length ? wire::kLength : wire::kVarint;
  const bool either = number == 13 && (type == wire::kVarint || type == wire::kLength);
  if (number == 0 || (known && !either && type != expected)) {
    return {.decided = true};
  }
  const wire::Field field = wire::Payload(cursor, tag, 0);
  if (number == 6 && first) {
    // String 0 is the empty one. Text that begins with "2" reads as a string that is not.
    return {.decided = true, .match = field.bytes.empty() ? Match::kCertain : Match::kNo};
  }
  if (number == 1) {
    return {.decided = true, .match = IsSampleType(field.bytes) ? Match::kCertain : Match::kNo};
  }
  return {.plausible = known};
}

// Pickles begin with 0x80 and the number of their protocol. Read as a tag, that is a field which no
// profile has, and the length of a frame behind it can look like any field.
bool IsPickle(std::span<const std::byte> head) {
  return head.size() > 1 && head[0] == std::byte{0x80} && head[1] >= std::byte{2} &&
         head[1] <= std::byte{5};
}

}  // namespace

Match PprofReader::Sniff(std::span<const std::byte> head) const {
  constexpr int kEnough = 64;
  ByteCursor cursor(head, 0);
  int plausible = 0;
  if (IsPickle(head)) {
    return Match::kNo;
  }
  try {
    while (!cursor.done() && plausible < kEnough) {
      const Verdict verdict = Look(cursor, plausible == 0);
      if (verdict.decided) {
        return verdict.match;
      }
      plausible += verdict.plausible ? 1 : 0;
    }
  } catch (const ReadError&) {
    // The head ends inside a field: judge by what was seen.
  }
  return plausible >= 2 ? Match::kPossible : Match::kNo;
}

}  // namespace memtool::formats
