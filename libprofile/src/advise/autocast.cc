#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "memtool/profile/advise/operators.h"
#include "memtool/profile/advise/step_edits.h"

namespace memtool::advise {

namespace {

using Kind = whatif::Request::Kind;

constexpr std::uint32_t kNone = UINT32_MAX;

// What a pass computed, as far as it is alive.
class Alive {
 public:
  explicit Alive(const Program& program) : program_(program) {}

  void Add(std::uint32_t row) {
    all_.push_back(row);
    by_size_[program_.blocks[row].size].push_back(row);
  }
  // kNone for none.
  std::uint32_t Newest(Time at) { return Newest(all_, at); }
  std::uint32_t Newest(std::int64_t size, Time at) { return Newest(by_size_[size], at); }
  template <typename Is>
  std::uint32_t NewestThat(std::int64_t size, Time at, Is is) const {
    const auto rows = by_size_.find(size);
    if (rows == by_size_.end()) {
      return kNone;
    }
    const auto found =
        std::find_if(rows->second.rbegin(), rows->second.rend(),
                     [&](std::uint32_t row) { return program_.blocks[row].freed > at && is(row); });
    return found == rows->second.rend() ? kNone : *found;
  }

 private:
  std::uint32_t Newest(std::vector<std::uint32_t>& rows, Time at) const {
    while (!rows.empty() && program_.blocks[rows.back()].freed <= at) {
      rows.pop_back();
    }
    return rows.empty() ? kNone : rows.back();
  }

  const Program& program_;
  std::vector<std::uint32_t> all_;
  std::map<std::int64_t, std::vector<std::uint32_t>> by_size_;
};

// A product of the forward, and what its backward makes: gradients of its two inputs, which are as
// large as these.
struct Product {
  std::uint32_t output = kNone;
  std::uint32_t gradients[2] = {kNone, kNone};
};

class Autocaster {
 public:
  Autocaster(const Program& program, const Operators& operators)
      : program_(program),
        operators_(operators),
        passes_(FindPasses(program)),
        begin_(passes_.front().begin),
        splice_(program),
        half_(program.blocks.size(), 0),
        reads_half_(program.blocks.size(), 0),
        product_of_(program.blocks.size(), kNone),
        alive_(program),
        next_(NextAllocations([](Operator) { return true; })),
        next_no_sum_(NextAllocations([](Operator one) { return one != Operator::kSum; })),
        next_no_single_(NextAllocations([](Operator one) { return one != Operator::kSingle; })) {}

  std::optional<Program> Run() {
    Time begin = 0;
    for (const Pass& pass : passes_) {
      FindProducts(begin, pass);
      begin = pass.end;
    }
    if (products_.empty()) {
      return std::nullopt;
    }
    for (Time i = begin_; i < program_.operations.size(); ++i) {
      const Operation& operation = program_.operations[i];
      const Block& block = program_.blocks[operation.block];
      const bool computes = block.phase == Phase::kForward || block.phase == Phase::kBackward ||
                            block.phase == Phase::kRecompute;
      if (operation.kind == Kind::kAllocate && computes && block.size >= kSmallBlock) {
        Take(operation.block);
      }
    }
    return splice_.Finish();
  }

 private:
  [[nodiscard]] Operator OperatorOf(const Block& block) const {
    return block.stack.valid() ? operators_.of_stacks[block.stack.value()] : Operator::kUnknown;
  }

  // Backward goes through the products of the forward in reverse, and makes two of each: one of the
  // first, whose input needs no gradient.
  void FindProducts(Time begin, const Pass& pass) {
    std::vector<std::uint32_t> forward;
    std::vector<std::uint32_t> backward;
    for (Time i = begin; i < pass.end; ++i) {
      const Operation& operation = program_.operations[i];
      const Block& block = program_.blocks[operation.block];
      if (operation.kind == Kind::kAllocate && block.size >= kSmallBlock && block.freed > i + 1 &&
          OperatorOf(block) == Operator::kProduct) {
        (block.phase == Phase::kForward ? forward : backward).push_back(operation.block);
      }
    }
    if (backward.size() + 1 < 2 * forward.size() || backward.size() > 2 * forward.size()) {
      return;
    }
    for (std::size_t i = 0; i < forward.size(); ++i) {
      Product product{.output = forward[forward.size() - 1 - i]};
      product_of_[product.output] = static_cast<std::uint32_t>(products_.size());
      for (std::size_t side = 0; side < 2 && 2 * i + side < backward.size(); ++side) {
        product.gradients[side] = backward[2 * i + side];
        product_of_[backward[2 * i + side]] = product_of_[product.output];
      }
      products_.push_back(product);
    }
    if (!forward.empty()) {
      begin_ = std::min(begin_, program_.blocks[forward.front()].made);
    }
  }

  [[nodiscard]] bool IsOfParameter(const Block& block) const {
    const auto pass = std::upper_bound(passes_.begin(), passes_.end(), block.made,
                                       [](Time time, const Pass& one) { return time < one.begin; });
    return block.phase == Phase::kBackward && pass != passes_.begin() &&
           block.freed > std::prev(pass)->end;
  }

  void Take(std::uint32_t row) {
    const Block& block = program_.blocks[row];
    switch (OperatorOf(block)) {
      case Operator::kProduct:
        TakeProduct(row);
        break;
      case Operator::kPart:
        half_[row] = 1;
        break;
      case Operator::kFused:
        half_[row] = IsSum(block) ? 0 : 1;
        break;
      case Operator::kSingle:
        TakeSingle(row);
        break;
      case Operator::kLogits:
        TakeLogits(row);
        break;
      case Operator::kLogitsBackward:
        TakeLogitsBackward(row);
        break;
      case Operator::kWidest: {
        const std::uint32_t wide =
            alive_.NewestThat(block.size, block.made,
                              [this](std::uint32_t other) { return reads_half_[other] == 0; });
        half_[row] = wide == kNone ? ReadsHalf(alive_.Newest(block.made)) : char{0};
        break;
      }
      case Operator::kSame:
        half_[row] = ReadsHalf(alive_.Newest(block.made));
        break;
      default:
        return;
    }
    half_[row] = IsOfParameter(block) ? char{0} : half_[row];
    reads_half_[row] = std::max(reads_half_[row], half_[row]);
    if (half_[row] != 0) {
      splice_.Resize(row, block.size / 2);
    }
    alive_.Add(row);
  }

  // In the forward its input is cast while it runs; in the backward what it makes is cast back.
  void TakeSingle(std::uint32_t row) {
    const Block& block = program_.blocks[row];
    if (block.phase == Phase::kForward) {
      const std::uint32_t input = alive_.Newest(block.size, block.made);
      if (ReadsHalf(input) != 0) {
        splice_.Free(block.made + 1, splice_.Make(block.made, block));
        cast_.insert(row);
      }
      return;
    }
    const std::uint32_t forward =
        alive_.NewestThat(block.size, block.made, [this](std::uint32_t other) {
          return program_.blocks[other].phase == Phase::kForward &&
                 OperatorOf(program_.blocks[other]) == Operator::kSingle;
        });
    const Time next = next_no_single_[block.made];
    if (forward != kNone && cast_.contains(forward) && block.freed > next) {
      Narrow(row, next);
    }
  }

  // A block in single precision is cast at `at`, and what reads it later reads the copy.
  void Narrow(std::uint32_t row, Time at) {
    const Block& block = program_.blocks[row];
    Block half = block;
    half.size /= 2;
    const std::uint32_t copy = splice_.Make(at, half);
    splice_.MoveFree(row, at);
    splice_.Free(block.freed, copy);
    reads_half_[row] = 1;
  }

  // Per row of attention, where its other blocks have a row of values.
  [[nodiscard]] bool IsSum(const Block& block) {
    constexpr std::int64_t kLeastHead = 16;  // values of a head
    const std::uint32_t beside = alive_.Newest(block.made);
    return beside != kNone && block.size <= program_.blocks[beside].size / kLeastHead;
  }

  void TakeLogits(std::uint32_t row) {
    const Block& block = program_.blocks[row];
    half_[row] = ReadsHalf(alive_.Newest(block.made));
    if (half_[row] != 0) {
      logits_[block.size] = splice_.Make(block.made + 1, block);
    }
  }

  // The loss's gradient came in single precision, and its input goes.
  void TakeLogitsBackward(std::uint32_t row) {
    const Block& block = program_.blocks[row];
    const auto logits = logits_.find(block.size);
    const std::uint32_t incoming = alive_.Newest(block.size, block.made - 1);
    if (logits == logits_.end() || incoming == kNone) {
      return;
    }
    half_[row] = 1;
    splice_.Free(program_.blocks[incoming].made + 1, logits->second);
    logits_.erase(logits);
    if (half_[incoming] == 0 && program_.blocks[incoming].freed > block.made) {
      Narrow(incoming, block.made);
    }
  }

  void TakeProduct(std::uint32_t row) {
    const Block& block = program_.blocks[row];
    if (product_of_[row] == kNone) {
      half_[row] = block.freed == kNever ? 0 : 1;  // a workspace
      return;
    }
    const Product& product = products_[product_of_[row]];
    if (row == product.output) {
      half_[row] = 1;
      Cast(product);
    } else {
      TakeGradient(row, product);
    }
  }

  // Copies of what goes in, for the backward: of parameters, and of what is in single precision,
  // which then is not kept for it.
  void Cast(const Product& product) {
    const Time at = program_.blocks[product.output].made;
    const Time done = BehindGradients(product);
    for (const std::uint32_t gradient : product.gradients) {
      if (gradient == kNone) {
        continue;
      }
      const Block& of = program_.blocks[gradient];
      const std::uint32_t input = IsOfParameter(of) ? kNone : alive_.Newest(of.size, at - 1);
      if (!IsOfParameter(of) && ReadsHalf(input) != 0) {
        continue;
      }
      Block copy = program_.blocks[product.output];
      copy.size = of.size / 2;
      splice_.Free(done, splice_.Make(at, copy));
      cast_.insert(gradient);
      if (input != kNone && IsFreedBy(input, product)) {
        splice_.MoveFree(input, next_[next_[next_[at] + 1] + 1]);
      }
    }
  }

  void TakeGradient(std::uint32_t row, const Product& product) {
    const Block& block = program_.blocks[row];
    const Block& output = program_.blocks[product.output];
    const bool first = row == product.gradients[0];
    const std::uint32_t incoming = alive_.Newest(output.size, block.made - 1);
    if (first && incoming != kNone && ReadsHalf(incoming) == 0 &&
        program_.blocks[incoming].phase != Phase::kForward) {
      Block copy = block;
      copy.size = output.size / 2;
      splice_.Free(BehindGradients(product), splice_.Make(block.made, copy));
    }
    half_[row] = cast_.contains(row) ? 0 : 1;
    if (half_[row] == 0) {  // made in half, and then what it is the gradient of
      Block half = block;
      half.size = block.size / 2;
      splice_.Free(block.made + 1, splice_.Make(block.made, half));
    }
  }

  [[nodiscard]] Time BehindGradients(const Product& product) const {
    const std::uint32_t last =
        product.gradients[1] != kNone ? product.gradients[1] : product.gradients[0];
    return last == kNone ? kNever : program_.blocks[last].made + 1;
  }
  // The backward of this product, which ends with the sum of a bias's gradient, is the last that
  // needs it.
  [[nodiscard]] bool IsFreedBy(std::uint32_t input, const Product& product) const {
    const Block& block = program_.blocks[input];
    return product.gradients[0] != kNone && block.freed != kNever &&
           block.freed > program_.blocks[product.gradients[0]].made &&
           block.freed <= next_no_sum_[BehindGradients(product)];
  }
  // Per time, the next allocation that `is`, at it or later.
  template <typename Is>
  [[nodiscard]] std::vector<Time> NextAllocations(Is is) const {
    const auto count = static_cast<Time>(program_.operations.size());
    std::vector<Time> next(count + 2, count);
    for (Time i = count; i-- > 0;) {
      const Operation& operation = program_.operations[i];
      const bool found =
          operation.kind == Kind::kAllocate && is(OperatorOf(program_.blocks[operation.block]));
      next[i] = found ? i : next[i + 1];
    }
    return next;
  }
  [[nodiscard]] char ReadsHalf(std::uint32_t row) const {
    return row == kNone ? char{0} : reads_half_[row];
  }

  const Program& program_;
  const Operators& operators_;
  const std::vector<Pass> passes_;
  Time begin_;  // of the first forward
  Splice splice_;
  std::vector<char> half_;                 // per block: it is made so
  std::vector<char> reads_half_;           // per block: what comes of it is
  std::vector<std::uint32_t> product_of_;  // per block: row of products_
  std::vector<Product> products_;
  std::map<std::int64_t, std::uint32_t> logits_;  // by size: in single precision, for the loss
  std::set<std::uint32_t> cast_;                  // gradients of inputs that were cast
  Alive alive_;
  // Per time: the next allocation, one that is no sum, and one that is in no single precision.
  std::vector<Time> next_;
  std::vector<Time> next_no_sum_;
  std::vector<Time> next_no_single_;
};

}  // namespace

std::optional<Program> Autocast(const Program& program, const Operators& operators) {
  return FindPasses(program).empty() ? std::nullopt : Autocaster(program, operators).Run();
}

}  // namespace memtool::advise
