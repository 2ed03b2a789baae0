#include "memtool/profile/advise/edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "memtool/profile/advise/checkpoint.h"
#include "memtool/profile/advise/operators.h"
#include "memtool/profile/advise/step_edits.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/paths.h"
#include "memtool/profile/select/filter.h"
#include "memtool/profile/select/view.h"

namespace memtool::advise {

namespace {

constexpr const char* kWholeStep =
    "a recording of a whole training step does: see memtool help recording";
// Of a block that a change was made of.
bool IsLeftOut(const Program& program, std::uint32_t row) {
  return row < program.base_blocks ? !program.base_gone.empty() && program.base_gone[row] != 0
                                   : program.blocks[row].made == kNever;
}

}  // namespace

Editor::Editor(const HistoryIndex& index, const Trace& trace, const whatif::Requests& requests)
    : index_(index),
      program_(MakeProgram(index, trace, requests)),
      sites_(index.recording()),
      operators_(OperatorsOf(index.recording())) {
  sites_.Measure(program_);
}

std::vector<Editor::Candidate> Editor::Candidates(std::size_t most) const {
  const auto sites = sites_.all();
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < sites.size(); ++i) {
    if (sites[i].kept > 0 && sites[i].caller_line > 0 && !sites[i].trains) {
      order.push_back(i);
    }
  }
  // Of equal ones, which make the same calls one frame further in, the outer.
  std::sort(order.begin(), order.end(), [&sites](std::uint32_t a, std::uint32_t b) {
    const Site& left = sites[a];
    const Site& right = sites[b];
    return std::tuple(-left.kept, left.depth, a) < std::tuple(-right.kept, right.depth, b);
  });
  constexpr std::size_t kLooks = 40;  // sites that are looked at
  std::vector<Candidate> candidates;
  const std::size_t passes = FindPasses(program_).size();
  const Site* last = nullptr;
  for (std::size_t i = 0; i < std::min(order.size(), kLooks) && candidates.size() < most; ++i) {
    const Site& site = sites[order[i]];
    if (last != nullptr && last->kept == site.kept && last->blocks == site.blocks) {
      continue;
    }
    last = &site;
    const std::vector<Call> calls = FindCalls(program_, sites_, order[i]);
    Candidate candidate{.site = order[i], .calls = 0, .follow = false, .where = {}};
    for (const Call& call : calls) {
      const bool saves = call.saved.size() > call.outputs.size();
      candidate.calls += saves ? 1 : 0;
      candidate.follow |= saves && call.follows;
    }
    if (candidate.calls < 2 || candidate.calls <= passes) {
      continue;  // the whole of a forward: computing it again needs as much as keeping it
    }
    candidate.where =
        fmt::format("{}:{}", BaseName(index_.recording().Text(site.caller_file)), site.caller_line);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

// The line of the call, a line inside of the function, or its name; of several that fit the one
// whose calls repeat and keep most.
std::optional<std::uint32_t> Editor::FindSite(std::string_view where) const {
  const Recording& recording = index_.recording();
  const std::size_t colon = where.rfind(':');
  const auto line = colon == std::string_view::npos
                        ? std::nullopt
                        : ParseNumber<std::int64_t>(where.substr(colon + 1));
  const auto sites = sites_.all();
  const auto fits = [&](const Site& site) {
    if (!line) {
      return recording.Text(site.function) == where;
    }
    const std::string_view file = where.substr(0, colon);
    const std::string_view caller = recording.Text(site.caller_file);
    return site.caller_line == *line && (caller == file || BaseName(caller) == BaseName(file));
  };
  std::vector<std::uint32_t> fitting;
  for (std::uint32_t i = 0; i < sites.size(); ++i) {
    if (sites[i].kept > 0 && !sites[i].trains && fits(sites[i])) {
      fitting.push_back(i);
    }
  }
  std::sort(fitting.begin(), fitting.end(), [&sites](std::uint32_t a, std::uint32_t b) {
    return std::tuple(-sites[a].kept, sites[a].depth, a) <
           std::tuple(-sites[b].kept, sites[b].depth, b);
  });
  const std::size_t passes = FindPasses(program_).size();
  for (const std::uint32_t site : fitting) {
    if (FindCalls(program_, sites_, site).size() > passes) {
      return site;
    }
  }
  return fitting.empty() ? std::nullopt : std::optional(fitting.front());
}

namespace {

Result<void> CanCast(const Operators& operators) {
  if (operators.autocast) {
    return Fail(ErrorCode::kUnsupported, "autocast=bf16: it runs under autocast already");
  }
  return operators.any
             ? Result<void>()
             : Fail(ErrorCode::kUnsupported, "autocast=bf16: its stacks name no operators",
                    "_record_memory_history() names them, with stacks=\"python\" it "
                    "does not");
}

}  // namespace

Result<Program> Editor::Change(const Program& program, const Edit& edit, Changed& changed) const {
  using Kind = Edit::Kind;
  const auto known = [&edit](std::optional<Program> made, std::string_view what) {
    return made ? Result<Program>(*std::move(made))
                : Result<Program>(Fail(
                      ErrorCode::kUnsupported,
                      fmt::format("{}: the recording shows no {}", edit.text, what), kWholeStep));
  };
  switch (edit.kind) {
    case Kind::kNextStep:
      return known(program.Has(Phase::kOptimizer) ? std::optional(NextStep(program)) : std::nullopt,
                   "step of an optimizer");
    case Kind::kForeachOff:
      return known(WithoutForeach(program), "optimizer that keeps a temporary of all parameters");
    case Kind::kOptimizer:
    case Kind::kShard: {
      auto made = edit.kind == Kind::kShard ? ShardState(program, edit.count)
                                            : ChangeOptimizer(program, edit.optimizer);
      const OptimizerState state = FindState(program);
      changed.state_per_parameter = state.per_parameter;
      for (const std::uint32_t row : state.blocks) {
        const bool gone = made && IsLeftOut(*made, row);
        changed.state_gone = SaturatingAdd(changed.state_gone, gone ? program.blocks[row].size : 0);
      }
      return known(std::move(made), "state of an optimizer");
    }
    case Kind::kBatch:
      return known(SmallerBatch(program, edit.count), "backward pass");
    case Kind::kAccumulate:
      return known(Accumulate(program, edit.count), "backward pass");
    case Kind::kAutocast:
      MEMTOOL_TRY(CanCast(operators_));
      return known(Autocast(program, operators_),
                   "operators of forward and backward that belong together");
    case Kind::kChunkLoss:
      return known(ChunkLoss(program, edit.count), "loss at the end of its forward");
    default:
      return program;
  }
}

Result<void> Editor::Checkpoints(const Edit& edit, Changed& changed) const {
  if (changed.early.Has(Phase::kRecompute) && !program_.Has(Phase::kRecompute)) {
    return Fail(ErrorCode::kUnsupported, "only one checkpoint at a time",
                "group=K checkpoints calls together");
  }
  const auto site = FindSite(edit.where);
  if (!site) {
    return Fail(ErrorCode::kUsage,
                fmt::format("no function '{}' keeps memory for a backward pass", edit.where),
                "memtool advise lists those that do");
  }
  CheckpointQuery query{.group = edit.group, .every = edit.every, .reentrant = edit.reentrant};
  const std::vector<Call> calls = FindCalls(changed.early, sites_, *site);
  Checkpointed late;
  {
    query.early = false;
    late = Checkpoint(changed.early, calls, query);
    query.early = true;
  }
  Checkpointed early = Checkpoint(changed.early, calls, query);
  changed.calls = CoveredCalls(FindCalls(program_, sites_, *site), query);
  if (changed.calls == 0) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}: its calls keep nothing for a backward pass but what they return",
                            edit.text),
                "memtool advise lists functions whose calls do");
  }
  changed.early = std::move(early.program);
  changed.late = std::move(late.program);
  changed.computed_again = early.computed_again;
  changed.site = sites_.all()[*site];
  return {};
}

namespace {

// Allocations whose stack matches never happen.
Result<Program> Dropped(const Recording& recording, const Program& program,
                        const std::string& regex) {
  auto filter = Filter::Compile({.focus = regex, .frames = FrameMode::kAll});
  if (!filter) {
    return Fail(ErrorCode::kUsage, fmt::format("drop: '{}' is not a regular expression", regex));
  }
  const View view(recording, *filter);
  Splice splice(program);
  VisibleStack visible;
  bool any = false;
  for (std::uint32_t row = 0; row < program.blocks.size(); ++row) {
    const StackId stack = program.blocks[row].stack;
    if (stack.valid() && view.Expand(stack, visible)) {
      splice.Drop(row);
      any = true;
    }
  }
  if (!any) {
    return Fail(ErrorCode::kUsage,
                fmt::format("drop: no function, file or mapping matches '{}'", regex));
  }
  return splice.Finish();
}

}  // namespace

Result<Changed> Editor::Apply(std::span<const Edit> edits) const {
  std::vector<const Edit*> ordered;
  for (const Edit& edit : edits) {
    ordered.push_back(&edit);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Edit* a, const Edit* b) { return a->kind < b->kind; });
  Changed changed{.early = program_, .late = {}, .settings = {}, .site = {}};
  for (const Edit* edit : ordered) {
    if (edit->kind == Edit::Kind::kSettings) {
      changed.settings = edit->settings;
    } else if (edit->kind == Edit::Kind::kCheckpoint) {
      MEMTOOL_TRY(Checkpoints(*edit, changed));
    } else {
      auto program = edit->kind == Edit::Kind::kDrop
                         ? Dropped(index_.recording(), changed.early, edit->where)
                         : Change(changed.early, *edit, changed);
      MEMTOOL_TRY(program);
      changed.early = *std::move(program);
    }
  }
  for (const Operation& operation : changed.early.operations) {
    const Block& block = changed.early.blocks[operation.block];
    if (operation.kind == whatif::Request::Kind::kAllocate && block.phase == Phase::kForward) {
      changed.forward = SaturatingAdd(changed.forward, block.size);
    }
  }
  return changed;
}

}  // namespace memtool::advise
