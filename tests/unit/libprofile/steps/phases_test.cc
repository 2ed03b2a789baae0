#include "memtool/profile/steps/phases.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/make_profile.h"

namespace memtool {
namespace {

// Stacks as test::ProfileMaker takes them: outermost first.
StepPhase GetPhase(const std::string& stack) {
  test::ProfileMaker maker;
  maker.Sample(stack, {1, 1});
  return PhasesOfStacks(maker.Finish()).stacks.at(0).phase;
}

TEST(Phases, ByTheNamesOnTheStack) {
  EXPECT_EQ(GetPhase("main@train.py:1;_call_impl@torch/nn/modules/module.py:5;forward@net.py:9"),
            StepPhase::kForward);
  EXPECT_EQ(
      GetPhase("main@train.py:1;wrapper@torch/optim/optimizer.py:3;step@torch/optim/adamw.py:7"),
      StepPhase::kOptimizer);
  EXPECT_EQ(GetPhase("main@train.py:1;load@data.py:4"), StepPhase::kOther);
  EXPECT_EQ(
      GetPhase("torch::autograd::Engine::thread_main@engine.cpp:4;torch::autograd::generated::"
               "DivBackward0::apply(std::vector<at::Tensor>&&)@functions.cpp:8"),
      StepPhase::kBackward);
}

TEST(Phases, ASchedulerIsNoOptimizer) {
  EXPECT_EQ(GetPhase("main@train.py:1;step@torch/optim/lr_scheduler.py:7"), StepPhase::kOther);
  EXPECT_EQ(GetPhase("main@train.py:1;step@env.py:7"), StepPhase::kOther);
  EXPECT_TRUE(IsOptimizerFile("/home/ann/fused_adam.py"));
  EXPECT_TRUE(IsOptimizerFile("C:\\env\\torch\\optim\\rprop.py"));
  EXPECT_FALSE(IsOptimizerFile("/home/ann/million.py"));
  EXPECT_FALSE(IsOptimizerFile("/home/ann/madam.py"));
}

TEST(Phases, AClosureIsNotTheOptimizersOwn) {
  const std::string closure = "main@train.py:1;step@torch/optim/lbfgs.py:7;closure@train.py:8;";
  EXPECT_EQ(GetPhase(closure + "forward@net.py:2"), StepPhase::kForward);
  EXPECT_EQ(GetPhase(closure + "backward@torch/_tensor.py:2"), StepPhase::kBackward);
}

TEST(Phases, WhatBackwardComputesAgainIsBackward) {
  EXPECT_EQ(GetPhase("apply@torch/autograd/function.py:1;backward@torch/utils/checkpoint.py:2;"
                     "_call_impl@torch/nn/modules/module.py:5;forward@net.py:9"),
            StepPhase::kBackward);
}

std::vector<StepPhase> Repeated(const std::vector<std::pair<StepPhase, std::size_t>>& runs) {
  std::vector<StepPhase> phases;
  for (const auto& [phase, count] : runs) {
    phases.insert(phases.end(), count, phase);
  }
  return phases;
}

TEST(PhaseRuns, ShortOnesBelongToTheirNeighbour) {
  using enum StepPhase;
  const auto runs = MakeRuns(Repeated({{kOther, 1},
                                       {kForward, 900},
                                       {kOther, 30},
                                       {kForward, 700},
                                       {kBackward, 1500},
                                       {kForward, 2},
                                       {kBackward, 1300},
                                       {kOptimizer, 3000}}));
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].phase, kForward);
  EXPECT_EQ(runs[0].first, 0U);
  EXPECT_EQ(runs[0].count, 1631U);
  EXPECT_EQ(runs[1].phase, kBackward);
  EXPECT_EQ(runs[1].count, 2802U);
  EXPECT_EQ(runs[2].phase, kOptimizer);
  EXPECT_EQ(runs[2].count, 3000U);
}

TEST(PhaseRuns, ManyShortStepsStay) {
  using enum StepPhase;
  std::vector<std::pair<StepPhase, std::size_t>> steps;
  for (int i = 0; i < 1000; ++i) {
    steps.insert(steps.end(), {{kForward, 30}, {kBackward, 40}, {kOptimizer, 10}});
  }
  EXPECT_EQ(MakeRuns(Repeated(steps)).size(), 3000U);
  EXPECT_TRUE(MakeRuns({}).empty());
}

}  // namespace
}  // namespace memtool
