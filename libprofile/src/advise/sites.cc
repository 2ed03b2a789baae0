#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "memtool/profile/advise/calls.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/paths.h"
#include "memtool/profile/select/frame_class.h"

namespace memtool::advise {

namespace {

using Kind = whatif::Request::Kind;

// Files whose frames stand between a call and what it calls, and are neither. Some recordings have
// only the last names of files.
constexpr std::array kBetween = std::to_array<std::string_view>(
    {"torch/nn/modules/module.py", "torch/nn/functional.py", "torch/utils/checkpoint.py",
     "torch/utils/_contextlib.py", "torch/autograd/grad_mode.py", "torch/_tensor.py",
     "torch/_dynamo/eval_frame.py", "accelerate/hooks.py", "contextlib.py", "functools.py",
     "einops.py"});
constexpr std::array kBetweenFolders =
    std::to_array<std::string_view>({"/einops/", "/torch/_dynamo/", "/torch/_functorch/"});

bool StandsBetween(std::string_view path) {
  std::string file(path);
  std::replace(file.begin(), file.end(), '\\', '/');
  const std::string rooted = "/" + file;
  return std::any_of(kBetween.begin(), kBetween.end(),
                     [&](std::string_view one) {
                       return rooted.ends_with("/" + std::string(one)) || file == BaseName(one);
                     }) ||
         std::any_of(kBetweenFolders.begin(), kBetweenFolders.end(),
                     [&](std::string_view part) { return rooted.find(part) != std::string::npos; });
}

}  // namespace

// Sites by the frames above them, each with its line.
class Sites::Finder {
 public:
  Finder(const Recording& recording, Sites& to)
      : recording_(recording), to_(to), skipped_(recording.functions.size(), 0) {
    for (std::size_t i = 0; i < skipped_.size(); ++i) {
      const std::string_view file = recording.Text(recording.functions[i].filename);
      skipped_[i] = !IsPythonFile(file) || StandsBetween(file) ? 1 : 0;
    }
  }

  void Add(StackId stack) {
    std::uint32_t state = 0;
    const Line* caller = nullptr;
    std::uint32_t depth = 0;
    const std::vector<const Line*> frames = FramesOf(stack);
    for (const Line* frame : frames) {
      const std::uint32_t function = frame->function.value();
      to_.of_stacks_.push_back(SiteOf(state, function, caller, depth));
      state = states_
                  .try_emplace({state, function, frame->line},
                               static_cast<std::uint32_t>(states_.size() + 1))
                  .first->second;
      caller = frame;
      ++depth;
    }
    to_.begin_.push_back(static_cast<std::uint32_t>(to_.of_stacks_.size()));
  }

 private:
  // Of the program, outermost first.
  [[nodiscard]] std::vector<const Line*> FramesOf(StackId stack) const {
    std::vector<const Line*> frames;
    for (const LocationId location : recording_.Stack(stack)) {
      for (const Line& line : recording_.Lines(recording_.At(location))) {
        if (line.function.valid() && skipped_[line.function.value()] == 0) {
          frames.push_back(&line);
        }
      }
    }
    std::reverse(frames.begin(), frames.end());
    return frames;
  }

  std::uint32_t SiteOf(std::uint32_t state, std::uint32_t function, const Line* caller,
                       std::uint32_t depth) {
    const auto [site, added] =
        known_.try_emplace({state, function}, static_cast<std::uint32_t>(to_.sites_.size()));
    if (added) {
      const Function& of = recording_.functions[function];
      Site made{.function = of.name, .file = of.filename, .caller_file = {}, .depth = depth};
      if (caller != nullptr) {
        made.caller_file = recording_.functions[caller->function.value()].filename;
        made.caller_line = caller->line;
      }
      to_.sites_.push_back(made);
    }
    return site->second;
  }

  const Recording& recording_;
  Sites& to_;
  std::vector<char> skipped_;  // per function
  // The frames above, with their lines, as numbers.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, std::uint32_t> states_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_;
};

Sites::Sites(const Recording& recording) {
  begin_.push_back(0);
  Finder finder(recording, *this);
  for (std::uint32_t row = 0; row < recording.stack_count(); ++row) {
    finder.Add(StackId(row));
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

}  // namespace memtool::advise
