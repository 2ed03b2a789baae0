#include "memtool/profile/advise/calls.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/select/frame_class.h"

namespace memtool::advise {

namespace {

using Kind = whatif::Request::Kind;

// Files whose frames stand between a call and what it calls, and are neither.
constexpr std::array kBetween = std::to_array<std::string_view>(
    {"torch/nn/modules/module.py", "torch/nn/functional.py", "torch/utils/checkpoint.py",
     "torch/_dynamo/eval_frame.py", "torch/utils/_contextlib.py", "torch/autograd/grad_mode.py",
     "accelerate/hooks.py", "contextlib.py", "functools.py", "einops.py", "torch/_tensor.py"});
// The same where a recording has names of files alone.
constexpr std::array kBetweenBare =
    std::to_array<std::string_view>({"module.py", "functional.py", "checkpoint.py", "contextlib.py",
                                     "functools.py", "einops.py", "grad_mode.py", "eval_frame.py"});
constexpr std::array kBetweenFolders =
    std::to_array<std::string_view>({"/einops/", "/torch/_dynamo/", "/torch/_functorch/"});

bool StandsBetween(std::string_view path) {
  std::string file(path);
  std::replace(file.begin(), file.end(), '\\', '/');
  const auto ends = [&file](std::string_view end) {
    return file.ends_with(end) &&
           (file.size() == end.size() || file[file.size() - end.size() - 1] == '/');
  };
  const auto has = [&file](std::string_view part) { return file.find(part) != std::string::npos; };
  return std::any_of(kBetween.begin(), kBetween.end(), ends) ||
         std::any_of(kBetweenFolders.begin(), kBetweenFolders.end(), has) ||
         std::find(kBetweenBare.begin(), kBetweenBare.end(), file) != kBetweenBare.end();
}

// The smallest period of a sequence (Knuth, Morris and Pratt).
std::size_t PeriodOf(std::span<const std::uint32_t> keys) {
  std::vector<std::size_t> border(keys.size(), 0);
  for (std::size_t i = 1, matched = 0; i < keys.size(); ++i) {
    while (matched > 0 && keys[i] != keys[matched]) {
      matched = border[matched - 1];
    }
    matched += keys[i] == keys[matched] ? 1 : 0;
    border[i] = matched;
  }
  return keys.size() - border.back();
}

// How many of two pieces' keys are the same, of the larger one.
bool AreAlike(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  constexpr std::size_t kOf = 5;
  constexpr std::size_t kAtLeast = 4;
  std::map<std::uint32_t, std::ptrdiff_t> bag;
  for (const std::uint32_t key : a) {
    ++bag[key];
  }
  std::size_t same = 0;
  for (const std::uint32_t key : b) {
    same += bag[key]-- > 0 ? 1 : 0;
  }
  return same * kOf >= std::max(a.size(), b.size()) * kAtLeast;
}

// Where each call in a run of allocations begins: layers follow each other without a gap.
std::vector<std::size_t> CutRun(std::span<const std::uint32_t> keys) {
  std::vector<std::size_t> cuts{0};
  const std::size_t period = PeriodOf(keys);
  if (period < keys.size() && keys.size() % period == 0) {
    for (std::size_t at = period; at < keys.size(); at += period) {
      cuts.push_back(at);
    }
    return cuts;
  }
  for (std::size_t at = 1; at < keys.size(); ++at) {
    // One operation may make several blocks.
    if (keys[at] == keys.front() && keys[at - 1] != keys.front()) {
      cuts.push_back(at);
    }
  }
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const std::size_t end = i + 2 < cuts.size() ? cuts[i + 2] : keys.size();
    if (!AreAlike(keys.subspan(cuts[i], cuts[i + 1] - cuts[i]),
                  keys.subspan(cuts[i + 1], end - cuts[i + 1]))) {
      return {0};
    }
  }
  return cuts;
}

// What is alive at the end of a call, and whose it is.
void Sort(const Program& program, Call& call, bool& last_escapes) {
  const Time backward = program.next_backward[call.end];
  last_escapes = false;
  for (const std::uint32_t row : call.blocks) {
    const Block& block = program.blocks[row];
    if (block.freed < call.end) {
      continue;  // of the call's own
    }
    last_escapes = false;
    if (block.freed == kNever) {
      call.kept.push_back(row);
    } else if (block.freed < backward) {
      last_escapes = true;
      call.escaped.push_back(row);
    } else {
      call.saved.push_back(row);
    }
  }
}

// Backward frees in reverse: what a call returned goes while the one after it is differentiated,
// before anything that the call keeps for itself.
void FindOutputs(const Program& program, Call& call, const Call* next) {
  auto by_free = call.saved;
  std::sort(by_free.begin(), by_free.end(), [&program](std::uint32_t a, std::uint32_t b) {
    return program.blocks[a].freed < program.blocks[b].freed;
  });
  if (by_free.size() > 1) {
    const Time first = program.blocks[by_free[0]].freed;
    const Time second = program.blocks[by_free[1]].freed;
    if (program.next_backward[first] < second) {
      call.outputs = {by_free[0]};
      return;
    }
  }
  if (next != nullptr && !next->saved.empty()) {
    Time last = 0;
    for (const std::uint32_t row : next->saved) {
      last = std::max(last, program.blocks[row].freed);
    }
    for (const std::uint32_t row : by_free) {
      if (program.blocks[row].freed <= last) {
        call.outputs.push_back(row);
      }
    }
  }
  if (call.outputs.empty() && !call.saved.empty()) {
    call.outputs = {call.saved.back()};
  }
}

}  // namespace

Sites::Sites(const Recording& recording) {
  std::vector<char> skipped(recording.functions.size(), 0);
  for (std::size_t i = 0; i < skipped.size(); ++i) {
    const std::string_view file = recording.Text(recording.functions[i].filename);
    skipped[i] = !IsPythonFile(file) || StandsBetween(file) ? 1 : 0;
  }
  // A state: the frames above, with their lines. A site: a state and a function.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;
  std::map<Key, std::uint32_t> states;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
  begin_.push_back(0);
  std::vector<const Line*> frames;
  for (std::uint32_t row = 0; row < recording.stack_count(); ++row) {
    frames.clear();
    for (const LocationId location : recording.Stack(StackId(row))) {
      for (const Line& line : recording.Lines(recording.At(location))) {
        if (line.function.valid() && skipped[line.function.value()] == 0) {
          frames.push_back(&line);
        }
      }
    }
    std::uint32_t state = 0;
    const Line* caller = nullptr;
    std::uint32_t depth = 0;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      const std::uint32_t function = (*frame)->function.value();
      const auto [site, added] =
          known.try_emplace({state, function}, static_cast<std::uint32_t>(sites_.size()));
      if (added) {
        const Function& of = recording.functions[function];
        sites_.push_back(
            {.function = of.name,
             .file = of.filename,
             .caller_file = caller == nullptr
                                ? StringId()
                                : recording.functions[caller->function.value()].filename,
             .caller_line = caller == nullptr ? 0 : caller->line,
             .depth = depth});
      }
      of_stacks_.push_back(site->second);
      state = states
                  .try_emplace({state, function, (*frame)->line},
                               static_cast<std::uint32_t>(states.size() + 1))
                  .first->second;
      caller = *frame;
      ++depth;
    }
    begin_.push_back(static_cast<std::uint32_t>(of_stacks_.size()));
  }
}

std::span<const std::uint32_t> Sites::Of(StackId stack) const {
  if (!stack.valid()) {
    return {};
  }
  const std::uint32_t begin = begin_[stack.value()];
  return std::span(of_stacks_).subspan(begin, begin_[stack.value() + 1] - begin);
}

void Sites::Measure(const Program& program) {
  for (const Operation& operation : program.operations) {
    if (operation.kind != Kind::kAllocate) {
      continue;
    }
    const Block& block = program.blocks[operation.block];
    const Time backward = program.next_backward[block.made];
    if (block.phase != Phase::kForward) {
      for (const std::uint32_t site : Of(block.stack)) {
        sites_[site].trains = true;
      }
      continue;
    }
    if (backward == kNever || block.freed == kNever || block.freed < backward) {
      continue;
    }
    for (const std::uint32_t site : Of(block.stack)) {
      sites_[site].kept = SaturatingAdd(sites_[site].kept, block.size);
      ++sites_[site].blocks;
    }
  }
}

std::vector<Call> FindCalls(const Program& program, const Sites& sites, std::uint32_t site,
                            Rules rules) {
  std::vector<Call> calls;
  std::vector<std::uint32_t> run;
  std::vector<std::uint32_t> keys;
  const auto end_run = [&](Time end) {
    if (run.empty()) {
      return;
    }
    const auto cuts = CutRun(keys);
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const std::size_t to = i + 1 < cuts.size() ? cuts[i + 1] : run.size();
      Call call;
      call.blocks.assign(run.begin() + static_cast<std::ptrdiff_t>(cuts[i]),
                         run.begin() + static_cast<std::ptrdiff_t>(to));
      call.begin = program.blocks[call.blocks.front()].made;
      call.end = to < run.size() ? program.blocks[run[to]].made : end;
      call.follows = i > 0;
      calls.push_back(std::move(call));
    }
    run.clear();
    keys.clear();
  };
  std::map<std::uint32_t, bool> under;  // per stack
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const Operation& operation = program.operations[i];
    if (operation.kind != Kind::kAllocate) {
      continue;
    }
    const Block& block = program.blocks[operation.block];
    bool inside = block.phase == Phase::kForward && block.stack.valid();
    if (inside) {
      const auto [known, added] = under.try_emplace(block.stack.value(), false);
      if (added) {
        const auto of = sites.Of(block.stack);
        known->second = std::find(of.begin(), of.end(), site) != of.end();
      }
      inside = known->second;
    }
    if (!inside) {
      end_run(static_cast<Time>(i));
      continue;
    }
    run.push_back(operation.block);
    keys.push_back(block.stack.value());
  }
  end_run(static_cast<Time>(program.operations.size()));
  std::vector<char> last_escapes(calls.size(), 0);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    bool escapes = false;
    Sort(program, calls[i], escapes);
    last_escapes[i] = escapes ? 1 : 0;
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool has_next = i + 1 < calls.size() && calls[i + 1].follows;
    if (rules.last_is_output && !calls[i].saved.empty()) {
      calls[i].outputs = {calls[i].saved.back()};
    } else if (last_escapes[i] == 0) {
      FindOutputs(program, calls[i], has_next ? &calls[i + 1] : nullptr);
    }
  }
  return calls;
}

}  // namespace memtool::advise
