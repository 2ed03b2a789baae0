// Autocast on programs of a few operators, whose sizes can be added up by hand. corpus.advise
// compares it with a recording of a card.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "memtool/profile/advise/operators.h"

namespace memtool::advise {
namespace {

using Kind = whatif::Request::Kind;
constexpr std::int64_t kMiB = std::int64_t{1} << 20U;

// A program as it is written down; the stack of each block is its operator.
class Script {
 public:
  std::uint32_t Make(std::int64_t size, Operator what, Phase phase) {
    const auto row = static_cast<std::uint32_t>(program_.blocks.size());
    program_.blocks.push_back(
        {.size = size, .stack = StackId(static_cast<std::uint32_t>(what)), .phase = phase});
    program_.operations.push_back({.kind = Kind::kAllocate, .block = row});
    return row;
  }
  std::uint32_t Forward(std::int64_t size, Operator what) {
    return Make(size, what, Phase::kForward);
  }
  std::uint32_t Backward(std::int64_t size, Operator what) {
    return Make(size, what, Phase::kBackward);
  }
  void Free(std::uint32_t block) {
    program_.operations.push_back({.kind = Kind::kFreeCompleted, .block = block});
  }
  // The optimizer's step, which the gradient of a parameter outlives no more.
  void Step(std::uint32_t gradient) {
    Make(kMiB, Operator::kUnknown, Phase::kOptimizer);
    Free(gradient);
  }
  [[nodiscard]] Program Take() const { return Splice(program_).Finish(); }

  static Operators All() {
    Operators operators{.any = true};
    for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(Operator::kSame); ++i) {
      operators.of_stacks.push_back(static_cast<Operator>(i));
    }
    return operators;
  }

 private:
  Program program_;
};

std::int64_t PeakOf(const Program& program) {
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (const Operation& operation : program.operations) {
    const std::int64_t size = program.blocks[operation.block].size;
    live += operation.kind == Kind::kAllocate ? size : -size;
    peak = std::max(peak, live);
  }
  EXPECT_GE(live, 0);
  return peak;
}

// A norm, a linear layer of it and an activation; and their backward.
Program Layer(std::int64_t values, std::int64_t parameter) {
  Script script;
  const auto norm = script.Forward(values, Operator::kSingle);
  const auto linear = script.Forward(values, Operator::kProduct);
  const auto active = script.Forward(values, Operator::kSame);
  const auto loss = script.Backward(values, Operator::kSame);
  script.Free(linear);
  script.Free(active);
  const auto input = script.Backward(values, Operator::kProduct);
  const auto gradient = script.Backward(parameter, Operator::kProduct);
  script.Free(loss);
  script.Free(norm);
  const auto normed = script.Backward(values, Operator::kSingle);
  script.Free(input);
  script.Free(normed);
  script.Step(gradient);
  return script.Take();
}

TEST(Autocast, ActivationsAreHalfAndCopiesOfWhatGoesInAreKept) {
  const Program program = Layer(64 * kMiB, 4 * kMiB);
  const auto changed = Autocast(program, Script::All());
  ASSERT_TRUE(changed);
  // Norm, linear layer, activation and the loss's gradient.
  EXPECT_EQ(PeakOf(program), 256 * kMiB);
  // Copies of the norm and the parameter, linear layer and activation in half. The norm itself goes
  // three allocations later, before the gradient.
  EXPECT_EQ(PeakOf(*changed), (64 + 32 + 2 + 32 + 32) * kMiB);
}

TEST(Autocast, CopiesOfParametersMayTakeMoreThanIsSaved) {
  const Program program = Layer(kMiB, 64 * kMiB);
  const auto changed = Autocast(program, Script::All());
  ASSERT_TRUE(changed);
  EXPECT_EQ(PeakOf(program), (1 + 1 + 1 + 64) * kMiB);
  EXPECT_GT(PeakOf(*changed), PeakOf(program) + 32 * kMiB - 2 * kMiB)
      << "the copy, and the gradient in half before the one in single precision";
}

TEST(Autocast, WithoutProductsThatBelongTogetherThereIsNothingToSay) {
  Script script;
  const auto product = script.Forward(64 * kMiB, Operator::kProduct);
  const auto other = script.Forward(64 * kMiB, Operator::kProduct);
  script.Backward(64 * kMiB, Operator::kProduct);
  script.Free(product);
  script.Free(other);
  EXPECT_FALSE(Autocast(script.Take(), Script::All()));
}

TEST(Autocast, LossesOfLogitsAreMadeOnceMoreInSinglePrecision) {
  Script script;
  const auto logits = script.Forward(64 * kMiB, Operator::kProduct);
  const auto logarithms = script.Forward(64 * kMiB, Operator::kLogits);
  script.Free(logits);
  const auto loss = script.Backward(64 * kMiB, Operator::kSingle);
  const auto back = script.Backward(64 * kMiB, Operator::kLogitsBackward);
  script.Free(loss);
  script.Free(logarithms);
  const auto input = script.Backward(kMiB, Operator::kProduct);
  const auto gradient = script.Backward(kMiB, Operator::kProduct);
  script.Free(back);
  script.Free(input);
  script.Step(gradient);
  const Program program = script.Take();
  const auto changed = Autocast(program, Script::All());
  ASSERT_TRUE(changed);
  const auto is = [](std::int64_t size) {
    return [size](const Block& block) { return block.made != kNever && block.size == size; };
  };
  const auto count = [&](std::int64_t size) {
    return std::count_if(changed->blocks.begin(), changed->blocks.end(), is(size));
  };
  EXPECT_EQ(count(64 * kMiB), 2) << "the logarithms for the loss, and its gradient";
  EXPECT_EQ(count(32 * kMiB), 4) << "logits, logarithms, and the gradients of both";
}

}  // namespace
}  // namespace memtool::advise
