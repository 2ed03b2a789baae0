#include "memtool/profile/answers/buckets.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"

namespace memtool {

namespace {

constexpr double kManyOthers = 0.3;
constexpr double kGreedy = 0.95;

BucketRow MakeBucketRow(std::string_view axis, Bucket bucket, std::size_t entries) {
  BucketRow row{.axis = std::string(axis),
                .name = std::move(bucket.name),
                .kind = bucket.others ? BucketRow::Kind::kUnmatched : BucketRow::Kind::kCategory,
                .sum = bucket.sum,
                .entries = std::move(bucket.entries),
                .more_bytes = bucket.sum.bytes};
  if (row.entries.size() > entries) {
    row.more_entries = row.entries.size() - entries;
    row.entries.resize(entries);
  }
  for (const BucketEntry& entry : row.entries) {
    row.more_bytes = SaturatingSubtract(row.more_bytes, entry.sum.bytes);
  }
  return row;
}

BucketRow UntrackableRow(std::string_view axis, std::int64_t bytes) {
  return {.axis = std::string(axis),
          .name = std::string(kUntrackable),
          .kind = BucketRow::Kind::kUntracked,
          .sum = {.bytes = bytes}};
}

BucketsAxis::Lost ComputeLost(std::int64_t others, std::int64_t unnamed, std::int64_t total) {
  const std::int64_t lost = std::max(others, unnamed);
  if (total <= 0 || Ratio(lost, total) <= kManyOthers) {
    return BucketsAxis::Lost::kLittle;
  }
  return unnamed > lost / 2 ? BucketsAxis::Lost::kUnnamed : BucketsAxis::Lost::kUnmatched;
}

Value BasesValue(const BucketsAnswer& answer) {
  constexpr std::array<std::string_view, 3> kConfidences{"none", "medium", "high"};
  constexpr std::array<std::string_view, 4> kBases{"none", "outlive", "added", "passes"};
  Value::List list;
  for (const BaseEvidence& base : answer.bases) {
    const BaseKinds& kinds = base.kinds;
    list.push_back(Value::Object{
        {"device", base.device},
        {"gradients", kinds.gradients},
        {"matched", kinds.matched},
        {"basis", kBases[static_cast<std::size_t>(kinds.basis)]},
        {"confidence", kConfidences[static_cast<std::size_t>(kinds.parameters)]},
        {"optimizer", kinds.optimizer_name.empty() ? Value() : Value(kinds.optimizer_name)},
        {"states", kinds.states},
        {"of_twice_the_size", kinds.wide ? 1 : 0},
        {"replaced", kinds.replaced},
        {"states_confidence", kConfidences[static_cast<std::size_t>(kinds.optimizer)]},
        {"other_copies", kinds.other_copies}});
  }
  return list;
}

}  // namespace

BucketsMaker::BucketsMaker(const Keywords& keywords, BucketsQuery query)
    : query_(std::move(query)), table_(keywords, query_.multi, space_) {
  table_.set_explaining(!query_.explain.empty());
}

void BucketsMaker::NoteDevices(const Recording& recording) {
  for (const Label& label : recording.label_sets.items()) {
    if (recording.Text(label.key) == "device") {
      devices_.insert(std::string(recording.Text(label.text)));
    }
  }
}

Result<void> BucketsMaker::Add(const Selection& selection) {
  head_.Add(selection);
  const Recording& recording = selection.recording();
  NoteDevices(recording);
  one_device_ = !selection.device().empty();
  never_frees_ = never_frees_ || recording.metadata.origin.framework == Framework::kMxnet;
  for (const MomentOfTrace& moment : selection.moments()) {
    const HistoryIndex& index = *selection.history();
    const Trace& trace = index.history().traces[moment.trace];
    BaseKinds kinds(index.recording(), trace, index.replay(trace));
    if (kinds.basis != BaseKinds::Basis::kNone) {
      bases_.push_back({.device = trace.name, .kinds = std::move(kinds)});
    }
  }
  if (query_.apart) {
    MEMTOOL_TRY(
        parts_.emplace_back(table_.keywords(), query_.multi, space_).Add(MakeInput(selection)));
  }
  return table_.Add(MakeInput(selection));
}

std::int64_t BucketsMaker::GetWhole(std::int64_t tracked) const {
  return query_.expected && !query_.share_of_tracked ? query_.expected->bytes : tracked;
}

OverAccount::Reason BucketsMaker::OverReason() const {
  if (head_.inputs.size() > 1) {
    return OverAccount::Reason::kInputs;
  }
  if (devices_.size() > 1 && !one_device_) {
    return OverAccount::Reason::kDevices;
  }
  return never_frees_ ? OverAccount::Reason::kNeverFree : OverAccount::Reason::kElsewhere;
}

void BucketsMaker::AddAxis(const BucketAxis& axis, BucketsAnswer& answer) const {
  std::vector<Bucket> buckets = axis.buckets;
  std::stable_sort(buckets.begin(), buckets.end(), [](const Bucket& a, const Bucket& b) {
    return std::tuple(a.others, b.sum.bytes) < std::tuple(b.others, a.sum.bytes);
  });
  for (Bucket& bucket : buckets) {
    answer.rows.push_back(MakeBucketRow(axis.name, std::move(bucket), query_.entries));
  }
  if (answer.untrackable) {
    answer.rows.push_back(UntrackableRow(axis.name, *answer.untrackable));
  }
  const std::int64_t others = axis.buckets.back().sum.bytes;
  answer.axes.push_back({.name = axis.name,
                         .others = others,
                         .ambiguous = axis.ambiguous,
                         .repeated = axis.repeated,
                         .lost = ComputeLost(others, answer.unnamed, answer.total)});
}

void BucketsMaker::AddWords(BucketsAnswer& answer) const {
  if (answer.total <= 0) {
    return;
  }
  const std::vector<std::int64_t> bytes = table_.WordBytes();
  for (std::uint32_t number = 0; number < bytes.size(); ++number) {
    const std::string& word = table_.keywords().word(number).written;
    if (const double share = Ratio(bytes[number], answer.total); share > kGreedy) {
      answer.greedy_words.push_back({.word = word, .share = share});
    }
    if (bytes[number] == 0) {
      answer.idle_words.push_back(word);
    }
  }
}

BucketsPart BucketsMaker::MakePart(std::size_t input) const {
  const BucketTable& table = parts_[input];
  const std::int64_t total = table.total().bytes;
  BucketsPart part{
      .input = head_.inputs[input].path, .total = total, .whole = GetWhole(total), .rows = {}};
  for (BucketAxis& axis : table.Axes()) {
    for (Bucket& bucket : axis.buckets) {
      part.rows.push_back(MakeBucketRow(axis.name, std::move(bucket), 0));
    }
    if (query_.expected) {
      part.rows.push_back(
          UntrackableRow(axis.name, SaturatingSubtract(query_.expected->bytes, total)));
    }
  }
  return part;
}

BucketsAnswer BucketsMaker::Make() const {
  const std::int64_t total = table_.total().bytes;
  BucketsAnswer answer{.head = head_,
                       .dictionary = table_.keywords().dictionary().name,
                       .axes = {},
                       .rows = {},
                       .total = total,
                       .whole = GetWhole(total),
                       .devices = devices_.size(),
                       .unnamed = table_.UnnamedBytes(),
                       .unknown = table_.total().unknown};
  if (query_.expected) {
    answer.expected = query_.expected->bytes;
    answer.untrackable = SaturatingSubtract(query_.expected->bytes, total);
    const std::int64_t over = SaturatingSubtract(total, query_.expected->bytes);
    if (over > query_.expected->precision) {
      answer.over = OverAccount{.bytes = over, .reason = OverReason()};
    }
  }
  for (const BucketAxis& axis : table_.Axes()) {
    AddAxis(axis, answer);
  }
  AddWords(answer);
  answer.bases = bases_;
  for (std::size_t input = 0; input < parts_.size(); ++input) {
    answer.parts.push_back(MakePart(input));
  }
  return answer;
}

ExplainAnswer BucketsMaker::Explain() const {
  return {.head = head_,
          .dictionary = table_.keywords().dictionary().name,
          .total = table_.total().bytes,
          .rows = table_.Explain(query_.explain)};
}

Result<BucketsAnswer> Buckets(const Selection& selection, const Keywords& keywords,
                              BucketsQuery query) {
  BucketsMaker maker(keywords, std::move(query));
  MEMTOOL_TRY(maker.Add(selection));
  return maker.Make();
}

AnswerView MakeView(const BucketsAnswer& answer) {
  std::int64_t ambiguous = 0;
  std::int64_t repeated = 0;
  for (const BucketsAxis& axis : answer.axes) {
    ambiguous = SaturatingAdd(ambiguous, axis.ambiguous);
    repeated = SaturatingAdd(repeated, axis.repeated);
  }
  std::vector<NamedValue> figures{{"total", answer.total},
                                  {"expected_sum", answer.expected},
                                  {"untrackable", answer.untrackable},
                                  {"ambiguous_bytes", ambiguous},
                                  {"repeated_bytes", repeated},
                                  {"dictionary", answer.dictionary}};
  if (!answer.bases.empty()) {
    figures.emplace_back("before_recording", BasesValue(answer));
  }
  return ViewRows(answer.head, std::move(figures), answer.rows, kBucketFields);
}

AnswerView MakeView(const ExplainAnswer& answer) {
  return ViewRows(answer.head, {{"total", answer.total}}, answer.rows, kExplanationFields);
}

}  // namespace memtool
