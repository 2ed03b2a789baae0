// Which events of a history a command looks at.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <string>

#include "base/command.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/history/events.h"
#include "options/range_options.h"

namespace memtool::commands {

class EventOptions {
 public:
  void Declare(po::options_description_easy_init add);
  // Errors: kUsage.
  Result<void> Resolve(SizeBase base);
  [[nodiscard]] const RangeOptions& range() const { return range_; }
  // The filter by the recording's clock. Errors: kUsage when times are asked for and it has none.
  [[nodiscard]] Result<EventFilter> FilterFor(const Recording& recording) const;
  [[nodiscard]] const std::optional<BlockId>& id() const { return filter_.id; }
  [[nodiscard]] bool by_action() const { return !action_text_.empty(); }

 private:
  Result<void> ResolveSizes(SizeBase base);
  Result<void> ResolveTimes();

  RangeOptions range_;
  std::string time_text_;
  std::string size_text_;
  std::string action_text_;
  std::string address_text_;
  std::string id_text_;
  EventFilter filter_;
  std::optional<MomentSpec> since_;
  std::optional<MomentSpec> until_;
};

}  // namespace memtool::commands
