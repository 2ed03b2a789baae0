#include "pprof/sample_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "support/wire.h"

namespace memtool::formats::pprof {

namespace {

// Field tags of message Sample: location_id, value, label (pprof's profile.proto).
constexpr std::uint64_t kLocationPacked = 1U << 3U | wire::kLength;
constexpr std::uint64_t kLocation = 1U << 3U | wire::kVarint;
constexpr std::uint64_t kValuePacked = 2U << 3U | wire::kLength;
constexpr std::uint64_t kValue = 2U << 3U | wire::kVarint;
constexpr std::uint64_t kLabel = 3U << 3U | wire::kLength;

// The bytes of one kind of field. Usually one run in place; when a writer scattered it, a copy.
class Run {
 public:
  void Add(std::span<const std::byte> bytes) {
    if (bytes_.empty()) {
      bytes_ = bytes;
    } else if (copy_.empty() && bytes_.data() + bytes_.size() == bytes.data()) {
      bytes_ = {bytes_.data(), bytes_.size() + bytes.size()};
    } else {
      Own();
      copy_.insert(copy_.end(), bytes.begin(), bytes.end());
      bytes_ = copy_;
    }
  }
  void AddVarint(std::uint64_t value) {
    Own();
    while (value >= 0x80) {
      copy_.push_back(static_cast<std::byte>(value | 0x80U));
      value >>= 7U;
    }
    copy_.push_back(static_cast<std::byte>(value));
    bytes_ = copy_;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] bool in_place() const { return copy_.empty(); }

 private:
  void Own() {
    if (copy_.empty()) {
      copy_.assign(bytes_.begin(), bytes_.end());
    }
  }
  std::span<const std::byte> bytes_;
  std::vector<std::byte> copy_;
};

}  // namespace

struct SampleColumns::Parts {
  Run locations;
  Run labels;
  std::size_t values = 0;
};

void SampleColumns::AddValue(Parts& parts, std::uint64_t value, std::uint64_t offset) {
  if (!any_ && parts.values == values_.size()) {
    values_.emplace_back();
  }
  if (parts.values >= values_.size()) {
    ThrowRead(ErrorCode::kMalformed, offset, "value",
              fmt::format("more than {} values, unlike the samples before", values_.size()));
  }
  values_[parts.values++].push_back(static_cast<std::int64_t>(value));
}

void SampleColumns::AddPackedValues(Parts& parts, ByteCursor cursor) {
  while (!cursor.done()) {
    const std::uint64_t offset = cursor.offset();
    AddValue(parts, cursor.Varint(), offset);
  }
}

void SampleColumns::Add(ByteCursor message) {
  Parts parts;
  const std::uint64_t start = message.offset();
  while (!message.done()) {
    const std::uint64_t offset = message.offset();
    const std::byte* field_begin = message.position();
    const std::uint64_t tag = message.Varint();
    const wire::Field field = wire::Payload(message, tag, offset);
    switch (tag) {
      case kLocationPacked:
        parts.locations.Add(field.bytes);
        break;
      case kLocation:
        parts.locations.AddVarint(field.value);
        break;
      case kValuePacked:
        AddPackedValues(parts, ByteCursor(field.bytes, field.offset));
        break;
      case kValue:
        AddValue(parts, field.value, offset);
        break;
      case kLabel:
        parts.labels.Add({field_begin, static_cast<std::size_t>(message.position() - field_begin)});
        break;
      default:
        if (field.number <= 3) {
          ThrowRead(ErrorCode::kMalformed, offset, {},
                    fmt::format("wire type {} does not fit field {}", field.type, field.number));
        }
    }
  }
  if (any_ && parts.values != values_.size()) {
    ThrowRead(
        ErrorCode::kMalformed, start, "value",
        fmt::format("{} values, but the samples before have {}", parts.values, values_.size()));
  }
  any_ = true;
  pending_stacks_[pending_] = parts.locations.bytes();
  pending_labels_[pending_] = parts.labels.bytes();
  ++pending_;
  if (pending_ == ByteInterner::kBatch || !parts.locations.in_place() || !parts.labels.in_place()) {
    Flush();
  }
}

void SampleColumns::Flush() {
  if (pending_ == 0) {
    return;
  }
  std::array<std::uint32_t, ByteInterner::kBatch> ids{};
  stack_bytes_.InternBatch(std::span(pending_stacks_).first(pending_), ids.data());
  const auto interned = std::span(ids).first(pending_);
  std::transform(interned.begin(), interned.end(), std::back_inserter(stacks_),
                 [](std::uint32_t id) { return StackId(id); });
  label_bytes_.InternBatch(std::span(pending_labels_).first(pending_), ids.data());
  std::transform(interned.begin(), interned.end(), std::back_inserter(label_sets_),
                 [](std::uint32_t id) { return LabelSetId(id); });
  pending_ = 0;
}

std::uint64_t SampleColumns::CountFrames() const {
  // A varint ends at each byte without its high bit; eight bytes at a time.
  constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;
  std::uint64_t frames = 0;
  for (std::uint32_t id = 0; id < stack_bytes_.size(); ++id) {
    std::span<const std::byte> bytes = stack_bytes_[id];
    for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), sizeof(word));
      frames += static_cast<std::uint64_t>(std::popcount(~word & kHighBits));
    }
    frames += static_cast<std::uint64_t>(
        std::count_if(bytes.begin(), bytes.end(), [](std::byte b) { return b < std::byte{0x80}; }));
  }
  return frames;
}

}  // namespace memtool::formats::pprof
