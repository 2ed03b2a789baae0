// Edits against what testdata/advise/train.py records of programs that were so changed: it has its
// own autograd. Each rule has a wrong variant here, which has to be seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "memtool/profile/advise/checkpoint.h"
#include "memtool/profile/advise/edits.h"
#include "memtool/profile/advise/step_edits.h"
#include "memtool/profile/whatif/scenario.h"
#include "support/files.h"

namespace memtool::advise {
namespace {

using Kind = whatif::Request::Kind;

struct Loaded {
  explicit Loaded(const std::string& name)
      : index(test::LoadBytes(test::TestFile("advise/" + name + ".json.gz")).value()),
        requests(
            whatif::CollectRequests(index, trace(), whatif::RecordedSettings(index.recording()))),
        program(MakeProgram(index, trace(), requests)),
        sites(index.recording()) {
    sites.Measure(program);
  }
  [[nodiscard]] const Trace& trace() const { return index.history().traces[0]; }
  [[nodiscard]] std::uint32_t Site(std::int64_t line) const {
    const auto all = sites.all();
    const auto at = std::find_if(all.begin(), all.end(), [line](const advise::Site& site) {
      return site.caller_line == line && site.kept > 0;
    });
    return static_cast<std::uint32_t>(at - all.begin());
  }

  HistoryIndex index;
  whatif::Requests requests;
  Program program;
  Sites sites;
};

constexpr std::int64_t kCallOfBlock = 51;  // model.py: x = block.forward(x, scores)

// What is live, in bytes.
struct Peaks {
  std::int64_t all = 0;             // at most
  std::int64_t layers = 0;          // at most, when a layer's forward allocates
  std::int64_t last_recompute = 0;  // when the last piece of forward is made again
  std::int64_t recomputed = 0;      // is allocated for that in all
  friend bool operator==(const Peaks&, const Peaks&) = default;
};

Peaks PeaksOf(const Program& program, const Sites& sites) {
  Peaks peaks;
  std::int64_t live = 0;
  for (const Operation& operation : program.operations) {
    if (operation.kind != Kind::kAllocate && operation.kind != Kind::kFreeCompleted) {
      continue;
    }
    const Block& block = program.blocks[operation.block];
    const bool makes = operation.kind == Kind::kAllocate;
    live += makes ? block.size : -block.size;
    peaks.all = std::max(peaks.all, live);
    const auto of = sites.Of(block.stack);
    const bool in_layer = std::any_of(of.begin(), of.end(), [&sites](std::uint32_t site) {
      return sites.all()[site].caller_line == kCallOfBlock;
    });
    if (makes && in_layer && block.phase == Phase::kForward) {
      peaks.layers = std::max(peaks.layers, live);
    }
    if (makes && block.phase == Phase::kRecompute) {
      peaks.recomputed += block.size;
      peaks.last_recompute = live;
    }
  }
  return peaks;
}

Peaks PeaksOf(const std::string& name) {
  const Loaded loaded(name);
  return PeaksOf(loaded.program, loaded.sites);
}

Peaks Checkpointed(const Loaded& loaded, CheckpointQuery query) {
  const auto calls =
      FindCalls(loaded.program, loaded.sites, loaded.Site(kCallOfBlock), query.rules);
  return PeaksOf(Checkpoint(loaded.program, calls, query).program, loaded.sites);
}

TEST(Advise, LayersAreFoundWithWhatTheyKeep) {
  const Loaded base("base");
  const auto calls = FindCalls(base.program, base.sites, base.Site(kCallOfBlock));
  ASSERT_EQ(calls.size(), 12U) << "six layers, twice";
  for (const Call& call : calls) {
    EXPECT_EQ(call.outputs.size(), 1U);
    EXPECT_TRUE(call.kept.empty());
  }
  EXPECT_FALSE(calls[0].follows);
  EXPECT_TRUE(calls[5].follows);
  EXPECT_FALSE(calls[6].follows) << "another step";
}

TEST(Advise, CheckpointsAreWhatAChangedProgramDoes) {
  const Peaks truth = PeaksOf("ck1");
  const Loaded base("base");
  const Peaks early = Checkpointed(base, {.early = true});
  const Peaks late = Checkpointed(base, {.early = false});
  EXPECT_EQ(early.all, truth.all);
  EXPECT_EQ(late.all, truth.all);
  EXPECT_EQ(early.last_recompute, truth.last_recompute);
  EXPECT_EQ(early.recomputed, truth.recomputed);
  EXPECT_LE(early.layers, truth.layers) << "the truth lies between";
  EXPECT_GE(late.layers, truth.layers);
}

TEST(Advise, OutputsAreNotTheLastAllocationOfALayerThatEndsInANorm) {
  EXPECT_EQ(Checkpointed(Loaded("post"), {.early = false}).all, PeaksOf("postck1").all);
  EXPECT_EQ(Checkpointed(Loaded("scaled"), {.early = false}).all, PeaksOf("scaledck1").all);
}

TEST(Advise, EveryWrongRuleIsSeen) {
  const Loaded base("base");
  const Peaks truth = PeaksOf("ck1");
  const Peaks right = Checkpointed(base, {.early = true});
  EXPECT_NE(Checkpointed(Loaded("scaled"), {.rules = {.forgets_input = true}}).all,
            PeaksOf("scaledck1").all);
  EXPECT_LT(Checkpointed(base, {.rules = {.frees_at_once = true}}).layers, right.layers);
  EXPECT_NE(Checkpointed(base, {.rules = {.recomputes_twice = true}}).all, truth.all);
  EXPECT_NE(Checkpointed(Loaded("post"), {.rules = {.last_is_output = true}}).all,
            PeaksOf("postck1").all);
  const Program opt = Loaded("opt").program;
  EXPECT_NE(FindState(opt, {.state_from_gradients = true}).bytes, FindState(opt).bytes);
}

TEST(Advise, TheNextStepHasTheStateThatTheFirstOneMade) {
  const Loaded first("step1");
  const Peaks truth = PeaksOf("base");
  EXPECT_LT(PeaksOf(first.program, first.sites).all, truth.all);
  EXPECT_EQ(PeaksOf(NextStep(first.program), first.sites).all, truth.all);
}

// Two values of Adam per parameter: of each of four parameters per layer, the embedding, the head.
TEST(Advise, StateIsCountedPerParameter) {
  const OptimizerState state = FindState(Loaded("base").program);
  EXPECT_TRUE(state.made);
  EXPECT_EQ(state.per_parameter, 2U);
  constexpr std::int64_t kHidden = 384;
  constexpr std::int64_t kParameters =
      std::int64_t{6} * 12 * kHidden * kHidden + std::int64_t{2} * 2048 * kHidden;
  EXPECT_EQ(state.bytes, std::int64_t{2} * 4 * kParameters);
}

TEST(Advise, WhatARecordingDoesNotShowIsRefused) {
  const Loaded infer("infer");
  const Editor editor(infer.index, infer.trace(), infer.requests);
  for (const char* text : {"next-step", "foreach=False", "optimizer=cpu", "zero1=2", "batch/2",
                           "accumulate=2", "chunk-loss=4"}) {
    const auto changed = editor.Apply(*ParseEdits(text));
    ASSERT_FALSE(changed) << text;
    EXPECT_EQ(changed.error().code, ErrorCode::kUnsupported) << text;
  }
  const Loaded base("base");
  const Editor trained(base.index, base.trace(), base.requests);
  EXPECT_EQ(trained.Apply(*ParseEdits("checkpoint:nowhere.py:1")).error().code, ErrorCode::kUsage);
}

TEST(Advise, NothingChangedIsTheRecording) {
  const Loaded base("base");
  const whatif::Requests again = ToRequests(Splice(base.program).Finish(), base.requests);
  ASSERT_EQ(again.rows.size(), base.requests.rows.size());
  const auto settings = whatif::RecordedSettings(base.index.recording());
  EXPECT_EQ(whatif::RunOnce(again, settings, {}).reserved_peak,
            base.index.summary(base.trace()).reserved_peak_bytes);
}

TEST(Advise, ChangesAreParsed) {
  const auto edits = ParseEdits("accumulate=2 + checkpoint:model.py:68,group=3,every=2,reentrant");
  ASSERT_TRUE(edits);
  ASSERT_EQ(edits->size(), 2U);
  EXPECT_EQ((*edits)[1].where, "model.py:68");
  EXPECT_EQ((*edits)[1].group, 3U);
  EXPECT_EQ((*edits)[1].every, 2U);
  EXPECT_TRUE((*edits)[1].reentrant);
  EXPECT_EQ(ToText(*edits), "accumulate=2 + checkpoint:model.py:68,group=3,every=2,reentrant");
  EXPECT_EQ(ParseEdits("expandable_segments:True")->front().kind, Edit::Kind::kSettings);
  for (const char* wrong :
       {"", "nonsense", "accumulate=", "accumulate=1", "batch/0", "zero1=99999999999",
        "checkpoint:", "checkpoint:f,group=0", "checkpoint:f,often", "optimizer=lion",
        "chunk-loss=-3", "accumulate=2 + ", "nothing:True", "backend:cudaMallocAsync"}) {
    const auto parsed = ParseEdits(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUsage) << wrong;
  }
}

}  // namespace
}  // namespace memtool::advise
