// Reading the inputs of one command: loads (several at a time), filters, sums, and keeps the notes
// that end up in headers, JSON and on stderr.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "memtool/profile/rows/table.h"
#include "options/input_options.h"
#include "options/view_options.h"
#include "output/report.h"
#include "session/join_inputs.h"

namespace memtool::commands {

// One loaded input with everything that analyses take.
struct Loaded {
  std::string name;
  Recording recording;
  std::unique_ptr<View> view;
  ValueChoice choice;
  StackSums sums;
  double scale = 1.0;
  std::vector<MomentOfTrace> moments;  // of an input with a history, one per chosen trace

  [[nodiscard]] Input AsInput() const {
    return {.view = view.get(), .sums = &sums, .choice = &choice, .name = name, .scale = scale};
  }
};

class Session {
 public:
  using Visit = std::function<Result<void>(std::unique_ptr<Loaded>)>;

  Session(const InputOptions& inputs, Streams& streams) : inputs_(inputs), streams_(streams) {}

  // Loads each name in turn and gives it to `take`; reading ahead uses threads, `take` does not.
  // Errors: the first input that fails, unless --keep-going leaves it out (then it fails only when
  // nothing is left).
  Result<void> ForEachRecording(const std::vector<std::string>& names,
                                const std::function<Result<void>(std::string, Recording)>& take);
  // The same at the moment that `view` asks for, with view, value choice and sums; all inputs get
  // the sample type of the first. The first `bases` names stand at --base-at. Without bases, what
  // two inputs tell of the same bytes counts once, see JoinInputs.
  Result<void> ForEach(const std::vector<std::string>& names, const ViewOptions& view,
                       const Visit& visit, std::size_t bases = 0);

  // The same for one recording that the caller loaded, at a moment and for a device that it chose.
  Result<std::unique_ptr<Loaded>> Take(const std::string& name, Recording recording,
                                       const ViewOptions& view, const MomentSpec& moment,
                                       const std::string& device);
  // An input that cannot be read: with --keep-going it is named on stderr and left out.
  [[nodiscard]] bool LeavesOut(const Error& error) const;
  // A place in headers and JSON for an input that is no recording.
  void Note(InputNote note, std::string display);

  // Notes the filters that matched nothing in one input (View::Unmatched), for views that ForEach
  // did not make.
  void NoteUnmatched(const std::vector<std::string_view>& unmatched);

  // Warns about filters that matched nothing and sums up diagnostics, once, on stderr.
  void Finish();
  // kOk, or kDamage when --strict asks for it.
  [[nodiscard]] ExitCode exit_code() const;
  // Puts inputs, sample type and diagnostics into a report.
  void Describe(Report& report) const;

  [[nodiscard]] Streams& streams() const { return streams_; }
  [[nodiscard]] const std::vector<InputNote>& notes() const { return notes_; }
  [[nodiscard]] const ValueChoice& choice() const { return *choice_; }
  [[nodiscard]] bool is_bytes() const { return choice_ && IsBytes(choice_->role); }
  [[nodiscard]] const std::vector<std::string>& displays() const { return displays_; }
  [[nodiscard]] const JoinInputs& joins() const { return joins_; }
  // For headers: peak, end and OOM of every history that was read, beside the moment shown.
  [[nodiscard]] const std::vector<std::string>& moment_lines() const { return moment_lines_; }

 private:
  // Where a history is looked at, and the input's row of notes_.
  struct Standing {
    const MomentSpec& moment;
    const std::string& device;
    std::size_t note;
  };
  void Note(const std::string& name, const Recording& recording);
  Result<std::unique_ptr<Loaded>> Prepare(std::string name, Recording recording,
                                          const ViewOptions& view, const Standing& at);
  Result<void> Give(std::string name, Recording recording, const ViewOptions& view,
                    const Standing& at, const Visit& visit);

  const InputOptions& inputs_;
  Streams& streams_;
  JoinInputs joins_;
  std::vector<InputNote> notes_;
  std::vector<std::string> displays_;  // format names for people, per input
  std::vector<std::string> moment_lines_;
  std::vector<Diagnostic> diagnostics_;
  std::optional<ValueChoice> choice_;
  std::vector<std::string_view> unmatched_;  // filters that matched in no input so far
  bool any_view_ = false;
};

// For commands of one FILE: reads it, gives it to `take`, and says what was noted. Errors: kUsage
// with `one` as its message when there are several.
Result<ExitCode> OnOneRecording(const InputOptions& input, Streams& streams, std::string_view one,
                                const std::function<Result<void>(Session&, Recording)>& take);

// Loads one side of a comparison and keeps it.
Result<std::vector<std::unique_ptr<Loaded>>> LoadAll(Session& session,
                                                     const std::vector<std::string>& names,
                                                     const ViewOptions& view,
                                                     std::size_t bases = 0);

// The recording at a moment: an input with a history becomes the profile of what is live then, an
// input without one has only its end. Errors: kUsage.
Result<Recording> StandAt(Recording recording, const MomentSpec& moment, const std::string& device,
                          std::vector<MomentOfTrace>* moments);

}  // namespace memtool::commands
