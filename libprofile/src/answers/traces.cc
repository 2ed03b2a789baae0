#include "memtool/profile/answers/traces.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstring>
#include <span>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

constexpr std::uint32_t kDropped = UINT32_MAX;

// Finds the sum of a sample: sums are sorted by (stack, group), and most stacks have one.
class SumFinder {
 public:
  SumFinder(const RowVector<StackSum>& sums, std::size_t stack_count)
      : sums_(sums), begin_(stack_count + 1, 0) {
    for (const StackSum& sum : sums) {
      ++begin_[sum.stack.value() + 1];
    }
    for (std::size_t stack = 0; stack < stack_count; ++stack) {
      begin_[stack + 1] += begin_[stack];
    }
  }

  [[nodiscard]] std::size_t Find(StackId stack, std::uint32_t group) const {
    const auto from = sums_.begin() + begin_[stack.value()];
    const auto to = sums_.begin() + begin_[stack.value() + 1];
    const auto found = std::lower_bound(
        from, to, group,
        [](const StackSum& sum, std::uint32_t wanted) { return sum.group < wanted; });
    return static_cast<std::size_t>(found - sums_.begin());
  }

 private:
  const RowVector<StackSum>& sums_;
  std::vector<std::ptrdiff_t> begin_;  // per stack: its first sum
};

std::vector<StringId> WordsOf(const TraceRow& row) {
  const std::string_view bytes = row.texts->labels[row.labels];
  std::vector<StringId> words(bytes.size() / sizeof(StringId));
  if (!words.empty()) {
    std::memcpy(words.data(), bytes.data(), bytes.size());
  }
  return words;
}

// As the texts of their labels compare.
bool LabelsLess(const TraceRow& a, const TraceRow& b) {
  const std::vector<StringId> words_a = WordsOf(a);
  const std::vector<StringId> words_b = WordsOf(b);
  const auto [at_a, at_b] =
      std::mismatch(words_a.begin(), words_a.end(), words_b.begin(), words_b.end());
  return at_b != words_b.end() &&
         (at_a == words_a.end() || a.texts->words[*at_a] < b.texts->words[*at_b]);
}

}  // namespace

std::string TraceRow::Folded() const {
  std::string folded;
  const std::span<const NodeId> nodes = Stack();
  for (std::size_t i = nodes.size(); i-- > 0;) {
    folded += texts->frames.Name(nodes[i]);
    folded += i > 0 ? ";" : "";
  }
  return folded;
}

std::string TraceRow::Labels() const {
  std::string text;
  bool key = true;
  for (const StringId word : WordsOf(*this)) {
    text += key && !text.empty() ? " " : "";
    text += texts->words[word];
    key = !key;
  }
  return text;
}

std::size_t TracesMaker::StackHash::operator()(std::uint32_t stack) const {
  return static_cast<std::size_t>(HashRows(std::span<const NodeId>((*stacks)[stack])));
}

TracesMaker::TracesMaker() : stacks_(0, {&texts_->stacks}, {&texts_->stacks}) {}

std::uint32_t TracesMaker::Intern(const std::vector<NodeId>& stack) {
  texts_->stacks.push_back(stack);
  const auto [at, added] = stacks_.insert(static_cast<std::uint32_t>(texts_->stacks.size() - 1));
  if (!added) {
    texts_->stacks.pop_back();
  }
  return *at;
}

// Per sum: the number of its stack as the view shows it, or kDropped.
std::vector<std::uint32_t> TracesMaker::GetStacks(const Selection& selection) {
  NodeWalker walker(selection.view(), Granularity::kLine, texts_->frames);
  NodeStack stack;
  std::vector<std::uint32_t> stacks;
  for (const StackSum& sum : selection.sums().rows) {
    stacks.push_back(walker.Expand(sum, stack) ? Intern(stack.nodes) : kDropped);
  }
  return stacks;
}

// Per label set: the labels that are shown.
std::vector<StringId> TracesMaker::MakeLabels(const View& view) {
  const Recording& recording = view.recording();
  OncePerText key_of([&](StringId key) {
    return texts_->words.Intern(std::string(recording.Text(key)) + "=").value();
  });
  OncePerText text_of(
      [&](StringId text) { return texts_->words.Intern(recording.Text(text)).value(); });
  std::vector<StringId> labels;
  for (std::uint32_t set = 0; set < recording.label_set_count(); ++set) {
    std::string bytes;
    for (const Label& label : recording.Labels(LabelSetId(set))) {
      if (view.ShowsKey(label.key)) {
        const std::array words{key_of(label.key),
                               label.numeric
                                   ? texts_->words.Intern(NumberText(recording, label)).value()
                                   : text_of(label.text)};
        bytes.append(reinterpret_cast<const char*>(words.data()), sizeof(words));
      }
    }
    labels.push_back(texts_->labels.Intern(bytes));
  }
  return labels;
}

TraceRow& TracesMaker::GetRow(std::uint32_t stack, StringId labels) {
  const std::uint64_t key = std::uint64_t{stack} << 32U | labels.value();
  const std::uint32_t row = row_of_.GetOrPut(key, static_cast<std::uint32_t>(rows_.size()));
  if (row == rows_.size()) {
    rows_.push_back({.stack = stack, .labels = labels, .texts = texts_.get()});
  }
  return rows_[row];
}

void TracesMaker::Add(const Selection& selection) {
  head_.Add(selection);
  const View& view = selection.view();
  const Recording& recording = view.recording();
  const std::vector<std::uint32_t> stacks = GetStacks(selection);
  const std::vector<StringId> labels = MakeLabels(view);
  const SumFinder finder(selection.sums().rows, recording.stack_count());
  ForEachSample(*recording.profile, selection.choice(), [&](const SampleValue& sample) {
    if (!view.Keeps(sample.labels)) {
      return;
    }
    const std::uint32_t stack = stacks[finder.Find(sample.stack, view.GetGroup(sample.labels))];
    if (stack == kDropped) {
      return;
    }
    TraceRow& row = GetRow(stack, labels[sample.labels.value()]);
    row.value = SaturatingAdd(row.value, sample.value);
    row.count = SaturatingAdd(row.count, sample.count);
    row.unknown = SaturatingAdd(row.unknown, sample.unknown);
  });
}

TracesAnswer TracesMaker::Make() && {
  TracesAnswer answer{.head = std::move(head_), .rows = std::move(rows_), .texts = texts_};
  for (const TraceRow& row : answer.rows) {
    answer.total = SaturatingAdd(answer.total, row.value);
  }
  std::sort(answer.rows.begin(), answer.rows.end(), [](const TraceRow& a, const TraceRow& b) {
    const std::int64_t size_a = Magnitude(a.value);
    const std::int64_t size_b = Magnitude(b.value);
    if (size_a != size_b) {
      return size_a > size_b;
    }
    if (a.stack != b.stack) {
      return a.texts->stacks[a.stack] < b.texts->stacks[b.stack];
    }
    return LabelsLess(a, b);
  });
  return answer;
}

TracesAnswer Traces(const Selection& selection) {
  TracesMaker maker;
  maker.Add(selection);
  return std::move(maker).Make();
}

AnswerView MakeView(const TracesAnswer& answer) {
  return ViewRows(answer.head, {{"total", answer.total}}, answer.rows, kTracesFields);
}

}  // namespace memtool
