// memtool oom: why an allocation failed, from a snapshot or from the message in a log.
#include "memtool/profile/answers/oom.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <variant>

#include "base/command.h"
#include "memtool/formats/oom_text.h"
#include "memtool/formats/open.h"
#include "memtool/profile/answers/oom_inputs.h"
#include "memtool/profile/base/natural_order.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/answerable.h"
#include "memtool/profile/model/clamped_sums.h"
#include "oom/oom_overview.h"
#include "oom/oom_table.h"
#include "oom/oom_words.h"
#include "rows/rows.h"
#include "rows/rows_command.h"
#include "words/refusals.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

OomMessages GetMessages(const formats::OomLog& log) {
  return {.kept = log.messages,
          .found = static_cast<std::int64_t>(log.found),
          .lines = static_cast<std::int64_t>(log.lines),
          .bytes = static_cast<std::int64_t>(log.bytes),
          .retries = static_cast<std::int64_t>(log.retries),
          .last_retry = log.last_retry,
          .killed = static_cast<std::int64_t>(log.killed),
          .statements = log.statements.list,
          .strings = &log.statements.strings};
}

// The messages of the log that a table was read from; none where it was not kept.
std::optional<formats::OomLog> LogIn(const Recording& recording) {
  const std::string& text = recording.metadata.log_text;
  auto log = text.empty() ? formats::OomLog() : formats::FindOoms(text);
  return log.messages.empty() && log.statements.list.empty() ? std::nullopt
                                                             : std::optional(std::move(log));
}

class OomCommand final : public RowsCommand {
 public:
  OomCommand() : RowsCommand(kByRows) {}

  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool oom train.log\n"
                "memtool oom snapshot.pickle\n"
                "memtool oom rank*.log\n"
                "python train.py 2>&1 | tee train.log | memtool oom",
            .often = "message"};
  }

 private:
  void DeclareMore(po::options_description& options) override {
    po::options_description group("Out of memory");
    group.add_options()(
        "message",
        po::value<std::int64_t>()->value_name("K")->notifier(
            [this](std::int64_t number) { message_ = number; }),
        "the message of a log, from 1; negative from the end (default: the first that gives "
        "figures)");
    options.add(group);
  }

  Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& names) override {
    return names.size() == 1 ? Explain(input_reader, names.front()) : Compare(input_reader, names);
  }

  Result<void> Print(const InputReader& input_reader, Streams& streams) override {
    TextTable table;
    if (const auto* several = std::get_if<OomInputsAnswer>(&answer_)) {
      return output().Print(
          ViewInWords(*several),
          [&] {
            Tabulate(*several, table);
            return table;
          },
          streams);
    }
    const auto& one = std::get<OomAnswer>(answer_);
    const std::string rest = Rest(one);
    return output().Print(
        ViewInWords(one, rest),
        [&] {
          Tabulate(one, Style(input_reader, one, streams), rest, table);
          return table;
        },
        streams);
  }

  // --- several inputs ---

  Result<void> Compare(InputReader& input_reader, std::vector<std::string> names) {
    if (view().has_moment() || message_) {
      return Fail(ErrorCode::kUsage, "--at and --message are for one input",
                  "of several, one failure each is compared");
    }
    std::sort(names.begin(), names.end(), NaturalLess);
    OomInputsMaker maker;
    for (const std::string& name : names) {
      if (auto added = AddTo(maker, input_reader, name); !added) {
        added.error().input = added.error().input.empty() ? name : added.error().input;
        if (!input_reader.LeavesOut(added.error())) {
          return added;
        }
      }
    }
    Keep(input_reader, std::move(maker).Make());
    return {};
  }

  [[nodiscard]] formats::OpenOptions RecordingsAndLogs() const {
    formats::OpenOptions options = input().load();
    options.accepted.oom_logs = true;
    return options;
  }

  static void SayGrowth(const InputReader& input_reader, const std::string& name,
                        const formats::OomLog* log) {
    if (log != nullptr && log->ended_at) {
      Warn(
          input_reader.streams(),
          fmt::format("{}: the log grew while it was read; it was read up to byte {}, its end when "
                      "it was opened",
                      name, *log->ended_at));
    }
  }

  Result<void> AddTo(OomInputsMaker& maker, InputReader& input_reader,
                     const std::string& name) const {
    if (auto kept = input_reader.FindCached(name)) {
      return AddRecording(maker, input_reader, name, std::move(kept));
    }
    auto either = formats::Open(name, RecordingsAndLogs());
    MEMTOOL_TRY(either);
    if (either->kind() == formats::DocumentKind::kOomLog) {
      const formats::OomLog& log = either->oom_log();
      SayGrowth(input_reader, name, &log);
      return AddLog(maker, input_reader, name, log);
    }
    return AddRecording(maker, input_reader, name,
                        std::make_shared<const Recording>((*std::move(either)).recording()));
  }

  Result<void> AddLog(OomInputsMaker& maker, InputReader& input_reader, const std::string& name,
                      const formats::OomLog& log) const {
    input_reader.Note({.path = name == "-" ? "standard input" : name, .format = "oom-text"},
                      "text log");
    return maker.Add(GetMessages(log), view().device(), name) ? Result<void>()
                                                              : NoMessageOfDevice(log);
  }

  Result<void> AddRecording(OomInputsMaker& maker, InputReader& input_reader,
                            const std::string& name,
                            std::shared_ptr<const Recording> recording) const {
    if (const auto log = LogIn(*recording)) {
      return AddLog(maker, input_reader, name, *log);
    }
    auto selection = AtFailure(input_reader, name, std::move(recording));
    MEMTOOL_TRY(selection);
    maker.Add(*selection);
    return {};
  }

  // --- one ---

  Result<void> Explain(InputReader& input_reader, const std::string& name) {
    path_ = name;
    auto done = ExplainFile(input_reader, name);
    if (!done && done.error().input.empty()) {
      done.error().input = path_;
    }
    return done;
  }

  Result<void> ExplainFile(InputReader& input_reader, const std::string& name) {
    if (auto kept = input_reader.FindCached(name)) {
      return FromRecording(input_reader, std::move(kept));
    }
    auto either = formats::Open(path_, RecordingsAndLogs());
    MEMTOOL_TRY(either);
    const bool is_log = either->kind() == formats::DocumentKind::kOomLog;
    const formats::OomLog* log = is_log ? &either->oom_log() : nullptr;
    SayGrowth(input_reader, name, log);
    const bool ledger = log != nullptr && !log->statements.list.empty();
    if (log != nullptr && log->messages.empty() && !ledger && !formats::GetStream(name)) {
      // Text without a message: perhaps a reader recognises it.
      if (auto recording = formats::OpenRecording(name, input().load())) {
        either = formats::Document(*std::move(recording));
        log = nullptr;
      }
    }
    return log != nullptr
               ? FromLog(input_reader, *log)
               : FromRecording(input_reader,
                               std::make_shared<const Recording>((*std::move(either)).recording()));
  }

  // The answer with what the session says about its inputs.
  template <class Made>
  void Keep(InputReader& input_reader, Made answer) {
    if (HasClampedSums(answer.head.diagnostics)) {
      input_reader.NoteClamped();
    }
    answer.head = input_reader.Head(answer.head.question);
    answer.head.sample_type = "memory";
    answer.head.unit = "bytes";
    answer_ = std::move(answer);
  }

  // --- logs ---

  Result<void> FromLog(InputReader& input_reader, const formats::OomLog& log) {
    if (view().has_moment()) {
      return Fail(ErrorCode::kUsage, "--at: a log has no moments", "--message K chooses a message");
    }
    if (view().selects() || !view().by_text().empty()) {
      return Fail(ErrorCode::kUsage,
                  "a log does not say what allocated: --by and filters are for "
                  "snapshots");
    }
    auto number = NumberIn(log);
    MEMTOOL_TRY(number);
    OomAnswer answer = Oom(GetMessages(log), *number, path_);
    InputNote note = answer.head.inputs.front();
    note.details.clear();
    input_reader.Note(std::move(note), "text log");
    Keep(input_reader, std::move(answer));
    return {};
  }

  // The number of the message to explain; 0 = there is none.
  [[nodiscard]] Result<std::int64_t> NumberIn(const formats::OomLog& log) const {
    if (log.messages.empty()) {
      return 0;
    }
    const OomMessages messages = GetMessages(log);
    const auto number = ChooseMessage(messages, message_, view().device());
    if (!number) {
      return Fail(NoMessageOfDevice(log).error());
    }
    if (*number < 1 || *number > messages.found) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--message {}: the log has {} message{}", *message_, messages.found,
                              PluralS(messages.found)));
    }
    if (*number > messages.last()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--message {}: of {} messages the first {} can be shown", *number,
                              FormatCount(messages.found), FormatCount(messages.last())));
    }
    return *number;
  }

  [[nodiscard]] Result<void> NoMessageOfDevice(const formats::OomLog& log) const {
    OomAnswer all;
    AddOthers(GetMessages(log), 0, all);
    return Fail(
        ErrorCode::kUsage,
        fmt::format("--device {}: no message in this log is about that device", view().device()),
        OtherMessagesText(all));
  }

  // --- recordings ---

  static std::string NoFailureText(const Recording& recording) {
    std::string text = "does not record the allocator's state";
    if (!recording.history) {
      return text;
    }
    const std::int64_t retries = RetriesIn(recording);
    return text + ", nor an allocation that failed" +
           (retries == 0 ? std::string()
                         : fmt::format(" for good ({} failed and {} met later)",
                                       Counted(retries, "request"), retries == 1 ? "was" : "were"));
  }

  // At its last failure, or at the moment that was asked for; else at its peak.
  Result<Selection> AtFailure(InputReader& input_reader, const std::string& name,
                              std::shared_ptr<const Recording> shared) const {
    const Recording& recording = *shared;
    if (recording.metadata.origin.kind == RecordingKind::kProgram) {
      return Fail(ErrorCode::kUnsupported,
                  "a compiled program is a plan: nothing ran out of memory in it",
                  "memtool top ranks what it needs at its peak; memtool oom reads the log with the "
                  "message");
    }
    if (!CanAnswer(recording, "oom")) {
      return Refuse(ErrorCode::kUnsupported, recording, NoFailureText(recording),
                    "PyTorch snapshots and logs with the message do: see memtool help recording");
    }
    MomentSpec moment = view().moment();
    std::string device = view().device();
    const bool at_oom = !view().has_moment() || moment.kind == MomentSpec::Kind::kOom;
    if (const auto last = LastOom(recording, device); last && at_oom) {
      device = device.empty() ? *last : device;
      moment = view().has_moment() ? moment : *ParseMoment("oom");
    }
    return input_reader.SelectAt(name, std::move(shared), view(), moment, device);
  }

  Result<void> FromRecording(InputReader& input_reader,
                             std::shared_ptr<const Recording> recording) {
    if (const auto log = LogIn(*recording)) {
      return FromLog(input_reader, *log);
    }
    auto selection = AtFailure(input_reader, path_, std::move(recording));
    MEMTOOL_TRY(selection);
    Keep(input_reader,
         Oom(*selection, {.by = view().by(), .sort = view().sort(), .partial = view().selects()}));
    return {};
  }

  // --- words ---

  // The arguments with which a command looks at the same moment: "--at oom:0 --device 1 FILE".
  [[nodiscard]] std::string Rest(const OomAnswer& answer) const {
    if (!answer.found || !answer.found->snapshot) {
      return path_ == "-" ? "FILE" : ShellName(path_);
    }
    const OomCase& found = *answer.found;
    std::string rest = view().has_moment() ? "--at " + view().moment().text + " " : "";
    if (found.device) {
      rest += fmt::format("--device {} ", *found.device);
    }
    return rest + ShellName(path_);
  }

  [[nodiscard]] OomTableStyle Style(const InputReader& input_reader, const OomAnswer& answer,
                                    const Streams& streams) const {
    const bool log = answer.found && answer.found->message;
    return {.limit = output().limit(),
            .fold = output().format() == Format::kTable && !input().rows(),
            .names_next = streams.names_next,
            .source = log ? SourceText(answer) : InputsText(input_reader),
            .filters = view().Describe(),
            .moments = input_reader.moment_lines()};
  }

  // "train.log line 12 · PyTorch, wording since 2.1 · message 1 of 2"
  static std::string SourceText(const OomAnswer& answer) {
    const OomMessage& message = *answer.found->message;
    std::string text =
        fmt::format("{} line {} · {}", answer.head.inputs.front().path,
                    FormatCount(static_cast<std::int64_t>(message.line)), ToDisplayName(message));
    text += message.complete ? "" : " · the message is cut off";
    return answer.messages > 1
               ? text + fmt::format(" · message {} of {}", FormatCount(answer.message),
                                    FormatCount(answer.messages))
               : text;
  }

  std::optional<std::int64_t> message_;
  std::string path_;
  std::variant<OomAnswer, OomInputsAnswer> answer_;
};

}  // namespace

std::unique_ptr<Command> MakeOom() {
  return std::make_unique<OomCommand>();
}

}  // namespace memtool::commands
