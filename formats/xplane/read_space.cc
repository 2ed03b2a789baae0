#include "xplane/read_space.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "memtool/formats/source.h"
#include "support/byte_cursor.h"
#include "support/read_error.h"
#include "support/scratch_file.h"
#include "support/wire.h"
#include "xplane/line_events.h"
#include "xplane/stats.h"

namespace memtool::formats::xplane {

namespace {

// A field that has been stepped into, or is still to be stepped over.
struct Head {
  std::uint64_t number = 0;
  std::uint64_t type = 0;
  std::uint64_t value = 0;   // of numbers
  std::uint64_t length = 0;  // of what follows, for kLength
};

constexpr std::size_t kMaxHeadLength = 20;  // two varints

std::string ToText(const wire::Field& field, const char* name) {
  field.Expect(wire::kLength, name);
  return std::string(AsText(field.bytes));
}

class SpaceReader {
 public:
  SpaceReader(ByteWindow& in, const Limits& limits) : in_(in), limits_(limits) {}

  Space Read() {
    while (!in_.AtEnd()) {
      const Head head = NextHead(std::numeric_limits<std::uint64_t>::max());
      if (head.number == 1 && head.type == wire::kLength) {
        ReadPlane(GetEnd(head, std::numeric_limits<std::uint64_t>::max()));
      } else if (head.number >= 2 && head.number <= 4 && head.type == wire::kLength) {
        auto& texts = head.number == 2   ? space_.errors
                      : head.number == 3 ? space_.warnings
                                         : space_.hosts;
        texts.emplace_back(AsText(Take(head.length, "text")));
        in_.Advance(head.length);
      } else {
        SkipRest(head);
      }
    }
    return std::move(space_);
  }

 private:
  [[noreturn]] void ThrowCut() const {
    ThrowRead(ErrorCode::kTruncated, in_.offset(), {}, "the file ends within a plane",
              "record it again; a profiler that was killed leaves such files");
  }

  // The next field's head, at most up to `end`; its payload is still to come.
  Head NextHead(std::uint64_t end) {
    const std::uint64_t offset = in_.offset();
    auto bytes = in_.Fill(kMaxHeadLength);
    bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), end - offset));
    ByteCursor cursor(bytes, offset);
    Head head;
    const std::uint64_t tag = cursor.Varint();
    head.number = tag >> 3U;
    head.type = tag & 7U;
    if (head.number == 0) {
      ThrowRead(ErrorCode::kMalformed, offset, {}, "field number 0");
    }
    if (head.type == wire::kLength) {
      head.length = cursor.Varint();
    } else {
      head.value = wire::Payload(cursor, tag, offset).value;
    }
    in_.Advance(static_cast<std::size_t>(cursor.offset() - offset));
    return head;
  }

  [[nodiscard]] std::uint64_t GetEnd(const Head& head, std::uint64_t end) const {
    const std::uint64_t at = in_.offset();
    if (head.length > end - at) {
      ThrowRead(
          ErrorCode::kMalformed, at, {},
          fmt::format("a field of {} bytes in a message that has {} left", head.length, end - at));
    }
    return at + head.length;
  }

  // The payload, which stays in the window until it is advanced.
  std::span<const std::byte> Take(std::uint64_t size, const char* what) {
    if (size > limits_.record_bytes) {
      ThrowRead(ErrorCode::kLimit, in_.offset(), what,
                fmt::format("{} bytes, more than --max record-bytes", size));
    }
    const auto bytes = in_.Fill(static_cast<std::size_t>(size));
    if (bytes.size() < size) {
      ThrowCut();
    }
    return bytes.first(static_cast<std::size_t>(size));
  }

  void SkipRest(const Head& head) {
    if (head.type == wire::kLength && !in_.Skip(head.length)) {
      ThrowCut();
    }
  }

  // Names come after the events that use them: a plane is gone through for all but its lines, then
  // for its lines.
  void ReadPlane(std::uint64_t end) {
    const std::uint64_t begin = in_.offset();
    Plane plane;
    bool lines = false;
    ForEachField(end, [&](const Head& head) {
      lines = lines || head.number == 3;
      const bool names = head.number == 4 || head.number == 5;
      const bool wanted =
          head.number == 2 || head.number == 6 ||
          // A huge program: only the join misses it.
          (names && head.length <= limits_.record_bytes && (head.number == 5 || plane.IsHost()));
      if (!wanted) {
        SkipRest(head);
        return;
      }
      const std::uint64_t offset = in_.offset();
      const auto bytes = Take(head.length, "plane");
      Field(plane, head.number, bytes, offset);
      in_.Advance(static_cast<std::size_t>(head.length));
    });
    if (lines && plane.IsHost()) {
      in_.Seek(begin);
      LineEvents events(plane, space_, limits_);
      ForEachField(end, [&](const Head& head) {
        if (head.number == 3) {
          ReadLine(events, in_.offset() + head.length);
        } else {
          SkipRest(head);
        }
      });
    }
    space_.planes.push_back(std::move(plane));
  }

  // Calls visit(Head) for each field with a length up to `end`; it must step over the payload.
  template <class Visit>
  void ForEachField(std::uint64_t end, const Visit& visit) {
    while (in_.offset() < end) {
      if (in_.AtEnd()) {
        ThrowCut();
      }
      const Head head = NextHead(end);
      if (head.type == wire::kLength) {
        (void)GetEnd(head, end);
        visit(head);
      }
    }
  }

  void Field(Plane& plane, std::uint64_t number, std::span<const std::byte> bytes,
             std::uint64_t offset) {
    switch (number) {
      case 2:
        plane.name = std::string(AsText(bytes));
        break;
      case 4:
        Metadata(plane, ByteCursor(bytes, offset), true);
        break;
      case 5:
        Metadata(plane, ByteCursor(bytes, offset), false);
        break;
      default:
        plane.stats.push_back(ReadStat(ByteCursor(bytes, offset)));
        plane.stats.back().bytes = {};  // the window moves on
    }
  }

  // An entry of a map: key 1, value 2 with name 2; programs are stats of event metadata.
  void Metadata(Plane& plane, ByteCursor cursor, bool of_events) {
    std::uint64_t id = 0;
    std::optional<wire::Field> value;
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      if (field.number == 1) {
        id = field.Varint("map key");
      } else if (field.number == 2) {
        field.Expect(wire::kLength, "map value");
        value = field;
      }
    }
    const auto key = GetKey(id);
    if (!key || !value) {
      ++space_.bad_events;
      return;
    }
    std::string name;
    std::vector<std::byte> hlo;
    ByteCursor inside = value->Message("metadata");
    while (!inside.done()) {
      const wire::Field field = wire::Next(inside);
      if (field.number == 2) {
        name = ToText(field, "name");
      } else if (field.number == 5 && of_events && plane.name == "/host:metadata") {
        KeepProgram(field, hlo);
      }
    }
    if (!hlo.empty()) {
      plane.programs.push_back({.name = name, .hlo = std::move(hlo)});
    }
    (of_events ? plane.event_names : plane.stat_names)[*key] = std::move(name);
  }

  // The only stat with bytes of such metadata is "Hlo Proto"; its name comes later in the file.
  static void KeepProgram(const wire::Field& field, std::vector<std::byte>& hlo) {
    ByteCursor cursor = field.Message("stat");
    while (!cursor.done()) {
      const wire::Field part = wire::Next(cursor);
      if (part.number == 6 && part.type == wire::kLength) {
        hlo.assign(part.bytes.begin(), part.bytes.end());
      }
    }
  }

  void ReadLine(LineEvents& events, std::uint64_t end) {
    std::int64_t begin_ns = 0;
    constexpr std::size_t kChunk = std::size_t{1} << 16U;
    while (in_.offset() < end) {
      const std::uint64_t offset = in_.offset();
      auto bytes =
          in_.Fill(static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, end - offset)));
      bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), end - offset));
      if (bytes.empty()) {
        ThrowCut();
      }
      const bool whole = bytes.size() == end - offset;
      ByteCursor cursor(bytes, offset);
      while (!cursor.done()) {
        if (AddsEvent(events, cursor)) {
          continue;
        }
        if (!whole && !Holds(cursor)) {
          break;
        }
        LineField(events, begin_ns, wire::Next(cursor));
      }
      const auto used = static_cast<std::size_t>(cursor.offset() - offset);
      in_.Advance(used);
      if (used == 0) {
        ReadLongField(events, begin_ns, end);
      }
    }
    events.EndLine(begin_ns);
  }

  // Steps over an event that lies before the cursor's end; false where there is none.
  static bool AddsEvent(LineEvents& events, ByteCursor& cursor) {
    constexpr std::uint8_t kEvent{4U << 3U | wire::kLength};
    if (cursor.left() < kMaxHeadLength || cursor.Peek() != kEvent) {
      return false;
    }
    ByteCursor ahead = cursor;
    ahead.Byte();
    const std::uint64_t size = ahead.Varint();
    if (size > ahead.left()) {
      return false;
    }
    const std::uint64_t offset = ahead.offset();
    events.Add(ByteCursor(ahead.Take(size), offset));
    cursor = ahead;
    return true;
  }

  // A field that is longer than a chunk.
  void ReadLongField(LineEvents& events, std::int64_t& begin_ns, std::uint64_t end) {
    const Head head = NextHead(end);
    if (head.type != wire::kLength) {
      return;
    }
    (void)GetEnd(head, end);
    wire::Field field{.number = head.number, .type = wire::kLength, .offset = in_.offset()};
    field.bytes = Take(head.length, "event");
    LineField(events, begin_ns, field);
    in_.Advance(static_cast<std::size_t>(head.length));
  }

  // Whether the cursor's next field lies before its end.
  static bool Holds(ByteCursor cursor) {
    if (cursor.left() < kMaxHeadLength) {
      return false;
    }
    const std::uint64_t type = cursor.Varint() & 7U;
    return type != wire::kLength || cursor.Varint() <= cursor.left();
  }

  static void LineField(LineEvents& events, std::int64_t& begin_ns, const wire::Field& field) {
    if (field.number == 2) {
      events.NameLine(field.type == wire::kLength ? AsText(field.bytes) : std::string_view{});
    } else if (field.number == 3) {
      begin_ns = field.Int("timestamp");
    } else if (field.number == 4) {
      events.Add(field.Message("event"));
    }
  }

  ByteWindow& in_;
  const Limits& limits_;
  Space space_;
};

// What comes through a pipe, or packed, to go through it twice.
ScratchFile MakeCopy(ByteWindow& in) {
  auto file = ScratchFile::Make();
  if (!file) {
    throw ReadError(std::move(file.error()));
  }
  file->Unlink();
  while (!in.AtEnd()) {
    const auto bytes = in.buffered();
    if (auto added = file->Append(AsText(bytes)); !added) {
      throw ReadError(std::move(added.error()));
    }
    in.Advance(bytes.size());
  }
  ::lseek(file->fd(), 0, SEEK_SET);
  return *std::move(file);
}

}  // namespace

Space ReadSpace(ByteWindow& in, const Limits& limits) {
  if (in.CanSeek()) {
    return SpaceReader(in, limits).Read();
  }
  const ScratchFile copy = MakeCopy(in);
  ByteWindow again(MakeFdSource(copy.fd(), false));
  return SpaceReader(again, limits).Read();
}

}  // namespace memtool::formats::xplane
