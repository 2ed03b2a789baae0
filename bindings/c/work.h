// What tasks do: a file is read, a command line answered.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "outcome.h"
#include "task.h"

namespace memtool::c {

struct NamedInput {
  std::string name;  // as the command line has it
  std::shared_ptr<const Input> input;
};

struct CommandLine {
  std::vector<std::string> words;
  std::vector<NamedInput> inputs;
  bool as_table = false;  // an answer with rows becomes a table instead of text
};

std::shared_ptr<Task> BeginLoad(const std::string& path, const std::optional<std::string>& moment);
std::shared_ptr<Task> BeginAnswer(CommandLine line);

}  // namespace memtool::c
