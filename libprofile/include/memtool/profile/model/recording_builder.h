// The one way to make a Recording: add rows, then Finish(), which checks every reference once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

class RecordingBuilder {
 public:
  RecordingBuilder() { recording_.label_sets.Add({}); }
  // Continues a finished recording: what is added comes after its rows.
  explicit RecordingBuilder(Recording recording);

  StringId Intern(std::string_view text) { return recording_.strings.Intern(text); }
  [[nodiscard]] std::string_view Text(StringId id) const { return recording_.strings[id]; }

  // What has been added so far.
  [[nodiscard]] const Recording& recording() const { return recording_; }

  Metadata& metadata() { return recording_.metadata; }
  // What has been added, to be changed in place; Finish() checks it.
  std::vector<Mapping>& mappings() { return recording_.mappings; }
  std::vector<Location>& locations() { return recording_.locations; }
  Profile& samples() { return *recording_.profile; }

  void AddDiagnostic(Diagnostic diagnostic);
  // Nothing where it never occurred.
  void AddDiagnostic(Severity severity, std::string code, std::string message, std::uint64_t count);
  void AddBlindSpot(std::string what, std::string why);

  MappingId AddMapping(const Mapping& mapping);
  FunctionId AddFunction(const Function& function);
  // `lines` innermost first; none = a location without symbols.
  LocationId AddLocation(Location location, std::span<const Line> lines);
  // Innermost first. Equal stacks may be added twice; readers avoid it because every analysis
  // works once per distinct stack.
  StackId AddStack(std::span<const LocationId> locations);
  // The same without a copy: a stack is what was added since the stack before.
  void AddStackLocations(std::span<const LocationId> locations) {
    recording_.stacks.Append(locations);
  }
  StackId EndStack() { return recording_.stacks.EndRow(); }
  // Takes over all stacks, in place of those that there were.
  void SetStacks(Runs<StackId, LocationId> stacks) { recording_.stacks = std::move(stacks); }
  // Equal sets get one id. The empty set is id 0.
  LabelSetId InternLabels(std::span<const Label> labels);

  // Declares the sample types; before the first AddSample.
  void StartProfile(std::vector<SampleType> types, StringId default_type);
  // Takes over whole columns of samples (values[type][sample]).
  void SetSamples(RowVector<StackId> stacks, RowVector<LabelSetId> label_sets,
                  std::vector<RowVector<std::int64_t>> values);
  void AddSample(StackId stack, LabelSetId labels, std::span<const std::int64_t> values);
  void SetUnknownSizes(std::vector<std::uint32_t> samples);
  [[nodiscard]] const Profile& profile() const { return *recording_.profile; }
  [[nodiscard]] std::size_t function_count() const { return recording_.functions.size(); }
  [[nodiscard]] const Function& function(FunctionId id) const {
    return recording_.functions[id.value()];
  }
  [[nodiscard]] std::span<const Label> Labels(LabelSetId id) const { return recording_.Labels(id); }
  [[nodiscard]] std::size_t label_set_count() const { return recording_.label_set_count(); }

  // Takes over whole tables; Finish() checks them.
  void SetHistory(History history) {
    recording_.history = std::make_shared<const History>(std::move(history));
  }
  void SetState(AllocatorState state) {
    recording_.state = std::make_shared<const AllocatorState>(std::move(state));
  }
  void AddCounter(const Counter& counter) { recording_.counters.push_back(counter); }
  void AddSetting(std::string name, std::string value);

  void ReserveLocations(std::size_t locations, std::size_t lines);
  void ReserveStacks(std::size_t stacks, std::size_t locations);

  // Errors: kMalformed for a reference out of range or columns of unequal length, kLimit when a
  // table has outgrown its 32-bit ids.
  Result<Recording> Finish() &&;

 private:
  Recording recording_;
  RowMap label_index_;  // by hash
};

// The role that a sample type's name and unit imply ("space/bytes", "inuse_objects/count").
Role GetRole(std::string_view type, std::string_view unit);

}  // namespace memtool
