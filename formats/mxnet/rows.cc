#include "mxnet/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/keywords/keywords.h"
#include "support/byte_cursor.h"
#include "support/read_error.h"

namespace memtool::formats::mxnet {

namespace {

constexpr double kMebibyte = 1048576.0;

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

constexpr std::uint32_t kNoStructure = UINT32_MAX;
// Flags of a key.
constexpr std::uint32_t kReused = 1;
constexpr std::uint32_t kPinned = 2;

// Image batches are loaded into pinned host memory, which MXNet listed with the device of its
// context until 2020-07 (its pull request 18582).
bool IsImageIo(std::string_view tag) {
  return tag.starts_with("image_io:") || tag.find(":image_io:") != std::string_view::npos;
}

}  // namespace

void RowTable::CheckTag(std::string_view text) const {
  const auto refuse = [this](std::string message, std::string hint) {
    ThrowRead(ErrorCode::kLimit, lines_.offset(), fmt::format("line {}", lines_.number()),
              std::move(message), std::move(hint));
  };
  if (text.size() > limits_.string_bytes) {
    refuse("a tag longer than the limit on strings", "--max string-bytes=SIZE raises it");
  }
  // Shorter ones cannot have as many scopes: nearly all are not looked at.
  if (text.size() >= limits_.depth &&
      static_cast<std::uint64_t>(std::count(text.begin(), text.end(), ':')) >= limits_.depth) {
    refuse(fmt::format("a tag of more than {} scopes", limits_.depth), "--max depth=N raises it");
  }
}

void RowTable::Add(const Row& row) {
  CheckTag(row.tag);
  constexpr std::size_t kMaxWaiting = std::size_t{64} << 10U;
  if (waiting_count_ == waiting_.size() || waiting_tags_.size() >= kMaxWaiting) {
    AddBatch();
  }
  const std::size_t begin = waiting_tags_.size();
  waiting_tags_ += row.tag;
  waiting_[waiting_count_++] = {
      .key = {.structure =
                  row.structure.empty() ? kNoStructure : structures_.Intern(Bytes(row.structure)),
              .device = row.device,
              .flags = row.reused ? kReused : 0U},
      .unrounded = row.unrounded,
      .tag_begin = begin,
      .tag_end = waiting_tags_.size(),
      .requested = row.requested,
      .actual = row.actual,
      .from_mebibytes = row.mebibytes == 0 ? 0 : Scaled(1, std::round(row.mebibytes * kMebibyte))};
}

void RowTable::FindTags() {
  std::array<std::span<const std::byte>, ByteInterner::kBatch> texts;
  std::array<std::uint32_t, ByteInterner::kBatch> tags{};
  for (std::size_t i = 0; i < waiting_count_; ++i) {
    const Waiting& row = waiting_[i];
    texts[i] =
        Bytes(std::string_view(waiting_tags_).substr(row.tag_begin, row.tag_end - row.tag_begin));
  }
  tags_.InternBatch(std::span(texts).first(waiting_count_), tags.data());
  for (std::size_t i = 0; i < waiting_count_; ++i) {
    if (tags[i] == image_io_.size()) {
      image_io_.push_back(static_cast<char>(IsImageIo(AsText(tags_[tags[i]]))));
    }
    Key& key = waiting_[i].key;
    key.tag = tags[i];
    key.flags |= waiting_[i].unrounded && image_io_[key.tag] != 0 ? kPinned : 0U;
  }
}

void RowTable::AddBatch() {
  FindTags();
  std::array<std::span<const std::byte>, ByteInterner::kBatch> keys;
  std::array<std::uint32_t, ByteInterner::kBatch> numbers{};
  static_assert(std::has_unique_object_representations_v<Key>);
  for (std::size_t i = 0; i < waiting_count_; ++i) {
    keys[i] = std::as_bytes(std::span(&waiting_[i].key, 1));
  }
  keys_.InternBatch(std::span(keys).first(waiting_count_), numbers.data());
  for (std::size_t i = 0; i < waiting_count_; ++i) {
    if (numbers[i] == current_.size()) {
      current_.push_back(static_cast<std::uint32_t>(sums_.size()));
      sums_.push_back({.key = waiting_[i].key});
    }
    AddTo(current_[numbers[i]], waiting_[i]);
  }
  waiting_count_ = 0;
  waiting_tags_.clear();
}

void RowTable::AddTo(std::uint32_t& current, const Waiting& row) {
  Sum sum = sums_[current];
  bool saturated = false;
  ++sum.count;
  memtool::AddTo(sum.actual, row.actual, saturated);
  memtool::AddTo(sum.requested, row.requested, saturated);
  memtool::AddTo(sum.from_mebibytes, row.from_mebibytes, saturated);
  if (saturated) {
    // Samples are exact: which of their columns is added up is for the question to choose.
    sum = {.key = sum.key,
           .count = 1,
           .requested = row.requested,
           .actual = row.actual,
           .from_mebibytes = row.from_mebibytes};
    current = static_cast<std::uint32_t>(sums_.size());
    sums_.push_back(sum);
  } else {
    sums_[current] = sum;
  }
  if ((sum.key.flags & kPinned) != 0) {
    ++pinned_rows_;
    pinned_bytes_ = SaturatingAdd(pinned_bytes_, row.actual);
  }
}

// Scopes outermost first in the tag, innermost first in a stack.
StackId RowTable::GetStack(RecordingBuilder& builder, std::string_view tag,
                           std::map<std::string, LocationId, std::less<>>& scopes) const {
  std::vector<LocationId> locations;
  while (!tag.empty()) {
    const std::size_t colon = tag.rfind(':');
    const std::string_view scope = colon == std::string_view::npos ? tag : tag.substr(colon + 1);
    if (!scope.empty()) {
      auto it = scopes.find(scope);
      if (it == scopes.end()) {
        const std::array<Line, 1> line{
            {{.function = builder.AddFunction({.name = builder.Intern(scope)})}}};
        it = scopes.emplace(scope, builder.AddLocation({}, line)).first;
      }
      locations.push_back(it->second);
    }
    tag = colon == std::string_view::npos ? std::string_view{} : tag.substr(0, colon);
  }
  return builder.AddStack(locations);
}

LabelSetId RowTable::MakeLabels(RecordingBuilder& builder, const Key& key) const {
  const auto label = [&builder](std::string_view name, std::string_view text) {
    return Label{.key = builder.Intern(name), .text = builder.Intern(text)};
  };
  std::vector<Label> labels{label(kTagKey, AsText(tags_[key.tag]))};
  if (key.device >= 0) {
    labels.push_back(label("device", fmt::format("gpu:{}", key.device)));
  }
  if (key.structure != kNoStructure) {
    labels.push_back(label("struct", AsText(structures_[key.structure])));
  }
  if ((key.flags & kReused) != 0) {
    labels.push_back(label("reused", "1"));
  }
  if ((key.flags & kPinned) != 0) {
    labels.push_back(label("memory", "pinned host"));
  }
  return builder.InternLabels(labels);
}

void RowTable::Fill(RecordingBuilder& builder, bool with_requested, bool mebibytes) const {
  const auto type = [&builder](std::string_view name, std::string_view unit, Role role) {
    return SampleType{.type = builder.Intern(name), .unit = builder.Intern(unit), .role = role};
  };
  std::vector<SampleType> types{type("allocations", "count", Role::kCount)};
  if (with_requested) {
    types.push_back(type("requested", "bytes", Role::kRequestedBytes));
  }
  types.push_back(type("actual", "bytes", Role::kBytes));
  const StringId default_type = types.back().type;
  builder.StartProfile(std::move(types), default_type);

  std::map<std::string, LocationId, std::less<>> scopes;
  std::vector<StackId> stacks(image_io_.size());  // per tag
  for (const Sum& sum : sums_) {
    StackId& stack = stacks[sum.key.tag];
    if (!stack.valid()) {
      stack = GetStack(builder, AsText(tags_[sum.key.tag]), scopes);
    }
    std::vector<std::int64_t> values{sum.count};
    if (with_requested) {
      values.push_back(sum.requested);
    }
    values.push_back(mebibytes ? sum.from_mebibytes : sum.actual);
    builder.AddSample(stack, MakeLabels(builder, sum.key), values);
  }
}

}  // namespace memtool::formats::mxnet
