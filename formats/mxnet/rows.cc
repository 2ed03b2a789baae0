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

std::uint32_t RowTable::TagOf(std::string_view text) {
  const std::uint32_t tag = tags_.Intern(Bytes(text));
  if (tag < image_io_.size()) {
    return tag;
  }
  const auto refuse = [this](std::string message, std::string hint) {
    ThrowRead(ErrorCode::kLimit, lines_.offset(), fmt::format("line {}", lines_.number()),
              std::move(message), std::move(hint));
  };
  if (text.size() > limits_.string_bytes) {
    refuse("a tag longer than the limit on strings", "--limit string-bytes=SIZE raises it");
  }
  const auto colons = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), ':'));
  if (colons >= limits_.depth) {
    refuse(fmt::format("a tag of more than {} scopes", limits_.depth), "--limit depth=N raises it");
  }
  image_io_.push_back(static_cast<char>(IsImageIo(text)));
  return tag;
}

std::uint32_t& RowTable::SumOf(const Row& row) {
  Key key{
      .tag = TagOf(row.tag),
      .structure = row.structure.empty() ? kNoStructure : structures_.Intern(Bytes(row.structure)),
      .device = row.device,
      .flags = row.reused ? kReused : 0U};
  static_assert(std::has_unique_object_representations_v<Key>);
  if (row.unrounded && image_io_[key.tag] != 0) {
    key.flags |= kPinned;
  }
  const std::uint32_t number = keys_.Intern(std::as_bytes(std::span(&key, 1)));
  if (number == current_.size()) {
    current_.push_back(static_cast<std::uint32_t>(sums_.size()));
    sums_.push_back({.key = key});
  }
  return current_[number];
}

void RowTable::Add(const Row& row) {
  ++rows_;
  const std::int64_t from_mebibytes =
      row.mebibytes == 0 ? 0 : Scaled(1, std::round(row.mebibytes * kMebibyte));
  std::uint32_t& current = SumOf(row);
  Sum sum = sums_[current];
  bool saturated = false;
  ++sum.count;
  AddTo(sum.actual, row.actual, saturated);
  AddTo(sum.requested, row.requested, saturated);
  AddTo(sum.from_mebibytes, from_mebibytes, saturated);
  if (saturated) {
    // Samples are exact: which of their columns is added up is for the question to choose.
    sum = {.key = sum.key,
           .count = 1,
           .requested = row.requested,
           .actual = row.actual,
           .from_mebibytes = from_mebibytes};
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
StackId RowTable::StackOf(RecordingBuilder& builder, std::string_view tag,
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

LabelSetId RowTable::LabelsOf(RecordingBuilder& builder, const Key& key) const {
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
      stack = StackOf(builder, AsText(tags_[sum.key.tag]), scopes);
    }
    std::vector<std::int64_t> values{sum.count};
    if (with_requested) {
      values.push_back(sum.requested);
    }
    values.push_back(mebibytes ? sum.from_mebibytes : sum.actual);
    builder.AddSample(stack, LabelsOf(builder, sum.key), values);
  }
}

}  // namespace memtool::formats::mxnet
