#include "memtool/profile/model/extent.h"

#include <fmt/format.h>

#include <algorithm>

#include "memtool/profile/model/answerable.h"

namespace memtool {

namespace {

// Of what is live.
std::size_t CountStacks(const AllocatorState& state) {
  return static_cast<std::size_t>(
      std::count_if(state.blocks.begin(), state.blocks.end(), [](const Block& block) {
        return block.state != BlockState::kInactive && block.stack.valid();
      }));
}

// "samples (count), cpu (nanoseconds)".
std::string TypesText(const Recording& recording) {
  std::string text;
  for (const SampleType& type : recording.profile->types) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", recording.Text(type.type),
                        recording.Text(type.unit));
  }
  return text;
}

}  // namespace

Extent ExtentOf(const Recording& recording) {
  if (recording.metadata.origin.kind != RecordingKind::kSnapshot || !recording.history ||
      !recording.state || recording.state->segments.empty()) {
    return Extent::kWhole;
  }
  const std::size_t stacks = CountStacks(*recording.state);
  if (recording.history->events.empty()) {
    return stacks == 0 ? Extent::kNothing : Extent::kWhole;
  }
  const auto& traces = recording.history->traces;
  const bool single = std::all_of(traces.begin(), traces.end(),
                                  [](const Trace& trace) { return trace.event_count <= 1; });
  return single && stacks > traces.size() ? Extent::kLastEvent : Extent::kWhole;
}

std::string TorchModule(std::string_view platform) {
  std::string module(platform.empty() ? "cuda" : platform);
  for (char& c : module) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return module;
}

std::string RecordCall(const Recording& recording) {
  return fmt::format("torch.{}.memory._record_memory_history()",
                     TorchModule(recording.metadata.origin.platform));
}

std::optional<Diagnostic> NoteLacking(const Recording& recording) {
  if (!IsOfMemory(recording) && recording.profile) {
    return Diagnostic{.severity = Severity::kNote,
                      .code = "not_memory",
                      .message = "not a profile of memory: it counts " + TypesText(recording)};
  }
  switch (ExtentOf(recording)) {
    case Extent::kWhole:
      break;
    case Extent::kNothing:
      return Diagnostic{
          .severity = Severity::kNote,
          .code = std::string(kNothingRecorded),
          .message = fmt::format("nothing was recorded: call {} first", RecordCall(recording))};
    case Extent::kLastEvent:
      return Diagnostic{
          .severity = Severity::kNote,
          .code = std::string(kRingOfOneEvent),
          .message = fmt::format("the ring held one event: what is live has its stack, but no "
                                 "peak is known; {} takes max_entries",
                                 RecordCall(recording))};
  }
  return std::nullopt;
}

}  // namespace memtool
