#include "session/input_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <set>
#include <utility>

#include "inputs/xla_dump.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/answerable.h"
#include "memtool/profile/model/extent.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/steps/steps.h"
#include "next/next.h"
#include "session/modelled.h"
#include "session/prefetcher.h"
#include "session/programs.h"
#include "session/recording_cache.h"
#include "words/moments.h"
#include "words/refusals.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

using Shared = std::shared_ptr<const Recording>;

// Of all inputs together; 0 when the size of one is unknown.
std::uint64_t SizeOf(const std::vector<std::string>& names) {
  std::uint64_t sum = 0;
  for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
    const std::uint64_t size = InputSize(name);
    if (size == 0) {
      return 0;
    }
    sum += size;
  }
  return sum;
}

// As it is in the file; kept for later command lines, where there may be any.
Result<Shared> ReadFrom(Prefetcher& prefetcher, PendingInput& reading, RecordingCache* cache) {
  if (reading.cache != nullptr) {
    return reading.cache;
  }
  Result<Recording> recording = prefetcher.Await(reading);
  MEMTOOL_TRY(recording);
  auto shared = std::make_shared<const Recording>(*std::move(recording));
  if (reading.key) {
    cache->Keep(*reading.key, shared);
  }
  return shared;
}

// What was read; null when it was named before and could not be read then.
Result<Shared> Finished(Prefetcher& prefetcher, PendingInput& reading, ReadBefore& before,
                        RecordingCache* cache, const InputOptions& inputs) {
  if (reading.cache == nullptr && !reading.result.valid()) {
    return before.Take(reading.name);
  }
  Result<Shared> shared = ReadFrom(prefetcher, reading, cache);
  if (shared) {
    shared = Modelled(inputs, *std::move(shared));
  }
  if (!shared && shared.error().input.empty()) {
    shared.error().input = reading.name;
  }
  before.Keep(reading.name, shared ? *shared : nullptr);
  return shared;
}

}  // namespace

bool InputReader::LeavesOut(const Error& error) {
  if (inputs_.keep_going()) {
    progress_.Stop();  // a message needs its own line
    Warn(streams_, "left out: " + ToString(error));
  }
  return inputs_.keep_going();
}

void InputReader::Note(const std::string& name, const Shared& recording) {
  notes_.push_back(
      {.path = name == "-" ? "standard input" : name, .format = recording->metadata.format});
  displays_.push_back(recording->metadata.format_display);
  if (streams_.names_next && !streams_.facts) {
    streams_.facts = std::make_shared<const InputFacts>(FactsOf(*recording));
  }
  // Without blocks at its end there is nothing that a history must end at.
  index_ = recording->history && recording->state ? IndexOf(recording) : nullptr;
  AddDiagnostics(*recording, index_.get(), diagnostics_);
  const auto lacking = NoteLacking(*recording);
  if (lacking && std::find(moment_lines_.begin(), moment_lines_.end(), lacking->message) ==
                     moment_lines_.end()) {
    moment_lines_.push_back(lacking->message);
  }
}

Result<void> InputReader::ForEachRecording(const std::vector<std::string>& names,
                                           const VisitRecording& visit) {
  formats::OpenOptions options = inputs_.load();
  options.on_bytes = [this](std::uint64_t bytes) { progress_.Read(bytes); };
  progress_.Expect(SizeOf(names));
  ReadBefore before(names);
  Prefetcher prefetcher(names, inputs_.jobs(), options, streams_.cache, before);
  std::size_t visited = 0;
  Error last;
  while (std::optional<PendingInput> next = prefetcher.Next()) {
    PendingInput& reading = *next;
    auto shared = Finished(prefetcher, reading, before, streams_.cache, inputs_);
    if (!shared) {
      last = std::move(shared.error());
      if (!LeavesOut(last)) {
        return Fail(std::move(last));
      }
      continue;
    }
    if (*shared == nullptr) {
      continue;
    }
    Note(reading.name, *shared);
    ++visited;
    auto done = visit(reading.name, *std::move(shared));
    index_.reset();
    if (!done) {
      if (done.error().input.empty()) {
        done.error().input = reading.name;
      }
      return done;
    }
  }
  return visited == 0 ? Result<void>(Fail(std::move(last))) : Result<void>();
}

Shared InputReader::FindCached(const std::string& name) const {
  return streams_.cache == nullptr
             ? nullptr
             : streams_.cache->Find(RecordingCache::GetKey(name, inputs_.load()));
}

std::shared_ptr<const HistoryIndex> InputReader::IndexOf(const Shared& recording) const {
  if (index_ && index_->shared() == recording) {
    return index_;
  }
  return streams_.cache == nullptr ? std::make_shared<const HistoryIndex>(recording)
                                   : streams_.cache->IndexOf(recording);
}

std::shared_ptr<const StepPlaces> InputReader::PlacesOf(const HistoryIndex& index) const {
  return streams_.cache == nullptr ? std::make_shared<const StepPlaces>(index)
                                   : streams_.cache->PlacesOf(index);
}

Result<Selection> InputReader::SelectRead(Read read, const ViewOptions& view,
                                          const MomentSpec& given, const std::string& device,
                                          std::string_view side) {
  MomentSpec moment = view.MakeMoment(*read.recording, given);
  MEMTOOL_TRY(CheckMoment(*read.recording, moment));
  MEMTOOL_TRY(view.ChooseKeywords(*read.recording));
  if (read.index == nullptr && read.recording->history) {
    read.index = IndexOf(read.recording);
  }
  if (read.index != nullptr) {
    auto placed = PlaceStep(std::move(moment), *read.index, device);
    MEMTOOL_TRY(placed);
    moment = *std::move(placed);
  }
  std::string name =
      IsProgram(*read.recording) ? ProgramName(read.name, *read.recording) : std::move(read.name);
  std::optional<LiveRecording> live;
  if (read.index != nullptr && streams_.cache != nullptr) {
    auto known = streams_.cache->LiveAt(*read.index, moment, device);
    MEMTOOL_TRY(known);
    live = *std::move(known);
  }
  auto selection = Select(std::move(read.recording),
                          {.name = std::move(name),
                           .moment = std::move(moment),
                           .device = device,
                           .filter = view.filter(),
                           .sample_type = view.sample_index(),
                           .like = choice_,
                           .live = std::move(live)},
                          std::move(read.index));
  MEMTOOL_TRY(selection);
  choice_ = choice_ ? choice_ : selection->choice();
  NoteUnlike(selection->source(), read.note);
  notes_[read.note].moment = selection->moment().text;
  for (std::string& line : MomentLines(*selection)) {
    moment_lines_.push_back(side.empty() ? std::move(line) : fmt::format("{}: {}", side, line));
  }
  NoteUnmatched(selection->view());
  NoteSums(selection->sums());
  return selection;
}

// What is added up or compared should count the same. Logs of a driver and stacks of a tag log
// stand beside other inputs by their nature.
void InputReader::NoteUnlike(const Recording& recording, std::size_t note) {
  const Origin& origin = recording.metadata.origin;
  if (origin.kind == RecordingKind::kDriverLog || origin.kind == RecordingKind::kTagStacks) {
    return;
  }
  if (!first_) {
    first_ = {.framework = origin.framework, .kind = origin.kind, .note = note};
    return;
  }
  const bool unknown =
      first_->framework == Framework::kUnknown || origin.framework == Framework::kUnknown;
  const bool alike =
      first_->kind == origin.kind && (unknown || first_->framework == origin.framework);
  if (alike || unlike_) {
    return;
  }
  unlike_ = true;
  const auto said = [this](std::size_t row) {
    return fmt::format("{} is {}", notes_[row].path, WithArticle(displays_[row]));
  };
  std::string message = fmt::format("unlike inputs: {}, {}", said(first_->note), said(note));
  diagnostics_.push_back(
      {.severity = Severity::kNote, .code = "unlike_inputs", .message = message});
  progress_.Stop();
  Warn(streams_, message);
}

// Rows and totals of several inputs are sums of theirs.
void InputReader::NoteSums(const StackSums& sums) {
  bool saturated = sums.saturated || (watches_counts_ && sums.counts_saturated);
  AddTo(magnitude_, sums.magnitude, saturated);
  if (saturated) {
    NoteClamped();
  }
}

Result<Selection> InputReader::SelectAt(const std::string& name,
                                        std::shared_ptr<const Recording> recording,
                                        const ViewOptions& view, const MomentSpec& moment,
                                        const std::string& device) {
  Note(name, recording);
  return SelectRead({name, std::move(recording), std::exchange(index_, nullptr), notes_.size() - 1},
                    view, moment, device);
}

void InputReader::Note(InputNote note, std::string display) {
  notes_.push_back(std::move(note));
  displays_.push_back(std::move(display));
}

Result<void> InputReader::ForEach(const std::vector<std::string>& names, const ViewOptions& view,
                                  const Visit& visit, std::size_t bases) {
  if (bases == 0 && names.size() > 1) {
    return ForEachJoined(names, view, visit);
  }
  std::size_t index = 0;
  return ForEachRecording(
      names, [&](std::string name, std::shared_ptr<const Recording> recording) -> Result<void> {
        const bool is_base = index++ < bases;
        const MomentSpec& moment = is_base ? view.base_moment() : view.moment();
        const std::string_view side = bases == 0 ? "" : is_base ? "base" : "new";
        auto selection =
            SelectRead({std::move(name), std::move(recording), nullptr, notes_.size() - 1}, view,
                       moment, view.device(), side);
        MEMTOOL_TRY(selection);
        return visit(*std::move(selection));
      });
}

Result<void> InputReader::ForEachJoined(const std::vector<std::string>& names,
                                        const ViewOptions& view, const Visit& visit) {
  std::vector<Read> waiting;
  Largest largest;
  joins_ = JoinInputs(names);
  auto done = ForEachRecording(
      names, [&](std::string name, std::shared_ptr<const Recording> recording) -> Result<void> {
        Read read{std::move(name), std::move(recording), nullptr, notes_.size() - 1};
        if (read.recording->history) {
          read.index = IndexOf(read.recording);
        }
        if (!apart_ && IsProgram(*read.recording)) {
          largest.Add(std::move(read));
          return {};
        }
        if (JoinInputs::Waits(*read.recording)) {
          waiting.push_back(std::move(read));
          return {};
        }
        MEMTOOL_TRY(joins_.Add(read.name, *read.recording, read.index.get(), view));
        auto selection = SelectRead(std::move(read), view, view.moment(), view.device());
        MEMTOOL_TRY(selection);
        return visit(*std::move(selection));
      });
  for (auto it = waiting.begin(); done && it != waiting.end(); ++it) {
    MomentSpec moment = view.moment();
    auto joined = joins_.LeaveOut(it->name, it->recording, it->index, moment);
    MEMTOOL_TRY(joined);
    if (*joined) {
      moment_lines_.push_back((*joined)->message);
      diagnostics_.push_back(**std::move(joined));
    }
    auto selection = SelectRead(std::move(*it), view, moment, view.device());
    MEMTOOL_TRY(selection);
    done = visit(*std::move(selection));
  }
  if (done && largest.read) {
    if (std::string text = NoteLargest(largest); !text.empty()) {
      moment_lines_.push_back(std::move(text));
    }
    auto selection = SelectRead(*std::move(largest.read), view, view.moment(), view.device());
    MEMTOOL_TRY(selection);
    done = visit(*std::move(selection));
  }
  return done;
}

void InputReader::Finish() {
  progress_.Stop();
  for (const std::string& line : unmatched_.Lines()) {
    Warn(streams_, line);
  }
  std::uint64_t damages = 0;
  std::string first;
  for (const Diagnostic& diagnostic : diagnostics_) {
    if (diagnostic.severity != Severity::kNote && diagnostic.code != kClampedSums) {
      damages += diagnostic.count;
      first = first.empty() ? diagnostic.message : first;
    }
  }
  if (damages > 0) {
    Warn(streams_, fmt::format("read around {} fault{}: {} (--format json lists all)", damages,
                               PluralS(damages), first));
  }
  if (HasClampedSums(diagnostics_)) {
    Warn(streams_, ClampedSums().message);
  }
}

ExitCode InputReader::exit_code() const {
  const bool damaged = std::any_of(
      diagnostics_.begin(), diagnostics_.end(),
      [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::kDamage; });
  return damaged && inputs_.strict() ? ExitCode::kDamage : ExitCode::kOk;
}

AnswerHead InputReader::Head(std::string_view question) const {
  AnswerHead head{.question = question, .inputs = notes_, .diagnostics = diagnostics_};
  if (choice_) {
    head.sample_type = choice_->name;
    head.unit = IsBytes(choice_->role) ? "bytes" : choice_->unit;
  }
  return head;
}

Result<ExitCode> OnOneRecording(
    const InputOptions& input, Streams& streams, std::string_view one,
    const std::function<Result<void>(InputReader&, std::shared_ptr<const Recording>)>& visit) {
  auto names = input.Names(streams);
  MEMTOOL_TRY(names);
  if (names->size() != 1 && !AreDumped(*names)) {
    return Fail(ErrorCode::kUsage, std::string(one));
  }
  InputReader input_reader(input, streams);
  if (names->size() != 1) {
    MEMTOOL_TRY(input_reader.ForLargest(
        *names, [&](const std::string&, std::shared_ptr<const Recording> recording) {
          return visit(input_reader, std::move(recording));
        }));
    input_reader.Finish();
    return input_reader.exit_code();
  }
  MEMTOOL_TRY(input_reader.ForEachRecording(
      *names, [&](const std::string&, std::shared_ptr<const Recording> recording) {
        return visit(input_reader, std::move(recording));
      }));
  input_reader.Finish();
  return input_reader.exit_code();
}

Result<std::vector<Selection>> SelectAll(InputReader& input_reader,
                                         const std::vector<std::string>& names,
                                         const ViewOptions& view, std::size_t bases) {
  std::vector<Selection> all;
  MEMTOOL_TRY(input_reader.ForEach(
      names, view,
      [&all](Selection selection) -> Result<void> {
        all.push_back(std::move(selection));
        return {};
      },
      bases));
  return all;
}

}  // namespace memtool::commands
