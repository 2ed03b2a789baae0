#include "overview/next.h"

#include <fmt/format.h>

#include <array>

#include "memtool/profile/model/answerable.h"
#include "memtool/profile/model/extent.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kMaxSteps = 4;

struct Rule {
  std::string_view question;  // of memtool::QuestionsFor
  bool (*applies)(const Recording&, const Found&);
  std::string_view words;  // between "memtool" and the file
  std::string_view why;
};

bool IsPlan(const Recording& recording) {
  return recording.metadata.origin.kind == RecordingKind::kProgram;
}

bool Ran(const Recording& recording, const Found& /*found*/) {
  return HasRun(recording);
}

bool Always(const Recording& /*recording*/, const Found& /*found*/) {
  return true;
}

constexpr auto kRules = std::to_array<Rule>({
    {"oom", [](const Recording&, const Found& found) { return found.ran_out; }, "oom",
     "why it failed, and what would have helped"},
    {"whatif",
     [](const Recording& recording, const Found& found) {
       return found.ran_out && recording.metadata.origin.framework == Framework::kPyTorch;
     },
     "whatif", "the run replayed with other allocator settings"},
    {"leaks", [](const Recording&, const Found& found) { return found.grows; }, "leaks",
     "which lines grow, step by step"},
    {"buckets", [](const Recording&, const Found& found) { return found.many_others; },
     "buckets --explain Others", "what is in no category"},
    {"timeline", Ran, "timeline", "memory over the whole run, by who holds it"},
    {"steps", Ran, "steps", "the peak of each step"},
    {"segments",
     [](const Recording& recording, const Found&) { return recording.state && !IsPlan(recording); },
     "segments", "what the allocator holds, and what fragments it"},
    {"flame", Always, "flame", "all of it, by who called whom"},
    {"tags",
     [](const Recording& recording, const Found&) {
       return recording.label_set_count() > 1 && !IsPlan(recording);
     },
     "tags", "bytes by label: device, kind and others"},
    {"account",
     [](const Recording& recording, const Found&) {
       return recording.metadata.origin.framework != Framework::kUnknown;
     },
     "account", "where every byte of the card went"},
    {"top", [](const Recording& recording, const Found&) { return !HasRun(recording); },
     "diff BASE", "what changed since another file"},
});

}  // namespace

bool HasRun(const Recording& recording) {
  return CanAnswer(recording, "leaks") && ExtentOf(recording) == Extent::kWhole &&
         !IsPlan(recording);
}

std::vector<NextStep> NextSteps(const Recording& recording, const Found& found,
                                std::string_view file) {
  std::vector<NextStep> steps;
  for (const Rule& rule : kRules) {
    if (steps.size() < kMaxSteps && CanAnswer(recording, rule.question) &&
        rule.applies(recording, found)) {
      steps.push_back({fmt::format("memtool {} {}", rule.words, file), rule.why});
    }
  }
  return steps;
}

}  // namespace memtool::commands
