// The one way to make a Recording: add rows, then Finish(), which checks every reference and every
// figure once, whoever gave them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

// In place of a segment's allocated, active or requested bytes: those of its blocks.
inline constexpr std::int64_t kSumOfBlocks = -1;

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
  // Of all samples and stacks, which do not change any more.
  void SetSampleSums(std::vector<TypeSums> sums) { recording_.profile->sums = std::move(sums); }
  // The samples are no differences: Finish() checks that none asked for more than it got.
  void SamplesAreAmounts() { amounts_ = true; }
  [[nodiscard]] const Profile& profile() const { return *recording_.profile; }
  [[nodiscard]] std::size_t function_count() const { return recording_.functions.size(); }
  [[nodiscard]] const Function& function(FunctionId id) const {
    return recording_.functions[id.value()];
  }
  [[nodiscard]] std::span<const Label> Labels(LabelSetId id) const { return recording_.Labels(id); }
  [[nodiscard]] std::size_t label_set_count() const { return recording_.label_set_count(); }

  // Takes over whole tables; Finish() checks them.
  void SetHistory(History history) {
    recording_.history = history_ = std::make_shared<History>(std::move(history));
  }
  // `offsets`: where in the input each segment is, for what is said of it.
  void SetState(AllocatorState state, std::vector<std::uint64_t> offsets = {}) {
    recording_.state = state_ = std::make_shared<AllocatorState>(std::move(state));
    segment_offsets_ = std::move(offsets);
  }
  // Nothing is known of it, which is not an empty one.
  void ClearState() { recording_.state = state_ = nullptr; }
  void AddCounter(const Counter& counter) { recording_.counters.push_back(counter); }
  void AddSetting(std::string name, std::string value);
  // `statement` names strings of this builder.
  void AddStatement(const Statement& statement) { recording_.statements.push_back(statement); }
  void AddUnreadLine(UnreadLine line) { recording_.unread_lines.push_back(std::move(line)); }

  void ReserveLocations(std::size_t locations, std::size_t lines);

  // Errors: kMalformed for a reference out of range, columns of unequal length or a state that
  // contradicts itself, kLimit when a table has outgrown its 32-bit ids. A figure that cannot be
  // and that nothing else rests on is left out, with a diagnostic of damage.
  Result<Recording> Finish() &&;

 private:
  std::optional<Error> CheckReferences() const;
  std::optional<Error> CheckFigures();

  Recording recording_;
  // What was set here, and not yet finished by another builder.
  std::shared_ptr<History> history_;
  std::shared_ptr<AllocatorState> state_;
  std::vector<std::uint64_t> segment_offsets_;
  bool amounts_ = false;
  RowMap label_index_;  // by hash
};

// The role that a sample type's name and unit imply ("space/bytes", "inuse_objects/count").
Role GetRole(std::string_view type, std::string_view unit);

}  // namespace memtool
