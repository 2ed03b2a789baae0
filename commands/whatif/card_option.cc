#include "whatif/card_option.h"

#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>

#include "memtool/profile/base/sizes.h"
#include "options/size_option.h"
#include "whatif/cards.h"
#include "words/known_words.h"

namespace memtool::commands {

void CardOption::Declare(po::options_description_easy_init& add) {
  add("card", ToValue(&card_, CardNames())->value_name("NAME|SIZE"),
      "on this card: a name such as A100-40GB, or its whole memory");
  add("overhead", po::value(&overhead_)->value_name("SIZE"),
      "with --card: what the driver and libraries keep of it (default 1200MiB)");
}

Result<ChosenCard> CardOption::Resolve(const InputOptions& input) const {
  ChosenCard chosen{.limit = input.process_limit(), .note = {}};
  if (card_.empty()) {
    return overhead_.empty() ? Result<ChosenCard>(chosen)
                             : Fail(ErrorCode::kUsage, "--overhead is for --card");
  }
  if (chosen.limit) {
    return Fail(ErrorCode::kUsage, "--card and --process-limit exclude each other",
                "--process-limit is what the process may get, --card is all that the device has");
  }
  auto total = ParseCard(card_, input.size_base());
  MEMTOOL_TRY(total);
  auto kept = overhead_.empty() ? Result<std::int64_t>(kCardOverhead)
                                : ParseDeviceSize("--overhead", overhead_, input.size_base());
  MEMTOOL_TRY(kept);
  if (*kept >= *total) {
    return Fail(ErrorCode::kUsage,
                fmt::format("--card {}: nothing is left of {}", card_, FormatSize(*total)));
  }
  chosen.total = *total;
  chosen.limit = *total - *kept;
  chosen.note = fmt::format("card: {} of {}, {} kept for the driver and libraries (assumed)",
                            FormatSize(*chosen.limit), FormatSize(*total), FormatSize(*kept));
  return chosen;
}

}  // namespace memtool::commands
