#include "words/subjects.h"

namespace memtool::commands {

namespace {

std::string_view OptionOf(Subject subject) {
  switch (subject) {
    case Subject::kNone:
      return "";
    case Subject::kMoment:
      return "--at";
    case Subject::kBaseMoment:
      return "--base-at";
    case Subject::kRangeBegin:
      return "--from";
    case Subject::kRangeEnd:
      return "--to";
    case Subject::kDevice:
      return "--device";
    case Subject::kGrouping:
      return "--by";
    case Subject::kTimeAxis:
      return "--axis time";
    case Subject::kStepMark:
      return "--step-mark";
    case Subject::kSteps:
      return "--steps";
    case Subject::kMultiError:
      return "--multi error";
    case Subject::kMultiFirst:
      return "--multi first";
    case Subject::kKeywords:
      return "--keywords";
    case Subject::kFocus:
      return "--focus";
    case Subject::kIgnore:
      return "--ignore";
    case Subject::kHide:
      return "--hide";
    case Subject::kShow:
      return "--show";
    case Subject::kShowFrom:
      return "--show-from";
    case Subject::kPruneFrom:
      return "--prune-from";
    case Subject::kTagFocus:
      return "--tagfocus";
    case Subject::kTagIgnore:
      return "--tagignore";
    case Subject::kTagShow:
      return "--tagshow";
    case Subject::kTagHide:
      return "--taghide";
    case Subject::kInputFormat:
      return "--input-format";
    case Subject::kOverview:
      return "memtool info";
    case Subject::kComparison:
      return "memtool diff";
    case Subject::kTimeline:
      return "memtool timeline --format json";
    case Subject::kOutOfMemory:
      return "memtool oom";
    case Subject::kMemoryLimit:
      return "--limit memory=SIZE, see memtool help limits";
  }
  return "";
}

}  // namespace

std::string Worded(const Error& error) {
  return ToString(error, OptionOf);
}

}  // namespace memtool::commands
