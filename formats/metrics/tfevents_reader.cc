// TensorBoard's event files: records as TensorFlow frames them (length, its checksum, an Event, its
// checksum), of which the summaries with one number count. A job that was killed leaves half a
// record at the end.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "../../capture/wire.h"
#include "memtool/formats/byte_window.h"
#include "metrics/metrics_readers.h"
#include "metrics/series.h"
#include "support/byte_cursor.h"
#include "support/wire.h"

namespace memtool::formats {

namespace {

using metrics::Moment;
using metrics::Number;
using metrics::Series;

constexpr std::size_t kLengthBytes = 12;  // a length and its checksum
constexpr std::size_t kChecksumBytes = 4;
constexpr std::string_view kEventsHint =
    "memory is logged by Megatron-LM with --log-memory-to-tensorboard, by torchtitan, and by "
    "Lightning's DeviceStatsMonitor; see memtool help recording";

// Event, Summary, Summary.Value and TensorProto: the numbers of their fields.
enum EventField : std::uint8_t { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
enum ValueField : std::uint8_t { kTag = 1, kSimpleValue = 2, kTensor = 8 };
enum TensorField : std::uint8_t {
  kType = 1,
  kContent = 4,
  kFloatValues = 5,
  kDoubleValues = 6,
  kIntValues = 7,
  kInt64Values = 10
};
enum TensorType : std::uint8_t { kFloat = 1, kDouble = 2, kInt32 = 3, kInt64 = 9 };

// TensorFlow's: a checksum over bytes that contain a checksum would be weak without it.
std::uint32_t MaskedChecksum(std::span<const std::byte> bytes) {
  constexpr std::uint32_t kDelta = 0xa282ead8;
  const std::uint32_t crc = memtool::wire::Crc32cPortable(
      reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return std::rotr(crc, 15) + kDelta;
}

// The length of the record that begins with these bytes; none when they are no beginning.
std::optional<std::uint64_t> LengthIn(std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes) {
    return std::nullopt;
  }
  ByteCursor cursor(bytes.first(kLengthBytes), 0);
  const std::uint64_t length = cursor.Fixed64();
  return cursor.Fixed32() == MaskedChecksum(bytes.first(sizeof(length))) ? std::optional(length)
                                                                         : std::nullopt;
}

double DoubleOf(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}

Number FloatOf(std::uint64_t bits) {
  return metrics::NumberOfFloat(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}

// A field of numbers has one, or is a run of them of which the first is taken.
std::uint64_t FirstOf(const wire::Field& field, wire::Type type) {
  if (field.type != wire::kLength) {
    field.Expect(type, "tensor");
    return field.value;
  }
  ByteCursor cursor(field.bytes, field.offset);
  return type == wire::kVarint    ? cursor.Varint()
         : type == wire::kFixed32 ? cursor.Fixed32()
                                  : cursor.Fixed64();
}

// The number that a tensor without dimensions holds.
class Scalar {
 public:
  explicit Scalar(ByteCursor cursor) {
    while (!cursor.done()) {
      Take(wire::Next(cursor));
    }
    if (!content_.empty()) {
      TakeContent();
    }
  }
  [[nodiscard]] std::optional<Number> number() const { return number_; }

 private:
  void Take(const wire::Field& field) {
    switch (field.number) {
      case kType:
        type_ = field.Varint("dtype");
        break;
      case kContent:
        content_ = field.Message("tensor_content").rest();
        break;
      case kFloatValues:
        number_ = FloatOf(FirstOf(field, wire::kFixed32));
        break;
      case kDoubleValues:
        number_ = Number{DoubleOf(FirstOf(field, wire::kFixed64)), 0};
        break;
      case kIntValues:
      case kInt64Values:
        number_ = Number{
            static_cast<double>(static_cast<std::int64_t>(FirstOf(field, wire::kVarint))), 0};
        break;
      default:
        break;
    }
  }
  void TakeContent() {
    ByteCursor cursor(content_, 0);
    const auto fits = [this](std::size_t size) { return content_.size() == size; };
    if (type_ == kFloat && fits(sizeof(float))) {
      number_ = FloatOf(cursor.Fixed32());
    } else if (type_ == kDouble && fits(sizeof(double))) {
      number_ = Number{DoubleOf(cursor.Fixed64()), 0};
    } else if (type_ == kInt32 && fits(sizeof(std::int32_t))) {
      number_ = Number{static_cast<double>(static_cast<std::int32_t>(cursor.Fixed32())), 0};
    } else if (type_ == kInt64 && fits(sizeof(std::int64_t))) {
      number_ = Number{static_cast<double>(static_cast<std::int64_t>(cursor.Fixed64())), 0};
    }
  }

  std::uint64_t type_ = 0;
  std::span<const std::byte> content_;
  std::optional<Number> number_;
};

class EventFile {
 public:
  EventFile(ByteWindow& in, const Limits& limits) : in_(in), limits_(limits) {}

  Result<Recording> Read() {
    while (!in_.AtEnd() && Next()) {
    }
    auto recording = series_.Finish(
        {.display = "TensorBoard events", .noun = "an event file", .rows_by_stage = false},
        in_.offset(), kEventsHint);
    if (recording) {
      Note(*recording, damaged_, "damaged_record", "records whose checksum does not fit: left out");
      Note(*recording, large_, "large_record",
           "records longer than --max record-bytes, which hold no numbers: not looked at");
      if (end_) {
        recording->diagnostics.push_back(*std::move(end_));
      }
    }
    return recording;
  }

 private:
  static void Note(Recording& recording, std::uint64_t count, std::string code,
                   std::string message) {
    if (count > 0) {
      recording.diagnostics.push_back({.severity = Severity::kDamage,
                                       .code = std::move(code),
                                       .message = std::move(message),
                                       .count = count});
    }
  }

  // False: nothing more can be read.
  bool Next() {
    const std::uint64_t begin = in_.offset();
    const auto head = in_.Fill(kLengthBytes);
    if (head.size() < kLengthBytes) {
      return Stop(Severity::kWarning, "cut", "the last record is cut; it was being written", begin);
    }
    const auto length = LengthIn(head);
    if (!length) {
      return Stop(Severity::kDamage, "lost_record",
                  "a record's length does not fit its checksum: nothing behind it was read", begin);
    }
    in_.Advance(kLengthBytes);
    ++record_;
    if (*length > limits_.record_bytes) {
      ++large_;
      return in_.Skip(*length) && in_.Skip(kChecksumBytes)
                 ? true
                 : Stop(Severity::kWarning, "cut", "the last record is cut", begin);
    }
    const auto size = static_cast<std::size_t>(*length);
    const auto bytes = in_.Fill(size + kChecksumBytes);
    if (bytes.size() < size + kChecksumBytes) {
      return Stop(Severity::kWarning, "cut", "the last record is cut; it was being written", begin);
    }
    const auto event = bytes.first(size);
    ByteCursor checksum(bytes.subspan(size, kChecksumBytes), in_.offset() + size);
    if (checksum.Fixed32() != MaskedChecksum(event)) {
      ++damaged_;
    } else {
      TakeEvent(ByteCursor(event, in_.offset()));
    }
    in_.Advance(size + kChecksumBytes);
    return true;
  }

  bool Stop(Severity severity, std::string code, std::string message, std::uint64_t offset) {
    end_ = Diagnostic{.severity = severity,
                      .code = std::move(code),
                      .message = std::move(message),
                      .offset = offset};
    return false;
  }

  // Fields may come in any order, and the time is needed first.
  void TakeEvent(ByteCursor cursor) {
    Moment moment{.place = place_, .step = 0};
    ByteCursor values({}, 0);
    while (!cursor.done()) {
      const std::uint64_t offset = cursor.offset();
      const std::uint64_t tag = cursor.Varint();
      if (tag == (kWallTime << 3U | wire::kFixed64)) {
        moment.time = metrics::TimeOf(DoubleOf(cursor.Fixed64()));
        continue;
      }
      const wire::Field field = wire::Payload(cursor, tag, offset);
      if (field.number == kStep) {
        moment.step = field.Int("step");
      } else if (field.number == kSummary) {
        values = field.Message("summary");
      }
    }
    // A logger writes a record per tag: those of a step belong together.
    if (moment.step != step_) {
      step_ = moment.step;
      moment.place = place_ = record_;
    }
    while (!values.done()) {
      const wire::Field field = wire::Next(values);
      if (field.number == 1) {
        TakeValue(moment, field.Message("value"));
      }
    }
  }

  void TakeValue(const Moment& moment, ByteCursor cursor) {
    std::string_view tag;
    std::optional<Number> number;
    ByteCursor tensor({}, 0);
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      if (field.number == kTag) {
        tag = AsText(field.Message("tag").rest());
      } else if (field.number == kSimpleValue) {
        field.Expect(wire::kFixed32, "simple_value");
        number = FloatOf(field.value);
      } else if (field.number == kTensor) {
        tensor = field.Message("tensor");
      }
    }
    if (!series_.Wants(tag, moment.place)) {
      return;
    }
    number = number ? number : Scalar(tensor).number();
    if (number && std::isfinite(number->value)) {
      series_.Add(moment, tag, *number);
    } else {
      series_.AddBad();
    }
  }

  ByteWindow& in_;
  const Limits& limits_;
  Series series_;
  std::uint64_t record_ = 0;
  std::uint64_t place_ = 0;  // first record of this step
  std::optional<std::int64_t> step_;
  std::uint64_t damaged_ = 0;
  std::uint64_t large_ = 0;
  std::optional<Diagnostic> end_;
};

}  // namespace

Match TfeventsReader::Sniff(std::span<const std::byte> head) const {
  // The first event says when it was and which version of the form follows; other files of records
  // have other contents.
  const auto length = LengthIn(head);
  constexpr std::byte kTimeTag{kWallTime << 3U | wire::kFixed64};
  return length && *length > 0 && head.size() > kLengthBytes && head[kLengthBytes] == kTimeTag
             ? Match::kCertain
             : Match::kNo;
}

Result<Recording> TfeventsReader::Read(ByteWindow& in, const Limits& limits) const {
  return EventFile(in, limits).Read();
}

}  // namespace memtool::formats
