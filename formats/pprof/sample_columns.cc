#include "pprof/sample_columns.h"

#include <fmt/format.h>

#include <cstring>

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

// A sample as writers lay it out: all locations, all values, then the labels. False, and nothing
// has changed, for any other, which AddScattered() reads or refuses.
bool SampleColumns::AddPlain(std::span<const std::byte> bytes, std::uint64_t offset) {
  ByteCursor message(bytes, offset);
  constexpr std::size_t kMaxValues = 8;
  const std::size_t value_count = values_.size();
  if (!any_ || value_count > kMaxValues || message.done() || message.Byte() != kLocationPacked) {
    return false;
  }
  const std::span<const std::byte> locations = message.Take(message.Varint());
  if (message.done() || message.Byte() != kValuePacked) {
    return false;
  }
  const std::uint64_t size = message.Varint();
  const std::uint64_t values_offset = message.offset();
  ByteCursor packed(message.Take(size), values_offset);
  std::array<std::int64_t, kMaxValues> values{};
  for (std::size_t i = 0; i < value_count; ++i) {
    if (packed.done()) {
      return false;
    }
    values[i] = static_cast<std::int64_t>(packed.Varint());
  }
  if (!packed.done()) {
    return false;
  }
  const std::span<const std::byte> labels = message.rest();
  while (!message.done()) {
    if (message.Byte() != kLabel) {
      return false;
    }
    message.Skip(message.Varint());
  }
  for (std::size_t i = 0; i < value_count; ++i) {
    values_[i].push_back(values[i]);
  }
  Append(locations, InternLabels(labels));
  return true;
}

void SampleColumns::AddScattered(ByteCursor message) {
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
  if (parts.values == 0) {  // at once: such a sample takes two bytes in a file, and many more here
    ThrowRead(ErrorCode::kMalformed, start, "value", "no value");
  }
  any_ = true;
  Append(parts.locations.bytes(), InternLabels(parts.labels.bytes()));
  if (!parts.locations.in_place()) {
    Flush();
  }
}

void SampleColumns::Add(std::span<const std::byte> message, std::uint64_t offset) {
  if (!AddPlain(message, offset)) {
    AddScattered(ByteCursor(message, offset));
  }
}

void SampleColumns::Append(std::span<const std::byte> locations, std::uint32_t labels) {
  label_sets_.emplace_back(labels);
  pending_stacks_[pending_] = locations;
  if (++pending_ == StackInterner::kBatch) {
    Flush();
  }
}

std::uint32_t SampleColumns::InternLabels(std::span<const std::byte> bytes) {
  std::uint64_t end = bytes.size();
  if (bytes.size() >= sizeof(end)) {
    std::memcpy(&end, bytes.last(sizeof(end)).data(), sizeof(end));
  }
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  std::uint32_t& recent = recent_labels_[(end + bytes.size()) * kSpread >> 56U];
  if (recent == 0 || AsText(label_bytes_[recent - 1]) != AsText(bytes)) {
    recent = label_bytes_.Intern(bytes) + 1;
  }
  return recent - 1;
}

void SampleColumns::Flush() {
  std::array<StackId, StackInterner::kBatch> ids;
  distinct_stacks_.InternBatch(std::span(pending_stacks_).first(pending_), ids.data());
  const std::span<const StackId> stacks = std::span(ids).first(pending_);
  Sum(stacks);
  stacks_.insert(stacks_.end(), stacks.begin(), stacks.end());
  pending_ = 0;
}

// What follows in the columns of values, while it is at hand.
void SampleColumns::Sum(std::span<const StackId> stacks) {
  if (values_.empty()) {
    return;
  }
  sums_.resize(values_.size());
  const std::size_t first = stacks_.size();
  for (std::size_t type = 0; type < values_.size(); ++type) {
    for (const std::int64_t value : std::span(values_[type]).subspan(first, stacks.size())) {
      sums_[type].magnitude.Add(value);
    }
  }
  RowVector<std::int64_t>& of_stack = sums_.back().of_stack;
  of_stack.resize(distinct_stacks_.size());
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    std::int64_t& sum = of_stack[stacks[i].value()];
    __builtin_add_overflow(sum, values_.back()[first + i], &sum);  // the magnitude tells
  }
}

}  // namespace memtool::formats::pprof
