// What JSON calls the advice on a failure.
#include <array>
#include <string_view>
#include <utility>

#include "answers/oom/oom_figures.h"
#include "memtool/profile/answers/oom_advice.h"

namespace memtool {

std::string_view ToName(OomAdviceKind kind) {
  using Kind = OomAdviceKind;
  static constexpr auto kNames = std::to_array<std::pair<Kind, std::string_view>>({
      {Kind::kSettingsUnknown, "settings_untold"},
      {Kind::kSettingsDefault, "settings_default"},
      {Kind::kSettingsChanged, "settings_changed"},
      {Kind::kEmptyCache, "empty_cache"},
      {Kind::kPoolsKeepIt, "pools_keep_it"},
      {Kind::kEndProcess, "end_process"},
      {Kind::kDivideRequest, "divide_request"},
      {Kind::kFreeOutside, "free_outside"},
      {Kind::kFindOutside, "find_outside"},
      {Kind::kFindProcesses, "find_processes"},
      {Kind::kFewerPools, "fewer_pools"},
      {Kind::kOtherRefusals, "other_refusals"},
      {Kind::kFreeDevice, "free_device"},
      {Kind::kSmallerBlocks, "smaller_blocks"},
      {Kind::kCheckSizes, "check_sizes"},
      {Kind::kLiftMpsLimit, "lift_mps_limit"},
      {Kind::kRaiseLimit, "raise_limit"},
      {Kind::kRaiseReserve, "raise_reserve"},
      {Kind::kOfWording, "of_wording"},
      {Kind::kExpandableSegments, "expandable_segments"},
      {Kind::kMaxSplitSize, "max_split_size"},
      {Kind::kTrials, "trials"},
      {Kind::kChanges, "changes"},
      {Kind::kNotReplayed, "not_replayed"},
      {Kind::kSmallerRequest, "smaller_request"},
      {Kind::kHoldLess, "hold_less"},
      {Kind::kNeedLess, "need_less"},
      {Kind::kExpandableIsOn, "expandable_is_on"},
      {Kind::kHeldOutside, "held_outside"},
      {Kind::kFreeInGraphPools, "free_in_graph_pools"},
      {Kind::kFreeForOtherStreams, "free_for_other_streams"},
      {Kind::kFreeInPrivatePools, "free_in_private_pools"},
      {Kind::kFreeForOtherSizes, "free_for_other_sizes"},
      {Kind::kFreeLater, "free_later"},
      {Kind::kLookAtChanges, "look_at_changes"},
      {Kind::kLookAtMoment, "look_at_moment"},
      {Kind::kRecordFirst, "record_first"},
      {Kind::kLookAtHost, "look_at_host"},
      {Kind::kFewerTemporaries, "fewer_temporaries"},
      {Kind::kSmallerArguments, "smaller_arguments"},
      {Kind::kLayout, "layout"},
      {Kind::kOtherAllocator, "other_allocator"},
      {Kind::kRematStopped, "remat_stopped"},
      {Kind::kFragmentedLayout, "fragmented_layout"},
      {Kind::kLookAtTables, "look_at_tables"},
      {Kind::kFindHolders, "find_holders"},
      {Kind::kFindWhoHeld, "find_who_held"},
  });
  return NameIn(kNames, kind);
}

std::string_view ToName(OomSettingState state) {
  using State = OomSettingState;
  static constexpr auto kNames = std::to_array<std::pair<State, std::string_view>>({
      {State::kOff, "off"},
      {State::kUnknown, "untold"},
      {State::kPerhapsOn, "perhaps_on"},
      {State::kLeftOut, "left_out"},
      {State::kOfNewer, "of_newer"},
      {State::kPlatformMay, "platform_may"},
      {State::kNamed, "named"},
      {State::kNotSet, "not_set"},
  });
  return NameIn(kNames, state);
}

Value ToValue(const OomAdvice& advice) {
  Value::Object object{{"advice", ToName(advice.kind)}};
  const auto add = [&object](const char* key, bool reported, Value value) {
    if (reported) {
      object.emplace_back(key, std::move(value));
    }
  };
  add("bytes", advice.bytes != 0, advice.bytes);
  add("lacking", advice.lacking != 0, advice.lacking);
  add("pid", advice.kind == OomAdviceKind::kEndProcess, advice.pid);
  add("share", advice.share.has_value(), advice.share);
  add("variable", !advice.variable.empty(), advice.variable);
  if (advice.buffers) {
    object.emplace_back("name", advice.buffers->first->name);
    object.emplace_back("shape", advice.buffers->first->shape);
    object.emplace_back("buffers", advice.buffers->count);
  }
  add("when", advice.when != OomSettingState::kNotAdvised, ToName(advice.when));
  if (!advice.trials.empty()) {
    Value::List trials;
    for (const OomTrial& trial : advice.trials) {
      trials.push_back(Value::Object{{"setting", trial.setting},
                                     {"passes", trial.passes},
                                     {"unsure", trial.unsure},
                                     {"spare", trial.spare},
                                     {"retries", trial.retries}});
    }
    object.emplace_back("trials", std::move(trials));
  }
  if (!advice.settings.empty()) {
    Value::List settings;
    for (const Setting& setting : advice.settings) {
      settings.push_back(Value::Object{{"name", setting.name}, {"value", setting.value}});
    }
    object.emplace_back("settings", std::move(settings));
  }
  return object;
}

}  // namespace memtool
