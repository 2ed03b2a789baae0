#include "mxnet/rows.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "memtool/profile/analysis/keywords.h"
#include "memtool/profile/analysis/values.h"
#include "support/byte_cursor.h"

namespace memtool::formats::mxnet {

namespace {

constexpr double kMebibyte = 1048576.0;

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

constexpr std::uint32_t kNoStructure = UINT32_MAX;

// Image batches are loaded into pinned host memory, which MXNet listed with the device of its
// context until 2020-07 (its pull request 18582).
bool IsImageIo(std::string_view tag) {
  return tag.starts_with("image_io:") || tag.find(":image_io:") != std::string_view::npos;
}

}  // namespace

RowTable::Sum& RowTable::SumOf(const Row& row) {
  const std::uint32_t tag = tags_.Intern(Bytes(row.tag));
  const std::uint32_t structure =
      row.structure.empty() ? kNoStructure : structures_.Intern(Bytes(row.structure));
  if (tag == first_.size()) {
    first_.push_back(UINT32_MAX);
    image_io_.push_back(static_cast<char>(IsImageIo(row.tag)));
  }
  const bool pinned = row.unrounded && image_io_[tag] != 0;
  std::uint32_t* link = &first_[tag];
  while (*link != UINT32_MAX) {
    Sum& sum = sums_[*link];
    if (sum.device == row.device && sum.reused == row.reused && sum.pinned == pinned &&
        sum.structure == structure) {
      return sum;
    }
    link = &sum.next;
  }
  *link = static_cast<std::uint32_t>(sums_.size());
  sums_.push_back({.tag = tag,
                   .structure = structure,
                   .device = row.device,
                   .reused = row.reused,
                   .pinned = pinned});
  return sums_.back();
}

void RowTable::Add(const Row& row) {
  ++rows_;
  Sum& sum = SumOf(row);
  ++sum.count;
  sum.actual = SaturatingAdd(sum.actual, row.actual);
  sum.requested = SaturatingAdd(sum.requested, row.requested);
  if (row.mebibytes != 0) {
    sum.from_mebibytes =
        SaturatingAdd(sum.from_mebibytes, Scaled(1, std::round(row.mebibytes * kMebibyte)));
  }
  if (sum.pinned) {
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
  for (const std::uint32_t first : first_) {
    const StackId stack = StackOf(builder, AsText(tags_[sums_[first].tag]), scopes);
    for (std::uint32_t i = first; i != UINT32_MAX; i = sums_[i].next) {
      const Sum& sum = sums_[i];
      std::vector<std::int64_t> values{sum.count};
      if (with_requested) {
        values.push_back(sum.requested);
      }
      values.push_back(mebibytes ? sum.from_mebibytes : sum.actual);
      builder.AddSample(stack, LabelsOf(builder, sum), values);
    }
  }
}

LabelSetId RowTable::LabelsOf(RecordingBuilder& builder, const Sum& sum) const {
  const auto label = [&builder](std::string_view key, std::string_view text) {
    return Label{.key = builder.Intern(key), .text = builder.Intern(text)};
  };
  std::vector<Label> labels{label(kTagKey, AsText(tags_[sum.tag]))};
  if (sum.device >= 0) {
    labels.push_back(label("device", fmt::format("gpu:{}", sum.device)));
  }
  if (sum.structure != kNoStructure) {
    labels.push_back(label("struct", AsText(structures_[sum.structure])));
  }
  if (sum.reused) {
    labels.push_back(label("reused", "1"));
  }
  if (sum.pinned) {
    labels.push_back(label("memory", "pinned host"));
  }
  return builder.InternLabels(labels);
}

}  // namespace memtool::formats::mxnet
