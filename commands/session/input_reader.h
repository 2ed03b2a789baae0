// Reads the inputs of one command: opens them (several at once), applies the selection, and
// collects notes for headers, JSON and stderr.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/model/clamped_sums.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/select/selection.h"
#include "memtool/profile/steps/step_places.h"
#include "options/input_options.h"
#include "options/view_options.h"
#include "session/join_inputs.h"
#include "session/progress.h"
#include "session/unmatched.h"

namespace memtool::commands {

class InputReader {
 public:
  using Visit = std::function<Result<void>(Selection)>;
  using VisitRecording = std::function<Result<void>(std::string, std::shared_ptr<const Recording>)>;

  InputReader(const InputOptions& inputs, Streams& streams)
      : inputs_(inputs), streams_(streams), progress_(streams.err) {
    streams.out.BeforeOutput([this] { progress_.Stop(); });
  }
  ~InputReader() { streams_.out.BeforeOutput({}); }
  InputReader(const InputReader&) = delete;
  InputReader& operator=(const InputReader&) = delete;

  // Reads each name in turn and hands it to `visit`; reading ahead uses threads, `visit` does not.
  // Errors: the first input that fails, unless --keep-going leaves it out (then it fails only when
  // nothing is left).
  Result<void> ForEachRecording(const std::vector<std::string>& names, const VisitRecording& visit);
  // The same at the moment that `view` asks for; all inputs get the sample type of the first. The
  // first `bases` names are selected at --base-at. Without bases, bytes that two inputs report
  // about count once, see JoinInputs.
  Result<void> ForEach(const std::vector<std::string>& names, const ViewOptions& view,
                       const Visit& visit, std::size_t bases = 0);

  // Of several compiled programs, which need not be there at once, ForEach hands on the one that
  // needs most, and says so, unless the command keeps its inputs apart.
  void KeepApart() { apart_ = true; }
  // Reads all names, and visits the recording of the program that needs most alone.
  Result<void> ForLargest(const std::vector<std::string>& names, const VisitRecording& visit);

  // The same for one recording that the caller read, at a moment and for a device that it chose.
  Result<Selection> SelectAt(const std::string& name, std::shared_ptr<const Recording> recording,
                             const ViewOptions& view, const MomentSpec& moment,
                             const std::string& device);
  // The cached recording of that name from an earlier command line, or null.
  [[nodiscard]] std::shared_ptr<const Recording> FindCached(const std::string& name) const;
  // The replayed history of a recording that has one.
  [[nodiscard]] std::shared_ptr<const HistoryIndex> IndexOf(
      const std::shared_ptr<const Recording>& recording) const;
  // Where in a run its allocations are made.
  [[nodiscard]] std::shared_ptr<const StepPlaces> PlacesOf(const HistoryIndex& index) const;
  // An input that cannot be read: with --keep-going it is named on stderr and left out.
  [[nodiscard]] bool LeavesOut(const Error& error);
  // An entry in headers and JSON for an input that is not a recording.
  void Note(InputNote note, std::string display);

  // Notes the filters that matched nothing in one input, for views that ForEach did not make;
  // `except`: a filter that was applied elsewhere.
  void NoteUnmatched(const View& view, std::string_view except = {}) {
    unmatched_.Note(view, except);
  }

  // Says that inputs which are added up or compared are of unlike kinds, for those that ForEach did
  // not see; `note`: the input's row of notes().
  void NoteUnlike(const Recording& recording, std::size_t note);
  // Notes once that sums left the 64-bit range, for sums that ForEach did not see.
  void NoteClamped() { NoteClampedSums(diagnostics_); }
  // For commands that show what samples count: their sums are watched too.
  void WatchCounts() { watches_counts_ = true; }

  // Warns about filters that matched nothing and sums up diagnostics, once, on stderr.
  void Finish();
  // kOk, or kDamage when --strict asks for it.
  [[nodiscard]] ExitCode exit_code() const;
  // What answers say about the inputs, with the notes that joining them made.
  [[nodiscard]] AnswerHead Head(std::string_view question) const;

  [[nodiscard]] Streams& streams() const { return streams_; }
  [[nodiscard]] const std::vector<InputNote>& notes() const { return notes_; }
  [[nodiscard]] const ValueChoice& choice() const { return *choice_; }
  // What the amounts are, for people: frameworks call live bytes "space" in their files.
  [[nodiscard]] std::string_view type_word() const {
    return is_bytes() && choice_->name == "space" ? std::string_view("live") : choice_->name;
  }
  [[nodiscard]] bool is_bytes() const { return choice_ && IsBytes(choice_->role); }
  [[nodiscard]] const std::vector<std::string>& displays() const { return displays_; }
  [[nodiscard]] const JoinInputs& joins() const { return joins_; }
  // For headers: peak, end and OOM of every history that was read, besides the moment shown; in a
  // comparison with its side, "base at start: ...".
  [[nodiscard]] const std::vector<std::string>& moment_lines() const { return moment_lines_; }

 private:
  // A read input on its way to a selection.
  struct Read {
    std::string name;
    std::shared_ptr<const Recording> recording;
    std::shared_ptr<const HistoryIndex> index;  // set where it was already needed
    std::size_t note = 0;                       // its row of notes_
  };
  void Note(const std::string& name, const std::shared_ptr<const Recording>& recording);
  void NoteSums(const StackSums& sums);
  // `side`: what a comparison calls the input, for the lines of moment_lines().
  Result<Selection> SelectRead(Read read, const ViewOptions& view, const MomentSpec& given,
                               const std::string& device, std::string_view side = {});
  // The largest of the compiled programs that were read so far.
  struct Largest {
    std::optional<Read> read{};
    std::int64_t bytes = -1;
    std::vector<std::size_t> others{};  // rows of notes_

    void Add(Read program);
  };
  // Takes the others from the notes. -> which one of several it is; empty where there is one only
  std::string NoteLargest(Largest& largest);
  Result<void> ForEachJoined(const std::vector<std::string>& names, const ViewOptions& view,
                             const Visit& visit);

  const InputOptions& inputs_;
  Streams& streams_;
  Progress progress_;
  JoinInputs joins_;
  std::vector<InputNote> notes_;
  std::vector<std::string> displays_;  // format names for people, per input
  std::vector<std::string> moment_lines_;
  std::vector<Diagnostic> diagnostics_;
  std::shared_ptr<const HistoryIndex> index_;  // of the recording that is being visited
  std::optional<ValueChoice> choice_;
  // Of what is added up or compared: what the first input is.
  struct FirstKind {
    Framework framework;
    RecordingKind kind;
    std::size_t note;  // its row of notes_
  };
  std::optional<FirstKind> first_;
  bool unlike_ = false;
  std::int64_t magnitude_ = 0;  // of all that was selected
  bool watches_counts_ = false;
  bool apart_ = false;
  Unmatched unmatched_;
};

// For commands of one FILE: reads it, hands it to `visit`, and says what was noted. Errors: kUsage
// with `one` as its message when there are several.
Result<ExitCode> OnOneRecording(
    const InputOptions& input, Streams& streams, std::string_view one,
    const std::function<Result<void>(InputReader&, std::shared_ptr<const Recording>)>& visit);

// All selections at once, for comparisons.
Result<std::vector<Selection>> SelectAll(InputReader& input_reader,
                                         const std::vector<std::string>& names,
                                         const ViewOptions& view, std::size_t bases = 0);

}  // namespace memtool::commands
