#include "replay/stack_roles.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "memtool/profile/base/once_per_text.h"

namespace memtool {

namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

StackRole RoleOfFunction(std::string_view function) {
  StackRole role{.frames = true};
  role.accumulate = Contains(function, "autograd::AccumulateGrad");
  role.engine = role.accumulate || Contains(function, "autograd::Engine") ||
                (function.ends_with("::apply") && Contains(function, "Backward"));
  // What a checkpoint computes again runs within the pass.
  role.backward = role.engine || function == "backward" || function == "unpack_hook";
  role.zero_grad = function == "zero_grad";
  return role;
}

void Join(StackRole& role, const StackRole& frame) {
  role.frames |= frame.frames;
  role.engine |= frame.engine;
  role.backward |= frame.backward;
  role.accumulate |= frame.accumulate;
  role.optimizer |= frame.optimizer;
  role.zero_grad |= frame.zero_grad;
}

}  // namespace

bool IsInOptimizerFolder(std::string_view file) {
  static constexpr std::array<std::string_view, 7> kFolders{
      "torch/optim/", "apex/optimizers/",    "bitsandbytes/optim/",     "torchao/optim/",
      "ops/adam/",    "pytorch/optimizers/", "megatron/core/optimizer/"};
  const auto has_folder = [](std::string_view path) {
    return std::any_of(kFolders.begin(), kFolders.end(),
                       [path](std::string_view folder) { return Contains(path, folder); });
  };
  if (file.find('\\') == std::string_view::npos) {
    return has_folder(file);
  }
  std::string path(file);
  std::replace(path.begin(), path.end(), '\\', '/');
  return has_folder(path);
}

std::vector<StackRole> StackRoles(const Recording& recording) {
  std::vector<StackRole> functions;
  functions.reserve(recording.functions.size());
  OncePerText role([&](StringId id) { return RoleOfFunction(recording.Text(id)); });
  OncePerText optimizer([&](StringId id) { return IsInOptimizerFolder(recording.Text(id)); });
  for (const Function& function : recording.functions) {
    functions.push_back(role(function.name));
    functions.back().optimizer = optimizer(function.filename);
  }
  std::vector<StackRole> stacks(recording.stack_count());
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    for (const LocationId location : recording.Stack(StackId(i))) {
      stacks[i].frames = true;
      for (const Line& line : recording.Lines(recording.At(location))) {
        if (line.function.valid()) {
          Join(stacks[i], functions[line.function.value()]);
        }
      }
    }
  }
  return stacks;
}

std::uint32_t StatesPerParameter(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::uint32_t>, 9> kOptimizers{{{"adam", 2},
                                                                                   {"Adam", 2},
                                                                                   {"adadelta", 2},
                                                                                   {"lamb", 2},
                                                                                   {"LAMB", 2},
                                                                                   {"sgd", 1},
                                                                                   {"SGD", 1},
                                                                                   {"rmsprop", 1},
                                                                                   {"adagrad", 1}}};
  for (const auto& [word, states] : kOptimizers) {
    if (Contains(name, word)) {
      return states;
    }
  }
  return 0;
}

}  // namespace memtool
