#include "memtool/profile/model/extent.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memtool/profile/model/answerable.h"

namespace memtool {

namespace {

// Of what is live: how many have a stack, and how many are there.
std::pair<std::size_t, std::size_t> CountStacks(const AllocatorState& state) {
  std::pair<std::size_t, std::size_t> counts;
  for (const Block& block : state.blocks) {
    const bool live = block.state != BlockState::kInactive;
    counts.first += live && block.stack.valid() ? 1 : 0;
    counts.second += live ? 1 : 0;
  }
  return counts;
}

// "what is live has its stack", "514 of 839 live blocks have their stack".
std::string HaveStacks(const AllocatorState& state) {
  const auto [stacks, live] = CountStacks(state);
  return stacks == live ? "what is live has its stack"
                        : fmt::format("{} of {} live blocks have their stack", stacks, live);
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
  const std::size_t stacks = CountStacks(*recording.state).first;
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
          .message = fmt::format("the ring held one event: {}, but no peak is known; {} takes "
                                 "max_entries{}",
                                 HaveStacks(*recording.state), RecordCall(recording),
                                 recording.metadata.origin.schema.starts_with("2.0")
                                     ? " (in PyTorch 2.0 trace_alloc_max_entries)"
                                     : "")};
  }
  return std::nullopt;
}

}  // namespace memtool
