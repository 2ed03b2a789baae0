#include "pprof/pprof_reader.h"
#include "pprof/wire.h"

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

}  // namespace

Match PprofReader::Sniff(std::span<const std::byte> head) const {
  ByteCursor cursor(head, 0);
  int plausible = 0;
  try {
    while (!cursor.done() && plausible < 64) {
      const std::uint64_t tag = cursor.Varint();
      const std::uint64_t number = tag >> 3U;
      const std::uint64_t type = tag & 7U;
      const bool length = number <= 6 || number == 11;
      if (number == 0 ||
          (number <= 15 && number != 13 && type != (length ? wire::kLength : wire::kVarint))) {
        return Match::kNo;
      }
      if (number > 15 || type != wire::kLength) {
        wire::Payload(cursor, tag, 0);
        plausible += number <= 15 ? 1 : 0;
        continue;
      }
      const std::uint64_t size = cursor.Varint();
      if (number == 6 && size == 0 && plausible == 0) {
        return Match::kCertain;  // the string table first, with its empty string 0
      }
      const auto bytes = cursor.Take(size);
      if (number == 1) {
        return IsSampleType(bytes) ? Match::kCertain : Match::kNo;
      }
      ++plausible;
    }
  } catch (const ReadError&) {
    // The head ends inside a field: judge by what was seen.
  }
  return plausible >= 2 ? Match::kPossible : Match::kNo;
}

}  // namespace memtool::formats
