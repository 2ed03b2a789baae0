#include "xplane/read_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "support/read_error.h"
#include "support/wire.h"

namespace memtool::formats::xplane {

namespace {

// A field that has been stepped into, or is still to be stepped over.
struct Head {
  std::uint64_t number = 0;
  std::uint64_t type = 0;
  std::uint64_t value = 0;   // of numbers
  std::uint64_t length = 0;  // of what follows, for kLength
};

constexpr std::size_t kLongestHead = 20;  // two varints

// Ids are small numbers in practice; 0 is none.
std::optional<std::uint32_t> KeyOf(std::uint64_t id) {
  return id <= std::numeric_limits<std::uint32_t>::max()
             ? std::optional(static_cast<std::uint32_t>(id))
             : std::nullopt;
}

std::string TextOf(const wire::Field& field, const char* name) {
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
        ReadPlane(EndOf(head, std::numeric_limits<std::uint64_t>::max()));
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
    auto bytes = in_.Fill(kLongestHead);
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

  [[nodiscard]] std::uint64_t EndOf(const Head& head, std::uint64_t end) const {
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
                fmt::format("{} bytes, more than --limit record-bytes", size));
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

  void ReadPlane(std::uint64_t end) {
    Plane plane;
    while (in_.offset() < end) {
      if (in_.AtEnd()) {
        ThrowCut();
      }
      const Head head = NextHead(end);
      if (head.type != wire::kLength) {
        continue;
      }
      const std::uint64_t field_end = EndOf(head, end);
      if (head.number == 3) {
        ReadLine(plane, field_end);
        continue;
      }
      if (head.number == 4 && head.length > limits_.record_bytes) {
        SkipRest(head);  // a huge program: only the join misses it
        continue;
      }
      if (head.number != 2 && (head.number < 4 || head.number > 6)) {
        SkipRest(head);
        continue;
      }
      const std::uint64_t offset = in_.offset();
      const auto bytes = Take(head.length, "plane");
      Field(plane, head.number, bytes, offset);
      in_.Advance(static_cast<std::size_t>(head.length));
    }
    space_.planes.push_back(std::move(plane));
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
      default: {
        // As it was, with its head, so that ForEachStat reads it.
        const auto size = static_cast<std::uint64_t>(bytes.size());
        constexpr std::byte kTag{6U << 3U | wire::kLength};
        plane.stats.push_back(kTag);
        for (std::uint64_t rest = size;; rest >>= 7U) {
          const bool last = rest < 0x80;
          plane.stats.push_back(static_cast<std::byte>((rest & 0x7fU) | (last ? 0 : 0x80U)));
          if (last) {
            break;
          }
        }
        plane.stats.insert(plane.stats.end(), bytes.begin(), bytes.end());
      }
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
    const auto key = KeyOf(id);
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
        name = TextOf(field, "name");
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

  void ReadLine(Plane& plane, std::uint64_t end) {
    // Events of devices are kernels and copies.
    const bool host = plane.name.empty() || plane.name.starts_with("/host:");
    RawLine line{.name = {}, .first_event = plane.events.size()};
    bool any_stats = false;
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
      while (!cursor.done() && (whole || Holds(cursor))) {
        any_stats = LineField(plane, line, wire::Next(cursor), host) || any_stats;
      }
      const auto used = static_cast<std::size_t>(cursor.offset() - offset);
      in_.Advance(used);
      if (used == 0) {
        ReadLongField(plane, line, end, host, any_stats);
      }
    }
    // Without stats no event is about memory, and none leads to another thread's.
    if (!any_stats) {
      plane.events.resize(line.first_event);
    }
    line.event_count = plane.events.size() - line.first_event;
    plane.lines.push_back(std::move(line));
  }

  // A field that is longer than a chunk.
  void ReadLongField(Plane& plane, RawLine& line, std::uint64_t end, bool host, bool& any_stats) {
    const Head head = NextHead(end);
    if (head.type != wire::kLength) {
      return;
    }
    (void)EndOf(head, end);
    wire::Field field{.number = head.number, .type = wire::kLength, .offset = in_.offset()};
    field.bytes = Take(head.length, "event");
    any_stats = LineField(plane, line, field, host) || any_stats;
    in_.Advance(static_cast<std::size_t>(head.length));
  }

  // Whether the cursor's next field lies before its end.
  static bool Holds(ByteCursor cursor) {
    if (cursor.left() < kLongestHead) {
      return false;
    }
    const std::uint64_t type = cursor.Varint() & 7U;
    return type != wire::kLength || cursor.Varint() <= cursor.left();
  }

  // -> whether it is an event with stats that is kept
  bool LineField(Plane& plane, RawLine& line, const wire::Field& field, bool host) {
    switch (field.number) {
      case 2:
        line.name = TextOf(field, "line name");
        return false;
      case 3:
        line.begin_ns = field.Int("timestamp");
        return false;
      case 4:
        ++space_.events;
        return host && KeepEvent(plane, field.Message("event"));
      default:
        return false;
    }
  }

  bool KeepEvent(Plane& plane, ByteCursor cursor) {
    RawEvent event;
    std::uint64_t id = 0;
    std::span<const std::byte> stats;
    while (!cursor.done()) {
      if (cursor.Peek() == (4U << 3U | wire::kLength)) {
        stats = cursor.rest();  // the rest are stats, or is read as such
        break;
      }
      const wire::Field field = wire::Next(cursor);
      if (field.number == 1) {
        id = field.Varint("metadata id");
      } else if (field.number == 2) {
        event.offset_ps = field.Int("offset");
      } else if (field.number == 3) {
        event.duration_ps = field.Int("duration");
      }
    }
    const auto key = KeyOf(id);
    if (!key || event.duration_ps < 0) {
      ++space_.bad_events;
      return false;
    }
    event.name = *key;
    // An event without either says neither who nor what.
    if (event.duration_ps == 0 && stats.empty()) {
      return false;
    }
    if (plane.events.size() >= limits_.samples) {
      ThrowRead(ErrorCode::kLimit, cursor.offset(), "event",
                fmt::format("more than {} events (--limit samples)", limits_.samples));
    }
    event.stats_at = plane.stats_pool.size();
    event.stats_size = static_cast<std::uint32_t>(stats.size());
    plane.stats_pool.insert(plane.stats_pool.end(), stats.begin(), stats.end());
    plane.events.push_back(event);
    return !stats.empty();
  }

  ByteWindow& in_;
  const Limits& limits_;
  Space space_;
};

Stat StatOf(ByteCursor cursor) {
  Stat stat;
  while (!cursor.done()) {
    const wire::Field field = wire::Next(cursor);
    switch (field.number) {
      case 1:
        stat.name = KeyOf(field.Varint("stat id")).value_or(0);
        break;
      case 2:
        field.Expect(wire::kFixed64, "double value");
        stat.kind = Stat::Kind::kReal;
        stat.real = std::bit_cast<double>(field.value);
        break;
      case 3:
      case 4:
        stat.kind = Stat::Kind::kInteger;
        stat.integer = field.Int("value");
        break;
      case 5:
      case 6:
        field.Expect(wire::kLength, "text");
        stat.kind = field.number == 5 ? Stat::Kind::kText : Stat::Kind::kBytes;
        stat.bytes = field.bytes;
        break;
      case 7:
        stat.kind = Stat::Kind::kReference;
        stat.integer = field.Int("reference");
        break;
      default:
        break;
    }
  }
  return stat;
}

}  // namespace

Space ReadSpace(ByteWindow& in, const Limits& limits) {
  return SpaceReader(in, limits).Read();
}

void ForEachStat(std::span<const std::byte> bytes, std::uint64_t number,
                 const std::function<void(const Stat&)>& visit) {
  ByteCursor cursor(bytes, 0);
  while (!cursor.done()) {
    const wire::Field field = wire::Next(cursor);
    if (field.number == number && field.type == wire::kLength) {
      visit(StatOf(ByteCursor(field.bytes, 0)));
    }
  }
}

}  // namespace memtool::formats::xplane
