// What was there before a recording, by the sizes that training steps show: histories are made by a
// program whose blocks are known, and what the analysis says of each is compared.
#include "memtool/profile/replay/base_kinds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/replay/history_index.h"
#include "support/make_history.h"

namespace memtool {
namespace {

using Basis = BaseKinds::Basis;
using Confidence = BaseKinds::Confidence;
using Kind = BaseKind;

// Sizes as a model has them: many that are equal, some that are not.
std::vector<std::int64_t> ModelSizes(int layers) {
  std::vector<std::int64_t> sizes{40'960'000, 4096};
  for (int layer = 0; layer < layers; ++layer) {
    sizes.insert(sizes.end(), {4'194'304, 4'194'304, 16'777'216, 4096});
  }
  return sizes;
}

struct Options {
  int steps = 2;
  int states = 0;           // blocks of the optimizer for each parameter
  bool set_to_none = true;  // gradients are freed after a step, else kept and added to
  int passes = 1;           // in each step; all but the first add
  std::int64_t wide = 1;    // size of state, in the parameter's
  bool native = true;       // stacks show autograd; else its threads have none
  std::string_view file = "/sp/torch/optim/adamw.py";
  bool replaces = false;      // the optimizer frees its state and allocates it anew
  bool first_step = false;    // state is made in the recording
  bool frees = true;          // they have stacks
  bool grads_before = false;  // the recording begins between backward and zero_grad
};

// A training run from the middle on.
class Program {
 public:
  explicit Program(Options options) : options_(options) {
    forward_ = Stack({{"forward", "model.py"}, {"main", "train.py"}});
    engine_ =
        options.native
            ? Stack({{"MmBackward0::apply", "??"}, {"torch::autograd::Engine::thread_main", "??"}})
            : builder_.AddStack({});
    accumulate_ = options.native ? Stack({{"torch::autograd::AccumulateGrad::apply", "??"}})
                                 : builder_.AddStack({});
    optimizer_ = Stack({{"step", options.file}, {"main", "train.py"}});
    zero_grad_ = Stack({{"zero_grad", "/sp/torch/optim/optimizer.py"}, {"main", "train.py"}});
    other_ = Stack({{"load", "other.py"}});
  }

  struct Block {
    std::uint64_t address = 0;
    std::int64_t size = 0;
    std::optional<Kind> truth{};  // of blocks from before the recording
  };

  void Before(std::int64_t size, Kind truth) { base_.push_back(Made(size, truth)); }
  void BeforeAll(const std::vector<std::int64_t>& sizes, Kind truth) {
    for (const std::int64_t size : sizes) {
      Before(size, truth);
    }
  }
  Block Alloc(std::int64_t size, StackId stack) {
    const Block block = Made(size, {});
    events_.push_back(
        {.key = block.address, .size = size, .stack = stack, .action = Action::kAlloc});
    return block;
  }
  void Free(const Block& block, StackId stack) {
    for (const Action action : {Action::kFreeRequested, Action::kFreeCompleted}) {
      events_.push_back({.key = block.address,
                         .size = block.size,
                         .stack = options_.frees ? stack : StackId(),
                         .action = action});
    }
    freed_.push_back(block.address);
  }

  // Steps of a model whose parameters with gradients have these sizes.
  void Train(const std::vector<std::int64_t>& sizes) {
    std::vector<Block> states;
    std::vector<Block> gradients;
    if (!options_.first_step) {
      for (int i = 0; i < options_.states; ++i) {
        for (const std::int64_t size : sizes) {
          Before(size * options_.wide, Kind::kOptimizerState);
          states.push_back(base_.back());
        }
      }
    }
    if (!options_.set_to_none || options_.grads_before) {
      for (const std::int64_t size : sizes) {
        Before(size, Kind::kGradient);
        gradients.push_back(base_.back());
      }
    }
    for (int step = 0; step < options_.steps; ++step) {
      if (options_.grads_before || step > 0) {
        ZeroGrad(gradients);
      }
      for (int pass = 0; pass < options_.passes; ++pass) {
        Pass(sizes, gradients);
      }
      Step(sizes, states);
    }
  }

  // "kind count of bytes" for each, of what was there before; and whether each block's is true: a
  // block may stand for another of its size, so sums per size and kind are compared.
  struct Found {
    BaseKinds kinds;
    std::string wrong;  // the first size whose blocks are not what they are said to be
    std::map<Kind, std::uint64_t> count;
  };
  Found Look() {
    std::vector<memtool::Block> blocks;
    for (const Block& block : all_) {
      if (std::find(freed_.begin(), freed_.end(), block.address) == freed_.end()) {
        blocks.push_back({.address = block.address,
                          .size = block.size,
                          .requested = block.size,
                          .state = BlockState::kActive});
      }
    }
    const HistoryIndex index(test::MakeRecording(test::BuildHistory(events_),
                                                 test::InOneSegment(std::move(blocks), 0),
                                                 std::move(builder_)));
    const Trace& trace = index.history().traces[0];
    Found found{.kinds = BaseKinds(index.recording(), trace, index.replay(trace)),
                .wrong = {},
                .count = {}};
    std::map<std::pair<std::int64_t, Kind>, int> balance;
    for (const LiveBlock& block : index.replay(trace).LiveAt(-1)) {
      const Kind kind = found.kinds.Of(block, trace);
      ++balance[{block.size, kind}];
      ++found.count[kind];
    }
    for (const Block& block : base_) {
      --balance[{block.size, *block.truth}];
    }
    for (const auto& [key, difference] : balance) {
      if (difference != 0 && found.wrong.empty()) {
        found.wrong = fmt::format("{:+} of {} B called '{}'", difference, key.first,
                                  BaseKindName(key.second));
      }
    }
    return found;
  }

  StackId forward_, engine_, accumulate_, optimizer_, zero_grad_, other_;

 private:
  StackId Stack(const std::vector<std::pair<std::string_view, std::string_view>>& frames) {
    std::vector<LocationId> locations;
    for (const auto& [name, file] : frames) {
      const StringId text = builder_.Intern(name);
      const Line line{.function = builder_.AddFunction(
                          {.name = text, .system_name = text, .filename = builder_.Intern(file)})};
      locations.push_back(builder_.AddLocation({}, std::array{line}));
    }
    return builder_.AddStack(locations);
  }
  Block Made(std::int64_t size, std::optional<Kind> truth) {
    all_.push_back({.address = next_, .size = size, .truth = truth});
    next_ += static_cast<std::uint64_t>(size);
    return all_.back();
  }

  void ZeroGrad(std::vector<Block>& gradients) {
    if (options_.set_to_none) {
      for (const Block& gradient : gradients) {
        Free(gradient, zero_grad_);
      }
      gradients.clear();
    }
  }
  // A forward whose activations the backward frees, which makes scratch of its own, too.
  void Pass(const std::vector<std::int64_t>& sizes, std::vector<Block>& gradients) {
    std::vector<Block> activations;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      activations.push_back(Alloc(1'000'000 + static_cast<std::int64_t>(i % 5), forward_));
    }
    const bool fresh = gradients.empty();
    for (std::size_t i = sizes.size(); i-- > 0;) {
      const Block scratch = Alloc(777'216, engine_);
      const Block gradient = Alloc(sizes[i], engine_);
      if (fresh) {
        gradients.push_back(gradient);
      } else {
        Free(gradient, accumulate_);
      }
      Free(scratch, engine_);
      Free(activations[i], engine_);
    }
  }
  void Step(const std::vector<std::int64_t>& sizes, std::vector<Block>& states) {
    if (options_.first_step && states.empty()) {
      for (int i = 0; i < options_.states; ++i) {
        for (const std::int64_t size : sizes) {
          states.push_back(Alloc(size * options_.wide, optimizer_));
        }
      }
    }
    for (const std::int64_t size : sizes) {
      Free(Alloc(size, optimizer_), optimizer_);
    }
    for (Block& state : states) {
      if (options_.replaces) {
        const Block anew = Alloc(state.size, optimizer_);
        Free(state, optimizer_);
        state = anew;
      }
    }
  }

  Options options_;
  RecordingBuilder builder_;
  std::vector<Event> events_;
  std::vector<Block> base_;
  std::vector<Block> all_;
  std::vector<std::uint64_t> freed_;
  std::uint64_t next_ = 0x7f0000000000;
};

// Parameters and state are there before, and the run goes on.
Program::Found Training(Options options, int layers = 6) {
  Program program(options);
  program.BeforeAll(ModelSizes(layers), Kind::kParameter);
  program.Train(ModelSizes(layers));
  return program.Look();
}

TEST(BaseKinds, GradientsShowTheParameters) {
  const auto found = Training({.file = "/sp/torch/optim/sgd.py"});
  EXPECT_EQ(found.wrong, "");
  EXPECT_EQ(found.kinds.basis, Basis::kOutlive);
  EXPECT_EQ(found.kinds.parameters, Confidence::kHigh);
  EXPECT_EQ(found.kinds.gradients, 26U);
  EXPECT_EQ(found.kinds.matched, 26U);
  EXPECT_EQ(found.kinds.states, 0U);
  EXPECT_EQ(found.kinds.other_copies, 0U);
}

TEST(BaseKinds, AnOptimizerKeepsOneOrTwoOfEach) {
  const auto momentum = Training({.states = 1, .file = "/sp/torch/optim/sgd.py"});
  EXPECT_EQ(momentum.wrong, "");
  EXPECT_EQ(momentum.kinds.states, 1U);
  EXPECT_EQ(momentum.kinds.optimizer,
            Confidence::kMedium);  // a copy of the model has the same sizes
  EXPECT_EQ(momentum.kinds.optimizer_name, "sgd");
  const auto adam = Training({.states = 2});
  EXPECT_EQ(adam.wrong, "");
  EXPECT_EQ(adam.kinds.states, 2U);
  EXPECT_EQ(adam.kinds.optimizer, Confidence::kHigh);
  // Nothing names the optimizer: two more of each are Adam's, one more is anybody's.
  const auto two = Training({.states = 2, .file = "/home/me/opt.py"});
  EXPECT_EQ(two.wrong, "");
  EXPECT_EQ(two.kinds.optimizer, Confidence::kMedium);
  const auto one = Training({.states = 1, .file = "/home/me/opt.py"});
  EXPECT_EQ(one.kinds.states, 0U);
  EXPECT_EQ(one.kinds.other_copies, 1U);
  EXPECT_EQ(one.count.at(Kind::kUnknown), 26U);
  EXPECT_EQ(one.count.at(Kind::kParameter), 26U);
}

TEST(BaseKinds, WhatTheOptimizerReplacesIsItsState) {
  for (int states = 1; states <= 3; ++states) {
    const auto known =
        Training({.states = states, .file = "/sp/torch/optim/optimizer.py", .replaces = true});
    EXPECT_EQ(known.wrong, "");
    EXPECT_EQ(known.kinds.replaced, 26U * static_cast<unsigned>(states));
    EXPECT_EQ(known.kinds.optimizer, Confidence::kHigh);
  }
  // What code that is no optimizer's replaces is not known.
  const auto other = Training({.states = 1, .file = "/me/mine.py", .replaces = true});
  EXPECT_EQ(other.kinds.states, 0U);
  EXPECT_EQ(other.count.at(Kind::kUnknown), 26U);
}

TEST(BaseKinds, StateOfTheFirstStepIsNotThereBefore) {
  const auto found = Training({.states = 2, .first_step = true});
  EXPECT_EQ(found.wrong, "");
  EXPECT_EQ(found.kinds.states, 0U);
}

TEST(BaseKinds, SixteenBitsHaveStateOfThirtyTwo) {
  const auto copies = Training({.states = 3, .wide = 2});
  EXPECT_EQ(copies.wrong, "");
  EXPECT_TRUE(copies.kinds.wide);
  EXPECT_EQ(copies.kinds.states, 3U);
  EXPECT_EQ(copies.kinds.optimizer, Confidence::kHigh);
  EXPECT_EQ(Training({.states = 2, .wide = 2}).wrong, "");
  const auto unnamed = Training({.states = 3, .wide = 2, .file = "/me/opt.py"});
  EXPECT_EQ(unnamed.wrong, "");
  EXPECT_EQ(unnamed.kinds.optimizer, Confidence::kMedium);
}

TEST(BaseKinds, GradientsThatAreKeptAreThereBefore) {
  for (const int states : {0, 2}) {
    const auto found = Training({.states = states, .set_to_none = false});
    EXPECT_EQ(found.wrong, "");
    EXPECT_EQ(found.kinds.basis, Basis::kAccumulated);
    EXPECT_EQ(found.kinds.parameters, Confidence::kHigh);
    // Without native frames only the counts of a pass show it.
    const auto python = Training({.states = states, .set_to_none = false, .native = false});
    EXPECT_EQ(python.wrong, "");
    EXPECT_EQ(python.kinds.basis, Basis::kMultiples);
    EXPECT_EQ(python.kinds.parameters, Confidence::kMedium);
  }
}

TEST(BaseKinds, GradientsOfOneStepAreFreedBeforeTheNext) {
  for (const bool native : {true, false}) {
    const auto found = Training({.states = 2, .native = native, .grads_before = true});
    EXPECT_EQ(found.wrong, "");
    EXPECT_EQ(found.count.at(Kind::kGradient), 26U);
    const auto silent =
        Training({.states = 2, .native = native, .frees = false, .grads_before = true});
    EXPECT_EQ(silent.wrong, "");
  }
  // Nobody says whose it is that goes in the first step, of a state that is made anew.
  const auto anew = Training({.states = 1, .replaces = true, .frees = false});
  EXPECT_EQ(anew.count.at(Kind::kParameter), 26U);
  EXPECT_EQ(anew.count.count(Kind::kGradient), 0U);
}

TEST(BaseKinds, PassesOfOneStepAddUp) {
  for (const bool native : {true, false}) {
    const auto found = Training({.states = 2, .passes = 4, .native = native});
    EXPECT_EQ(found.wrong, "");
    EXPECT_EQ(found.kinds.basis, Basis::kOutlive);
  }
}

TEST(BaseKinds, WhatHasNoGradientStaysUnknown) {
  Program program({.states = 2});
  program.BeforeAll(ModelSizes(6), Kind::kParameter);
  program.BeforeAll({3'000'000, 3'000'512, 9'999'872}, Kind::kUnknown);  // frozen
  program.Train(ModelSizes(6));
  const auto found = program.Look();
  EXPECT_EQ(found.wrong, "");
  EXPECT_EQ(found.count.at(Kind::kUnknown), 3U);
  // A frozen copy of the whole model, too: two are the optimizer's, one nobody's.
  Program copy({.states = 2});
  copy.BeforeAll(ModelSizes(6), Kind::kParameter);
  copy.BeforeAll(ModelSizes(6), Kind::kUnknown);
  copy.Train(ModelSizes(6));
  const auto more = copy.Look();
  EXPECT_EQ(more.wrong, "");
  EXPECT_EQ(more.kinds.other_copies, 1U);
}

// Blocks that happen to have a gradient's size.
TEST(BaseKinds, OthersOfTheSameSizesAreNotTaken) {
  Program program({.states = 2});
  program.BeforeAll(ModelSizes(6), Kind::kParameter);
  program.BeforeAll(std::vector<std::int64_t>(40, 4096), Kind::kUnknown);
  program.BeforeAll(std::vector<std::int64_t>(5, 4'194'304), Kind::kUnknown);
  program.Train(ModelSizes(6));
  EXPECT_EQ(program.Look().wrong, "");

  // The model is made in the recording; before it some of its sizes were there, or all.
  for (const int layers : {1, 6}) {
    Program late({});
    late.BeforeAll(ModelSizes(layers), Kind::kUnknown);
    for (const std::int64_t size : ModelSizes(6)) {
      late.Alloc(size, late.other_);
    }
    late.Train(ModelSizes(6));
    const auto found = late.Look();
    EXPECT_EQ(found.wrong, "");
    EXPECT_EQ(found.kinds.basis, Basis::kNone);
  }
}

TEST(BaseKinds, PartsAreCounted) {
  // A sixth of the gradients has other sizes than the parameters: a fused layer.
  Program program({.states = 0});
  std::vector<std::int64_t> sizes = ModelSizes(6);
  program.BeforeAll(sizes, Kind::kParameter);
  program.BeforeAll({50'000, 50'512, 51'024, 51'536}, Kind::kUnknown);
  sizes.insert(sizes.end(), {150'016, 150'528, 151'040, 151'552});
  program.Train(sizes);
  const auto part = program.Look();
  EXPECT_EQ(part.wrong, "");
  EXPECT_EQ(part.kinds.gradients, 30U);
  EXPECT_EQ(part.kinds.matched, 26U);
  EXPECT_EQ(part.kinds.parameters, Confidence::kMedium);

  // Half of them match by accident: that decides nothing.
  Program half({});
  half.BeforeAll(ModelSizes(2), Kind::kUnknown);
  half.Train(ModelSizes(6));
  const auto nothing = half.Look();
  EXPECT_EQ(nothing.wrong, "");
  EXPECT_EQ(nothing.kinds.basis, Basis::kNone);
}

TEST(BaseKinds, WithoutABackwardPassNothingIsKnown) {
  Program program({});
  program.BeforeAll(ModelSizes(6), Kind::kUnknown);
  program.Before((2 * 4096 + 8 * 16) * 1024, Kind::kWorkspace);
  for (int i = 0; i < 100; ++i) {
    program.Free(program.Alloc(4096, program.forward_), program.forward_);
  }
  const auto found = program.Look();
  EXPECT_EQ(found.wrong, "");
  EXPECT_EQ(found.kinds.basis, Basis::kNone);
}

// Whatever the run, with noise of any sizes: no block that is not is called a parameter or state.
TEST(BaseKinds, NothingIsCalledWhatItIsNot) {
  std::mt19937 random(1);
  const auto below = [&random](int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  };
  int decided = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> sizes;
    for (int i = 4 + below(60); i > 0; --i) {
      sizes.push_back(512 * (1 + below(40)));
    }
    Program program({.steps = 1 + below(3),
                     .states = 2 * below(2),
                     .passes = 1 + below(3),
                     .native = below(2) == 0,
                     .replaces = below(4) == 0,
                     .first_step = below(4) == 0,
                     .grads_before = below(3) == 0});
    program.BeforeAll(sizes, Kind::kParameter);
    for (int i = below(20); i > 0; --i) {
      program.Before(512 * (1 + below(60)), Kind::kUnknown);
    }
    program.Train(sizes);
    const auto found = program.Look();
    decided += found.kinds.basis != Basis::kNone ? 1 : 0;
    // Noise of the same sizes may be missing from Unknown only as far as gradients were taken.
    EXPECT_EQ(found.wrong, "") << round;
  }
  EXPECT_EQ(decided, 200);
}

TEST(BaseKinds, HistoriesOfAnyKindAreRead) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const HistoryIndex index(test::RandomHistory(seed));
    const Trace& trace = index.history().traces[0];
    const BaseKinds kinds(index.recording(), trace, index.replay(trace));
    EXPECT_LE(kinds.matched, kinds.gradients);
  }
}

}  // namespace
}  // namespace memtool
