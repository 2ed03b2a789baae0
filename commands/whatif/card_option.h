// --card and --overhead: on which card it is to run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/command.h"
#include "options/input_options.h"

namespace memtool::commands {

struct ChosenCard {
  std::optional<std::int64_t> limit{};  // bytes that the process may get
  std::optional<std::int64_t> total{};  // of the card
  std::string note;                     // for people; empty without a card
};

class CardOption {
 public:
  void Declare(po::options_description_easy_init& add);
  // Errors: kUsage. Without --card the limit is --process-limit's, if that is given.
  Result<ChosenCard> Resolve(const InputOptions& input) const;

 private:
  std::string card_;
  std::string overhead_;
};

}  // namespace memtool::commands
