#include <algorithm>
#include <array>
#include <utility>

#include "memtool/profile/answers/advise.h"

namespace memtool {

namespace {

using advise::Edit;
using advise::Editor;
using advise::Edits;

// Programs are large; what was tried keeps the rest.
void Forget(advise::Changed& changed) {
  changed.early = {};
  changed.late.reset();
}

}  // namespace

Result<TriedChange> Try(const Editor& editor, const whatif::Requests& requests,
                        const whatif::AllocatorSettings& own, Edits edits,
                        const whatif::ScenarioQuery& query) {
  auto changed = editor.Apply(edits);
  MEMTOOL_TRY(changed);
  const bool is_edited = std::any_of(edits.begin(), edits.end(), [](const Edit& edit) {
    return edit.kind != Edit::Kind::kSettings;
  });
  TriedChange tried{.edits = std::move(edits), .changed = {}, .scenario = {}};
  bool first = true;
  const std::array<const advise::Program*, 2> programs{&changed->early,
                                                       changed->late ? &*changed->late : nullptr};
  for (const advise::Program* program : programs) {
    if (program == nullptr) {
      continue;
    }
    const whatif::Requests made = advise::ToRequests(*program, requests);
    whatif::ScenarioQuery one = query;
    one.kept = query.kept && !is_edited;  // the past lies as it does because of what came before
    whatif::Scenario scenario = whatif::MakeScenario(made, changed->settings.value_or(own), one);
    tried.live_peak = std::max(tried.live_peak, scenario.high.live_peak);
    tried.reserved_low = first ? scenario.low.reserved_peak
                               : std::min(tried.reserved_low, scenario.low.reserved_peak);
    if (first || scenario.high.reserved_peak > tried.reserved_high) {
      tried.reserved_high = scenario.high.reserved_peak;
      tried.scenario = std::move(scenario);
    }
    first = false;
  }
  Forget(*changed);
  tried.changed = *std::move(changed);
  return tried;
}

}  // namespace memtool
