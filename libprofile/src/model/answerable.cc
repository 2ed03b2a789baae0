#include "memtool/profile/model/answerable.h"

#include <algorithm>
#include <array>

namespace memtool {

namespace {

bool HasSamples(const Recording& recording) {
  return recording.profile || recording.history;  // a history has them at every moment
}

bool HasBytes(const Recording& recording) {
  return IsOfMemory(recording);
}

bool HasHistory(const Recording& recording) {
  return recording.history != nullptr;
}

bool HasEvents(const Recording& recording) {
  return recording.history && !recording.history->events.empty();
}

bool HasAllocator(const Recording& recording) {
  return recording.history && recording.state;
}

// Without the allocator's state a failure still says what was asked for, and what was live. Of a
// job's log its messages are read instead, which name devices in words of their own.
bool CanRunOut(const Recording& recording) {
  const RecordingKind kind = recording.metadata.origin.kind;
  return recording.history && kind != RecordingKind::kProgram && kind != RecordingKind::kLog &&
         (recording.state || recording.history->Has(Action::kOom));
}

// A log gives bytes per token, or nothing to scale by.
bool CanFit(const Recording& recording) {
  return recording.metadata.origin.kind != RecordingKind::kLog
             ? HasHistory(recording)
             : std::any_of(recording.statements.begin(), recording.statements.end(),
                           [](const Statement& statement) {
                             return statement.what().name == "kv_tokens" ||
                                    statement.what().name == "kv_cells";
                           });
}

struct Question {
  std::string_view name;
  bool (*answerable)(const Recording&);
};

constexpr std::array kQuestions{
    Question{"top", HasSamples},    Question{"buckets", HasSamples},
    Question{"account", HasBytes},  Question{"tags", HasSamples},
    Question{"tree", HasSamples},   Question{"peek", HasSamples},
    Question{"flame", HasSamples},  Question{"traces", HasSamples},
    Question{"dot", HasSamples},    Question{"timeline", HasHistory},
    Question{"steps", HasHistory},  Question{"segments", HasAllocator},
    Question{"events", HasHistory}, Question{"oom", CanRunOut},
    Question{"whatif", HasHistory}, Question{"fit", CanFit},
    Question{"leaks", HasEvents},   Question{"cut", HasAllocator},
};

}  // namespace

bool IsOfMemory(const Recording& recording) {
  return recording.history ||
         (recording.profile &&
          std::any_of(recording.profile->types.begin(), recording.profile->types.end(),
                      [](const SampleType& type) { return IsBytes(type.role); }));
}

std::vector<std::string_view> QuestionsFor(const Recording& recording) {
  std::vector<std::string_view> names;
  for (const Question& question : kQuestions) {
    if (question.answerable(recording)) {
      names.push_back(question.name);
    }
  }
  return names;
}

bool CanAnswer(const Recording& recording, std::string_view question) {
  return std::any_of(kQuestions.begin(), kQuestions.end(), [&](const Question& known) {
    return known.name == question && known.answerable(recording);
  });
}

}  // namespace memtool
