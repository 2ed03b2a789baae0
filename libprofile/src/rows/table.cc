#include "memtool/profile/rows/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/rows/buckets.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

std::int64_t SortKey(const Row& row, SortBy sort) {
  return Magnitude(sort == SortBy::kFlat ? row.value.flat : row.value.cum);
}

// What holds memory of unknown size ranks before what only passes memory on.
bool HoldsNothing(const Row& row, SortBy sort) {
  return sort == SortBy::kFlat && row.value.flat == 0 && row.value.unknown == 0;
}

// By size; ties by the other size, then by name.
void SortRows(std::vector<Row>& rows, SortBy sort) {
  const auto other = sort == SortBy::kFlat ? SortBy::kCum : SortBy::kFlat;
  const auto size = [sort, other](const Row& row) {
    return std::tuple(-SortKey(row, sort), HoldsNothing(row, sort), -SortKey(row, other));
  };
  std::stable_sort(rows.begin(), rows.end(), [size](const Row& a, const Row& b) {
    return size(a) != size(b) ? size(a) < size(b) : ByName(a, b);
  });
}

bool Empty(const NodeValue& value) {
  return value.flat == 0 && value.cum == 0 && value.unknown_cum == 0;
}

}  // namespace

Result<By> ParseBy(std::string_view text) {
  using Kind = By::Kind;
  constexpr std::string_view kLabel = "label:";
  if (text.starts_with(kLabel) && text.size() > kLabel.size()) {
    return By{.kind = Kind::kLabel, .label = std::string(text.substr(kLabel.size()))};
  }
  // The spans that a program named itself.
  constexpr std::string_view kAnnotation = "annotation";
  if (text == kAnnotation) {
    return By{.kind = Kind::kLabel, .label = std::string(kAnnotation)};
  }
  constexpr std::string_view kBucket = "bucket:";
  if (text.starts_with(kBucket) && text.size() > kBucket.size()) {
    return By{.kind = Kind::kBucket, .axis = std::string(text.substr(kBucket.size()))};
  }
  const std::vector<std::pair<std::string_view, By>> known{
      {"function", {.granularity = Granularity::kFunction}},
      {"filefunction", {.granularity = Granularity::kFileFunction}},
      {"line", {.granularity = Granularity::kLine}},
      {"file", {.granularity = Granularity::kFile}},
      {"module", {.granularity = Granularity::kModule}},
      {"stack", {.kind = Kind::kStack}},
      {"tag", {.kind = Kind::kTag}},
      {"size", {.kind = Kind::kSize}},
      {"input", {.kind = Kind::kInput}},
      {"bucket", {.kind = Kind::kBucket}},
  };
  std::string names;
  for (const auto& [name, by] : known) {
    if (name == text) {
      return by;
    }
    names += std::string(name) + ", ";
  }
  return Fail(ErrorCode::kUsage, fmt::format("--by: cannot split by '{}'", text),
              "one of " + names + "annotation, label:KEY");
}

Input MakeInput(const Selection& selection, std::string_view process) {
  return {.view = &selection.view(),
          .sums = &selection.sums(),
          .choice = &selection.choice(),
          .name = selection.name(),
          .scale = selection.scale(),
          .process = process};
}

Tabulator::Tabulator(By by, NodeSpace& space)
    : by_(std::move(by)), space_(space), flat_cum_(space) {}

void Tabulator::Add(const Input& input) {
  if (by_.automatic) {
    const std::string& own = input.view->recording().metadata.default_by;
    by_ = own.empty() ? by_ : ParseBy(own).value_or(by_);
    by_.automatic = false;
  }
  unfiltered_ = SaturatingAdd(unfiltered_, input.sums->total);
  total_abs_ = SaturatingAdd(total_abs_, input.sums->total_abs);
  saturated_ = saturated_ || input.sums->saturated;
  switch (by_.kind) {
    case By::Kind::kFrame:
      flat_cum_.Add(*input.view, *input.sums, by_.granularity);
      total_ = flat_cum_.total();
      unknown_ = flat_cum_.unknown();
      break;
    case By::Kind::kStack:
    case By::Kind::kInput:
      AddStacks(input);
      break;
    case By::Kind::kTag:
    case By::Kind::kLabel:
    case By::Kind::kSize:
      AddSamples(input);
      break;
    case By::Kind::kBucket:
      AddBuckets(input);
      break;
  }
}

void Tabulator::AddKeyed(SharedText name, std::int64_t order, std::int64_t bytes,
                         std::int64_t unknown) {
  AddTo(keyed_[std::move(name)], order, bytes, unknown);
}

void Tabulator::AddTo(Keyed& row, std::int64_t order, std::int64_t bytes, std::int64_t unknown) {
  row.order = order;
  row.value.flat = row.value.cum = SaturatingAdd(row.value.flat, bytes);
  row.value.unknown_cum = row.value.unknown = SaturatingAdd(row.value.unknown, unknown);
  total_ = SaturatingAdd(total_, bytes);
  unknown_ = SaturatingAdd(unknown_, unknown);
}

void Tabulator::AddStacks(const Input& input) {
  NodeWalker walker(*input.view, by_.granularity, space_);
  NodeStack stack;
  for (const StackSum& sum : input.sums->rows) {
    if (!walker.Expand(sum, stack)) {
      continue;
    }
    if (by_.kind == By::Kind::kInput) {
      AddKeyed(input.name, 0, sum.value, sum.unknown);
    } else if (stack.nodes.empty()) {
      AddKeyed(kNoStack, 0, sum.value, sum.unknown);
    } else {
      AddTo(stacks_[space_.StackNames(stack.nodes)], 0, sum.value, sum.unknown);
    }
  }
}

std::string Tabulator::KeyText(const Recording& recording, std::int64_t key) const {
  if (by_.kind == By::Kind::kSize) {
    return key < 0 ? "(size unknown)" : FormatSize(key);
  }
  const LabelSetId set(static_cast<std::uint32_t>(key));
  const bool tag = by_.kind == By::Kind::kTag;
  for (const Label& label : recording.Labels(set)) {
    if (tag && !label.numeric && recording.Text(label.key) == kTagKey) {
      return std::string(recording.Text(label.text));
    }
  }
  std::string text = tag ? LabelText(recording, set) : LabelValues(recording, set, by_.label);
  if (text.empty()) {
    text = tag ? "(no labels)" : "(no " + by_.label + ")";
  }
  return text;
}

void Tabulator::AddSamples(const Input& input) {
  const View& view = *input.view;
  const std::vector<char> kept = SelectedStacks(view, *input.sums);
  // Sums per key number first; texts are made once per key.
  struct Sum {
    std::int64_t bytes = 0;
    std::int64_t unknown = 0;
  };
  std::map<std::int64_t, Sum> sums;
  ForEachSample(*view.recording().profile, *input.choice, [&](const SampleValue& sample) {
    if (!view.Keeps(sample.labels) || kept[sample.stack.value()] == 0) {
      return;
    }
    std::int64_t key = sample.labels.value();
    if (by_.kind == By::Kind::kSize) {
      const bool known = sample.unknown == 0 && sample.count != 0;
      key = known ? Magnitude(sample.value) / Magnitude(sample.count) : -1;
    }
    Sum& sum = sums[key];
    sum.unknown = SaturatingAdd(sum.unknown, sample.unknown);
    sum.bytes = SaturatingAdd(
        sum.bytes, input.scale == 1.0 ? sample.value : Scaled(sample.value, input.scale));
  });
  for (const auto& [key, sum] : sums) {
    const std::string text = KeyText(view.recording(), key);
    // The device of one process is not that of another, though it has its name.
    AddKeyed(by_.kind == By::Kind::kLabel ? TextOfProcess(by_.label, text, input.process) : text,
             key, sum.bytes, sum.unknown);
  }
}

void Tabulator::AddBuckets(const Input& input) {
  const auto& axes = by_.keywords->dictionary().axes;
  const std::size_t axis = AxisIndex(by_.keywords->dictionary(), by_.axis).value_or(0);
  BucketTable table(*by_.keywords, Multi::kFirst, space_);
  (void)table.Add(input);  // fails only where rows must not be ambiguous
  const BucketAxis sums = table.AxisAt(axis);
  for (std::size_t i = 0; i < sums.buckets.size(); ++i) {
    const BucketSum& sum = sums.buckets[i].sum;
    AddKeyed(i < axes[axis].categories.size() ? sums.buckets[i].name : std::string(kOthers),
             static_cast<std::int64_t>(i), sum.bytes, sum.unknown);
  }
}

namespace {

// `place`: where most of the row's bytes are; a node that is a file or a line knows its own.
void SetPlace(NodeSpace& space, Granularity granularity, const Place& place, Row& row) {
  if (granularity == Granularity::kModule) {
    return;
  }
  const bool file = granularity == Granularity::kFile;
  row.file = space.File(row.node).empty() ? place.file : space.Share(space[row.node].file);
  row.line = space[row.node].line != 0 ? space[row.node].line : file ? 0 : place.line;
  row.more_lines = file ? 0 : place.more;
  if (file && row.name.empty()) {
    row.name = row.file;
  }
}

}  // namespace

std::vector<Row> Tabulator::FrameRows() const {
  std::vector<Row> rows;
  const std::vector<NodeId> vias = flat_cum_.Vias();
  const std::vector<Place> places = flat_cum_.Places();
  for (std::uint32_t i = 0; i < vias.size(); ++i) {
    const NodeId node(i);
    const NodeValue value = flat_cum_.Value(node);
    if (Empty(value)) {
      continue;
    }
    Row row{.name = space_.ShareName(node), .value = value, .node = node};
    SetPlace(space_, by_.granularity, places[i], row);
    if (vias[i].valid()) {
      row.via = space_.ShareName(vias[i]);
    }
    rows.push_back(std::move(row));
  }
  if (!Empty(flat_cum_.without_stack())) {
    rows.push_back({.name = std::string(kNoStack), .value = flat_cum_.without_stack()});
  }
  return rows;
}

std::vector<Row> Tabulator::Rows(SortBy sort) const {
  std::vector<Row> rows = by_.kind == By::Kind::kFrame ? FrameRows() : std::vector<Row>{};
  for (const auto& [name, keyed] : keyed_) {
    if (!Empty(keyed.value)) {
      rows.push_back({.name = name, .value = keyed.value});
    }
  }
  for (const auto& [names, keyed] : stacks_) {
    if (!Empty(keyed.value)) {
      rows.push_back({.name = space_.ShareStack(names), .value = keyed.value});
    }
  }
  SortRows(rows, sort);
  return rows;
}

}  // namespace memtool
