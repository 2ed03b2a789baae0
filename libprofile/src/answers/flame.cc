#include "memtool/profile/answers/flame.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "answers/flame_buckets.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/select/stack_sums.h"

namespace memtool {

namespace {

constexpr std::uint32_t kRoot = 0;
constexpr std::string_view kAll = "(all)";
constexpr std::string_view kSmaller = "(smaller)";

struct Call {
  std::uint32_t parent = kRoot;
  NodeId node;
  std::int64_t line = 0;
  std::int64_t most = -1;  // magnitude of the stack that `line` is from
  std::int64_t self = 0;
  std::int64_t base_self = 0;
  std::int64_t total = 0;
  std::int64_t base = 0;
  std::int64_t width = 0;
};

// The tree while stacks are added: every call comes after its caller.
class CallTree {
 public:
  // `buckets`: null where nobody asks for them.
  CallTree(NodeSpace& space, FlameBuckets* buckets)
      : space_(space), buckets_(buckets), calls_(1), slots_(1024) {}

  void Add(const Selection& selection, Granularity granularity, bool base) {
    NodeWalker walker(selection.view(), granularity, space_);
    NodeStack stack;
    const bool split = buckets_ != nullptr && !base;
    if (split) {
      buckets_->Read(selection);
    }
    const auto& rows = selection.sums().rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!walker.Expand(rows[i], stack)) {
        continue;
      }
      const std::uint32_t call = AddStack(stack, selection.recording(), rows[i].value, base);
      if (split) {
        buckets_->Add(i, call);
      }
    }
  }

  // Sums and widths from the leaves up.
  void Finish() {
    for (std::size_t i = calls_.size(); i-- > 0;) {
      Call& call = calls_[i];
      call.total = SaturatingAdd(call.total, call.self);
      call.base = SaturatingAdd(call.base, call.base_self);
      call.width =
          SaturatingAdd(call.width, std::max(Magnitude(call.self), Magnitude(call.base_self)));
      if (i != kRoot) {
        Call& parent = calls_[call.parent];
        parent.total = SaturatingAdd(parent.total, call.total);
        parent.base = SaturatingAdd(parent.base, call.base);
        parent.width = SaturatingAdd(parent.width, call.width);
      }
    }
    if (buckets_ != nullptr) {
      buckets_->Finish(calls_.size(), [this](std::uint32_t call) { return calls_[call].parent; });
    }
  }

  [[nodiscard]] std::vector<Call> TakeCalls() && { return std::move(calls_); }

 private:
  // The innermost call.
  std::uint32_t AddStack(const NodeStack& stack, const Recording& recording, std::int64_t value,
                         bool base) {
    std::uint32_t at = kRoot;
    const std::int64_t size = Magnitude(value);
    for (std::size_t i = stack.nodes.size(); i-- > 0;) {
      at = Child(at, stack.nodes[i]);
      if (Call& call = calls_[at]; size > call.most) {
        call.most = size;
        call.line = stack.lines[i] == LineId::kNone ? 0 : recording.lines[stack.lines[i]].line;
      }
    }
    if (stack.nodes.empty()) {
      at = Child(kRoot, space_.Intern(kNoStack, "", 0));
    }
    std::int64_t& self = base ? calls_[at].base_self : calls_[at].self;
    self = SaturatingAdd(self, value);
    return at;
  }

  static std::size_t ComputeHash(std::uint32_t parent, NodeId node) {
    return static_cast<std::size_t>(HashNumber(std::uint64_t{parent} << 32U | node.value()));
  }

  std::uint32_t Child(std::uint32_t parent, NodeId node) {
    std::size_t slot = ComputeHash(parent, node) & (slots_.size() - 1);
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
      const Call& call = calls_[slots_[slot]];
      if (call.parent == parent && call.node == node) {
        return slots_[slot];
      }
    }
    const auto made = static_cast<std::uint32_t>(calls_.size());
    calls_.push_back({.parent = parent, .node = node});
    slots_[slot] = made;
    if (calls_.size() * 2 > slots_.size()) {
      Grow();
    }
    return made;
  }

  void Grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (std::uint32_t i = 1; i < calls_.size(); ++i) {
      std::size_t slot = ComputeHash(calls_[i].parent, calls_[i].node) & (slots_.size() - 1);
      while (slots_[slot] != 0) {
        slot = (slot + 1) & (slots_.size() - 1);
      }
      slots_[slot] = i;
    }
  }

  NodeSpace& space_;
  FlameBuckets* buckets_;
  std::vector<Call> calls_;
  std::vector<std::uint32_t> slots_;  // open addressing: call, 0 = free; a power of two
};

// Makes rows of the tree, callers first.
class RowMaker {
 public:
  RowMaker(std::vector<Call> calls, NodeSpace& space, const FlameBuckets* buckets,
           const FlameQuery& query, FlameAnswer& answer)
      : calls_(std::move(calls)),
        frames_(calls_.size()),
        smaller_(space.Intern(kSmaller, "", 0)),
        space_(space),
        buckets_(buckets),
        query_(query),
        answer_(answer),
        begins_(frames_ + 1) {
    for (std::size_t i = 1; i < frames_; ++i) {
      ++begins_[calls_[i].parent + 1];
    }
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    children_.resize(frames_ - 1);
    std::vector<std::size_t> next = begins_;
    for (std::uint32_t i = 1; i < frames_; ++i) {
      children_[next[calls_[i].parent]++] = i;
    }
    least_ = static_cast<double>(calls_[kRoot].width) * query.min_share;
  }

  void Make() {
    struct Waiting {
      std::uint32_t call;
      std::int64_t parent;
      std::int64_t begin;
    };
    std::vector<Waiting> waiting{{kRoot, -1, 0}};
    std::vector<Waiting> next;
    while (!waiting.empty()) {
      const Waiting at = waiting.back();
      waiting.pop_back();
      const std::int64_t row = AddRow(at.call, at.parent, at.begin);
      next.clear();
      std::int64_t begin = at.begin;
      for (const std::uint32_t child : Callees(at.call, row)) {
        next.push_back({child, row, begin});
        begin = SaturatingAdd(begin, calls_[child].width);
      }
      waiting.insert(waiting.end(), next.rbegin(), next.rend());
    }
    // Calls beyond the frames are what "(smaller)" rows stand for.
    answer_.frames_left_out =
        static_cast<std::int64_t>(calls_.size()) - static_cast<std::int64_t>(answer_.rows.size());
  }

 private:
  [[nodiscard]] std::string_view ToName(std::uint32_t call) const {
    const std::string_view name = space_.Name(calls_[call].node);
    return name.empty() ? space_.File(calls_[call].node) : name;
  }

  // The callees to show, in their order; what is too deep is noted in the caller's row.
  [[nodiscard]] std::vector<std::uint32_t> Callees(std::uint32_t call, std::int64_t row) {
    std::vector<std::uint32_t> shown;
    if (call >= frames_) {
      return shown;
    }
    FlameRow& caller = answer_.rows[static_cast<std::size_t>(row)];
    const bool deep = query_.depth > 0 && caller.depth >= static_cast<std::int64_t>(query_.depth);
    Call rest{.parent = call, .node = smaller_};
    for (std::size_t i = begins_[call]; i < begins_[call + 1]; ++i) {
      const Call& callee = calls_[children_[i]];
      if (deep) {
        caller.left_out = SaturatingAdd(caller.left_out, callee.total);
      } else if (static_cast<double>(callee.width) >= least_) {
        shown.push_back(children_[i]);
      } else {
        rest.total = SaturatingAdd(rest.total, callee.total);
        rest.base = SaturatingAdd(rest.base, callee.base);
        rest.width = SaturatingAdd(rest.width, callee.width);
      }
    }
    SortByName(shown);
    if (rest.width > 0) {
      rest.self = rest.total;
      rest.base_self = rest.base;
      shown.push_back(static_cast<std::uint32_t>(calls_.size()));
      calls_.push_back(rest);
    }
    return shown;
  }

  void SortByName(std::vector<std::uint32_t>& calls) const {
    std::sort(calls.begin(), calls.end(), [this](std::uint32_t a, std::uint32_t b) {
      const auto key = [this](std::uint32_t call) {
        return std::tuple(ToName(call), space_.File(calls_[call].node), calls_[call].line, call);
      };
      return key(a) < key(b);
    });
  }

  std::int64_t AddRow(std::uint32_t at, std::int64_t parent, std::int64_t begin) {
    const Call& call = calls_[at];
    FlameRow row{.id = static_cast<std::int64_t>(answer_.rows.size()),
                 .name = kAll,
                 .bytes = call.total,
                 .self = call.self,
                 .begin = begin,
                 .width = call.width};
    if (parent >= 0) {
      row.parent = parent;
      row.depth = answer_.rows[static_cast<std::size_t>(parent)].depth + 1;
      row.name = ToName(at);
      row.file = space_.File(call.node);
      row.line = call.line;
    }
    if (answer_.difference) {
      row.base_bytes = call.base;
      row.base_self = call.base_self;
    }
    if (const auto most = buckets_ == nullptr ? std::nullopt : buckets_->Of(at)) {
      row.bucket = most->name;
      row.bucket_bytes = most->bytes;
    }
    answer_.levels = std::max(answer_.levels, row.depth);
    answer_.rows.push_back(row);
    return row.id;
  }

  std::vector<Call> calls_;  // frames, then what "(smaller)" rows stand for
  std::size_t frames_;
  NodeId smaller_;
  const NodeSpace& space_;
  const FlameBuckets* buckets_;
  const FlameQuery& query_;
  FlameAnswer& answer_;
  std::vector<std::size_t> begins_;
  std::vector<std::uint32_t> children_;
  double least_ = 0;
};

}  // namespace

std::optional<std::int64_t> FlameRow::change() const {
  return base_bytes ? std::optional(SaturatingSubtract(bytes, *base_bytes)) : std::nullopt;
}

FlameAnswer Flame(const std::vector<Selection>& bases, const std::vector<Selection>& inputs,
                  const FlameQuery& query) {
  FlameAnswer answer{.difference = !bases.empty(), .buckets = query.keywords != nullptr};
  const auto space = std::make_shared<NodeSpace>();
  std::optional<FlameBuckets> split;
  if (query.keywords != nullptr) {
    split.emplace(*query.keywords);
  }
  FlameBuckets* buckets = split ? &*split : nullptr;
  CallTree tree(*space, buckets);
  const auto add = [&](const std::vector<Selection>& side, bool base) {
    for (const Selection& selection : side) {
      answer.head.Add(selection);
      tree.Add(selection, query.granularity, base);
    }
  };
  add(bases, true);
  add(inputs, false);
  tree.Finish();
  std::vector<Call> calls = std::move(tree).TakeCalls();
  const Call& root = calls[kRoot];
  answer.total = root.total;
  answer.base_total = root.base;
  answer.width = root.width;
  RowMaker(std::move(calls), *space, buckets, query, answer).Make();
  answer.names = space;
  return answer;
}

AnswerView MakeView(const FlameAnswer& answer) {
  std::vector<Field<FlameRow>> fields(kFlameFields.begin(), kFlameFields.end());
  if (!answer.buckets) {
    std::erase_if(fields, [](const Field<FlameRow>& field) { return field.type.ends_with("?"); });
  }
  return ViewRows<FlameRow>(answer.head,
                            {{"difference", answer.difference},
                             {"total", answer.total},
                             {"base_total", answer.difference ? Value(answer.base_total) : Value()},
                             {"frames_left_out", answer.frames_left_out}},
                            answer.rows, std::move(fields));
}

}  // namespace memtool
