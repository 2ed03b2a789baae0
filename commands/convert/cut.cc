// memtool cut: a part of a snapshot as a snapshot.
#include "memtool/profile/history/cut.h"

#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>

#include "base/command.h"
#include "memtool/formats/writer.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/history/redact.h"
#include "memtool/profile/model/answerable.h"
#include "memtool/profile/model/recording_builder.h"
#include "options/input_options.h"
#include "options/range_options.h"
#include "output/whole_file.h"
#include "session/input_reader.h"
#include "words/refusals.h"

namespace memtool::commands {

namespace {

class CutCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] -o FILE [FILE]",
            .examples =
                "memtool cut --from 120000 --to 125000 -o small.pickle snapshot.pickle\n"
                "memtool cut --from step:3 --to step:4 --device 0 -o step.pickle snapshot.pickle\n"
                "memtool cut --redact -o report.pickle snapshot.pickle",
            .often = "from to redact output"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options, false);
    po::options_description group("Cut");
    auto add = group.add_options();
    range_.Declare(add);
    add("device", po::value(&device_)->value_name("DEVICE"),
        "only this device: its number, or its whole name");
    add("redact", po::bool_switch(&redact_),
        "hashes for names of functions and files, labels and annotations; lines stay");
    add("salt", po::value(&salt_)->value_name("TEXT"),
        "a secret for these hashes, so that nobody can test guesses");
    add("output,o", po::value(&output_)->value_name("FILE"),
        "the snapshot to write; '-' is stdout");
    options.add(group);
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved : {input_.Resolve(), range_.Resolve()}) {
      MEMTOOL_TRY(resolved);
    }
    if (!salt_.empty() && !redact_) {
      return Fail(ErrorCode::kUsage, "--salt is for --redact");
    }
    if (output_.empty()) {
      return Fail(ErrorCode::kUsage, "cut needs -o FILE", "-o - writes to stdout");
    }
    return OnOneRecording(input_, streams, "cut takes one FILE",
                          [&](const InputReader&, const auto& recording) -> Result<void> {
                            auto bytes = Make(recording, streams);
                            return bytes ? WriteWholeFile(output_, *bytes, streams)
                                         : Result<void>(Fail(std::move(bytes.error())));
                          });
  }

 private:
  Result<std::string> Make(const std::shared_ptr<const Recording>& shared, Streams& streams) const {
    const Recording& recording = *shared;
    if (!CanAnswer(recording, "cut")) {
      return Refuse(ErrorCode::kUnsupported, recording,
                    "does not hold both events and segments of a caching allocator: only PyTorch "
                    "snapshots can be cut");
    }
    const HistoryIndex index(shared);
    auto ranges = EventsBetween(index, range_.range(), device_);
    MEMTOOL_TRY(ranges);
    auto cut = CutHistory(index, *ranges);
    MEMTOOL_TRY(cut);
    const bool cut_before = !cut->recording.metadata.comments.empty();
    if (redact_) {
      cut->recording = Redact(std::move(cut->recording), salt_);
    }
    RecordingBuilder builder(std::move(cut->recording));
    builder.metadata().comments.push_back(builder.Intern(Comment(*cut, cut_before)));
    auto commented = std::move(builder).Finish();
    MEMTOOL_TRY(commented);
    auto written = formats::WriteAs("torch_snapshot", *commented);
    MEMTOOL_TRY(written);
    Tell(*cut, streams);
    return written;
  }

  // What the file's readers must know about it. Texts of the range and of earlier comments may name
  // what --redact hides.
  [[nodiscard]] std::string Comment(const Cut& cut, bool cut_before) const {
    std::string text = "cut by memtool";
    text += redact_ ? ", names are hashes" : ": " + range_.Text();
    if (cut.estimated_segments > 0) {
      text += fmt::format("; sizes of blocks are estimated in {} of {} segments",
                          cut.estimated_segments, cut.segments);
    }
    return text +
           (redact_ && cut_before ? "; cut before, so that more sizes may be estimated" : "");
  }

  // What the file cannot hold is reported, not lost silently.
  static void Tell(const Cut& cut, Streams& streams) {
    const auto count = [](std::uint64_t number) {
      return FormatCount(static_cast<std::int64_t>(number));
    };
    if (cut.estimated_segments > 0) {
      Warn(streams, fmt::format("note: sizes of blocks are estimated in {} of {} segments; "
                                "requested bytes are exact",
                                count(cut.estimated_segments), count(cut.segments)));
    }
    if (cut.forgotten_blocks > 0) {
      Warn(streams, fmt::format("note: {} blocks with {} were allocated before the range and freed "
                                "in it: the file cannot say what allocated them",
                                count(cut.forgotten_blocks), FormatSize(cut.forgotten_bytes)));
    }
    if (cut.unplaced_blocks > 0) {
      Warn(streams, fmt::format("note: {} live blocks with {} lie in no known segment: each is "
                                "written as a segment of its own",
                                count(cut.unplaced_blocks), FormatSize(cut.unplaced_bytes)));
    }
  }

  InputOptions input_;
  RangeOptions range_;
  bool redact_ = false;
  std::string salt_;
  std::string device_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> MakeCut() {
  return std::make_unique<CutCommand>();
}

}  // namespace memtool::commands
