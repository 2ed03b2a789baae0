// memtool convert and memtool merge: inputs into files that other tools read.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <utility>

#include "base/command.h"
#include "memtool/formats/left_out.h"
#include "memtool/formats/writer.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/rows/merge.h"
#include "memtool/profile/select/at_moment.h"
#include "options/input_options.h"
#include "options/keywords_option.h"
#include "options/view_options.h"
#include "output/whole_file.h"
#include "ranks/names/process_names.h"
#include "session/input_reader.h"
#include "session/programs.h"
#include "words/known_words.h"
#include "words/refusals.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

// What a command line can choose: all but what `cut` writes.
std::vector<const formats::Writer*> Choices() {
  std::vector<const formats::Writer*> choices;
  for (const formats::Writer* writer : formats::Writers()) {
    if (writer->writes() != formats::Written::kHistory) {
      choices.push_back(writer);
    }
  }
  return choices;
}

std::vector<std::string> ChoiceNames() {
  std::vector<std::string> names;
  for (const formats::Writer* writer : Choices()) {
    names.emplace_back(writer->name());
  }
  return names;
}

// "pprof, folded or json".
std::string ChoicesText() {
  const std::vector<std::string> names = ChoiceNames();
  return OneOf(std::vector<std::string_view>(names.begin(), names.end()));
}

// The writer that the user named; null when there is none.
const formats::Writer* Chosen(std::string_view wanted) {
  const auto choices = Choices();
  const auto found = std::find_if(choices.begin(), choices.end(), [wanted](const auto* writer) {
    return writer->name() == wanted;
  });
  return found == choices.end() ? nullptr : *found;
}

// The formats that filters work with.
std::string SelectingText() {
  std::string text;
  for (const formats::Writer* writer : Choices()) {
    if (writer->writes() == formats::Written::kSelection) {
      text += (text.empty() ? "--to " : " or --to ") + std::string(writer->name());
    }
  }
  return text;
}

// Inputs minus bases as one recording.
Result<std::shared_ptr<const Recording>> Combined(InputReader& input_reader,
                                                  const ViewOptions& view,
                                                  const std::vector<std::string>& names,
                                                  const std::vector<std::string>& bases) {
  std::vector<std::shared_ptr<const Recording>> recordings;
  std::vector<std::string> all = names;
  all.insert(all.end(), bases.begin(), bases.end());
  auto done =
      input_reader.ForEachRecording(all, [&](const std::string&, const auto& read) -> Result<void> {
        input_reader.NoteUnlike(*read, input_reader.notes().size() - 1);
        const MomentSpec moment = view.MakeMoment(*read, view.moment());
        MEMTOOL_TRY(CheckMoment(*read, moment));
        auto recording = RecordingAt(read, moment, view.device());
        MEMTOOL_TRY(recording);
        recordings.push_back(*std::move(recording));
        return {};
      });
  MEMTOOL_TRY(done);
  if (!bases.empty() && recordings.size() != all.size()) {
    return Fail(ErrorCode::kIo, "a comparison needs both sides; an input was left out");
  }
  if (recordings.size() == 1) {
    return recordings.front();
  }
  std::vector<MergeInput> inputs;
  const std::vector<std::string> processes = recordings.size() == names.size()
                                                 ? NamesOfProcesses(names)
                                                 : std::vector<std::string>(recordings.size());
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    inputs.push_back(
        {recordings[i].get(), i < names.size() || bases.empty() ? 1 : -1, processes[i]});
  }
  auto merged = Merge(inputs);
  MEMTOOL_TRY(merged);
  return std::make_shared<const Recording>(*std::move(merged));
}

class ConvertCommand : public Command {
 public:
  explicit ConvertCommand(bool merge) : merge_(merge) {}

  [[nodiscard]] Doc doc() const override {
    if (merge_) {
      return {.usage = "[options] FILE...",
              .examples =
                  "memtool merge -o all.pb.gz rank*.prof\n"
                  "memtool merge --diff-base memory1.prof -o grown.pb.gz memory9.prof",
              .often = "output diff-base"};
    }
    return {.usage = "--to FORMAT [options] [FILE...]",
            .examples =
                "memtool convert --to folded memory9.prof | flamegraph.pl > flame.svg\n"
                "memtool convert --to json -o memory9.json memory9.prof\n"
                "memtool convert --to pprof -o all.pb.gz rank*.prof\n"
                "memtool convert --to perfetto -o snapshot.pftrace snapshot.pickle\n"
                "memtool convert --to sqlite -o snapshot.sqlite snapshot.pickle\n"
                "memtool convert --to memtool -o snapshot.memtool snapshot.pickle",
            .often = "to output"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options, false);
    po::options_description group("Conversion");
    auto add = group.add_options();
    if (!merge_) {
      add("to", ToValue(&to_, {.words = ChoiceNames()})->value_name("FORMAT"),
          ChoicesText().c_str());
    }
    if (!merge_) {
      keywords_.Declare(add);
    }
    add("diff-base", po::value(&bases_)->value_name("FILE"), "subtract this input");
    add("output,o", po::value(&output_)->value_name("FILE"), "write to FILE instead of stdout");
    options.add(group);
    if (!merge_) {
      view_.Declare(options, ByOption{});
    }
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved : {input_.Resolve(), view_.Resolve()}) {
      MEMTOOL_TRY(resolved);
    }
    if (auto code = view_.PrintInstead(streams)) {
      return *std::move(code);
    }
    const formats::Writer* writer = Chosen(to_);
    const auto left_out = formats::WritersLeftOut();
    if (std::find(left_out.begin(), left_out.end(), to_) != left_out.end()) {
      return Fail(formats::NotInThisBuild("writing '" + to_ + "' is"));
    }
    if (writer == nullptr) {
      return Fail(ErrorCode::kUsage,
                  to_.empty() ? "convert needs --to" : "--to: cannot write '" + to_ + "'",
                  ChoicesText());
    }
    MEMTOOL_TRY(CheckOptions(*writer, streams));
    const bool whole = writer->writes() == formats::Written::kTimeline ||
                       writer->writes() == formats::Written::kRecording;
    auto sides = GetSides(input_, bases_, !whole, streams);
    MEMTOOL_TRY(sides);
    const std::vector<std::string>& names = sides->names;
    bases_ = sides->bases;
    if (writer->writes() == formats::Written::kTimeline) {
      return OnOneRecording(input_, streams, fmt::format("--to {} takes one FILE", to_),
                            [&](InputReader& input_reader, const auto& recording) {
                              return WriteTimeline(*writer, input_reader, *recording);
                            });
    }
    if (writer->writes() == formats::Written::kRecording &&
        (names.size() == 1 || AreDumped(names)) && bases_.empty()) {
      return WriteRecording(*writer, streams);
    }
    InputReader input_reader(input_, streams);
    auto recording = Combined(input_reader, view_, names, bases_);
    MEMTOOL_TRY(recording);
    if (writer->writes() == formats::Written::kAll ||
        writer->writes() == formats::Written::kRecording) {
      input_reader.Finish();
      MEMTOOL_TRY(StreamWholeFile(
          output_, [&](const ByteSink& take) { return writer->Write(**recording, {}, take); },
          streams));
      return input_reader.exit_code();
    }
    if (!(*recording)->profile) {
      return Fail(ErrorCode::kUnsupported, "the input holds no samples");
    }
    if (view_.selects() && view_.filter() != nullptr) {
      input_reader.NoteUnmatched(View(**recording, *view_.filter()));
    }
    MEMTOOL_TRY(WriteSamples(*writer, **recording, input_reader));
    return input_reader.exit_code();
  }

 private:
  [[nodiscard]] Result<void> CheckOptions(const formats::Writer& writer,
                                          const Streams& streams) const {
    // A file that lacks what a filter hides would not show it.
    if (writer.writes() != formats::Written::kSelection && view_.selects()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--to {} writes whole recordings: filters, --frames and "
                              "--sample-index work with {} only",
                              to_, SelectingText()));
    }
    const bool timeline = writer.writes() == formats::Written::kTimeline;
    if (timeline && (view_.has_moment() || !bases_.empty())) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--to {} writes a whole history: {} does not go with it", to_,
                              bases_.empty() ? "--at" : "--diff-base"));
    }
    if (!timeline && keywords_.given()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--keywords: --to {} has no counters by category", to_));
    }
    if (writer.binary() && output_ == "-" && streams.out.TerminalWidth() > 0) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("{} is binary and not for a terminal", writer.name()),
                  "-o FILE, or a pipe");
    }
    return {};
  }

  // What the session has to say comes before the first byte, and not at all when nothing can be
  // written.
  Result<void> WriteSamples(const formats::Writer& writer, const Recording& recording,
                            InputReader& input_reader) const {
    bool finished = false;
    const auto finish = [&] {
      if (!std::exchange(finished, true)) {
        input_reader.Finish();
      }
    };
    return StreamWholeFile(
        output_,
        [&](const ByteSink& take) {
          auto done = writer.Write(recording,
                                   {.filter = view_.filter(), .sample_type = view_.sample_index()},
                                   [&](std::string_view bytes) {
                                     finish();
                                     return take(bytes);
                                   });
          if (done) {
            finish();
          }
          return done;
        },
        input_reader.streams());
  }

  // One input as it was read. What it holds at a moment is asked of what is written.
  Result<ExitCode> WriteRecording(const formats::Writer& writer, Streams& streams) {
    if (view_.has_moment() || !view_.device().empty()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--to {} writes one FILE as it is: {} does not go with it", to_,
                              view_.has_moment() ? "--at" : "--device"),
                  "give it to the commands that read the new file");
    }
    return OnOneRecording(
        input_, streams, fmt::format("--to {} takes one FILE", to_),
        [&](InputReader& input_reader, const auto& recording) {
          return StreamWholeFile(
              output_, [&](const ByteSink& take) { return writer.Write(*recording, {}, take); },
              input_reader.streams());
        });
  }

  Result<void> WriteTimeline(const formats::Writer& writer, const InputReader& input_reader,
                             const Recording& recording) {
    MEMTOOL_TRY(keywords_.Resolve());
    // Without a dictionary of its own, an input of many writers has no categories.
    const bool known = keywords_.given() || HasDictionary(recording.metadata.origin.framework);
    auto keywords = known ? keywords_.For(recording) : Result<const Keywords*>(nullptr);
    MEMTOOL_TRY(keywords);
    std::vector<std::string> notes;
    const formats::WriteOptions options{
        .keywords = *keywords, .device = view_.device(), .note = [&notes](const std::string& text) {
          notes.push_back(text);
        }};
    MEMTOOL_TRY(StreamWholeFile(
        output_, [&](const ByteSink& take) { return writer.Write(recording, options, take); },
        input_reader.streams()));
    for (const std::string& note : notes) {
      Warn(input_reader.streams(), "note: " + note);
    }
    return {};
  }

  bool merge_;
  InputOptions input_;
  ViewOptions view_;
  KeywordsOption keywords_;  // of counters by category
  std::string to_ = merge_ ? "pprof" : "";
  std::vector<std::string> bases_;
  std::string output_ = "-";
};

}  // namespace

std::unique_ptr<Command> MakeConvert() {
  return std::make_unique<ConvertCommand>(false);
}
std::unique_ptr<Command> MakeMerge() {
  return std::make_unique<ConvertCommand>(true);
}

}  // namespace memtool::commands
