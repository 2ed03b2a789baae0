// memtool overview, which is also `memtool FILE`: one screen about any input, made of the answers
// of other commands.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/command.h"
#include "memtool/formats/profiler_folder.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/answers/write.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/answerable.h"
#include "next/answer_values.h"
#include "next/next.h"
#include "oom/oom_words.h"
#include "options/input_options.h"
#include "output/escape.h"
#include "output/grid.h"
#include "output/text/ascii.h"
#include "output/text/sparkline.h"
#include "overview/asked.h"
#include "ranks/names/process_names.h"
#include "session/input_reader.h"
#include "session/programs.h"
#include "words/choice.h"
#include "words/known_words.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kRows = "5";
constexpr std::size_t kIndent = 10;  // what labels take
constexpr std::size_t kMaxBar = 60;
constexpr std::size_t kMaxBuckets = 4;  // with a shade of their own
constexpr std::size_t kMaxNext = 4;

enum class Form : std::uint8_t { kText, kJson };
constexpr std::array<Choice<Form>, 2> kForms{{{"text", Form::kText}, {"json", Form::kJson}}};

// The label, and beside it the text, wrapped where the terminal ends (0 = nowhere).
std::string Labelled(std::string_view label, std::string_view text, std::size_t width) {
  const std::size_t room = width == 0 ? 0 : std::max(width, 2 * kIndent) - kIndent;
  std::string lines;
  for (const std::string& line : WrapText(text, room)) {
    lines += fmt::format("{:<{}}{}\n", lines.empty() ? label : "", kIndent, line);
  }
  return lines;
}

// How many cells a bar has.
std::size_t BarWidth(std::size_t width) {
  return width == 0 ? kMaxBar : std::clamp(width, kIndent + 1, kIndent + kMaxBar) - kIndent;
}

// --- where it goes ---

struct Slice {
  std::string name;
  std::int64_t bytes = 0;
};

struct Slices {
  std::vector<Slice> largest;  // first
  std::int64_t total = 0;
  std::int64_t others = 0;  // in no category
};

void TakeSlices(const AnswerView& answer, Slices& slices) {
  for (const auto next = answer.rows(0); const AnswerView::Values* row = next();) {
    const Value* name = ValueOf(answer, *row, "bucket");
    const Value* axis = ValueOf(answer, *row, "axis");
    const Value* bytes = ValueOf(answer, *row, "bytes");
    if (name == nullptr || bytes == nullptr || (axis != nullptr && !TextOf(*axis).empty())) {
      continue;
    }
    const std::int64_t size = NumberOf(*bytes);
    if (size > 0) {
      slices.largest.push_back({TextOf(*name), size});
      slices.total = SaturatingAdd(slices.total, size);
      slices.others = SaturatingAdd(slices.others, TextOf(*name) == "Others" ? size : 0);
    }
  }
  std::stable_sort(slices.largest.begin(), slices.largest.end(),
                   [](const Slice& a, const Slice& b) { return a.bytes > b.bytes; });
}

std::string SlicesText(Slices slices, std::size_t width) {
  constexpr std::array<std::string_view, kMaxBuckets + 1> kShades{"█", "▓", "▒", "░", "▁"};
  if (slices.largest.size() > kMaxBuckets + 1) {
    Slice rest{.name = Counted(slices.largest.size() - kMaxBuckets, "other")};
    for (std::size_t i = kMaxBuckets; i < slices.largest.size(); ++i) {
      rest.bytes = SaturatingAdd(rest.bytes, slices.largest[i].bytes);
    }
    slices.largest.resize(kMaxBuckets);
    slices.largest.push_back(std::move(rest));
  }
  const std::size_t cells = BarWidth(width);
  std::string bar;
  std::string legend;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < slices.largest.size(); ++i) {
    const Slice& slice = slices.largest[i];
    const auto cell_of = [&](std::int64_t bytes) {
      return static_cast<std::size_t>(
          std::lround(Ratio(bytes, slices.total) * static_cast<double>(cells)));
    };
    const std::int64_t until = SaturatingAdd(before, slice.bytes);
    for (std::size_t cell = cell_of(before); cell < cell_of(until); ++cell) {
      bar += kShades[i];
    }
    before = until;
    legend +=
        fmt::format("{}{} {} {} {:.1f}%", i == 0 ? "" : " · ", kShades[i], EscapeText(slice.name),
                    FormatSize(slice.bytes), 100 * Ratio(slice.bytes, slices.total));
  }
  return Labelled("GOES TO", bar, width) + Labelled("", legend, width);
}

// --- over time ---

// The highest live bytes in equal parts of the history, of the device that holds most.
struct Series {
  std::vector<std::int64_t> live;
  std::size_t devices = 0;
};

void TakeSeries(const AnswerView& answer, Series& series) {
  std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>> of_devices;
  for (const auto next = answer.rows(0); const AnswerView::Values* row = next();) {
    const Value* device = ValueOf(answer, *row, "device");
    const Value* live = ValueOf(answer, *row, "allocated");
    if (device == nullptr || live == nullptr) {
      return;
    }
    const std::int64_t number = NumberOf(*device);
    if (of_devices.empty() || of_devices.back().first != number) {
      of_devices.emplace_back(number, std::vector<std::int64_t>());
    }
    of_devices.back().second.push_back(std::max<std::int64_t>(NumberOf(*live), 0));
  }
  series.devices = of_devices.size();
  const auto highest =
      std::max_element(of_devices.begin(), of_devices.end(), [](const auto& a, const auto& b) {
        return *std::max_element(a.second.begin(), a.second.end()) <
               *std::max_element(b.second.begin(), b.second.end());
      });
  if (highest != of_devices.end()) {
    series.live = std::move(highest->second);
  }
}

std::string SeriesText(const Series& series, std::size_t width) {
  const auto most = *std::max_element(series.live.begin(), series.live.end());
  const std::string scale = fmt::format("0 to {} live{}", FormatSize(most),
                                        series.devices > 1 ? ", the device that holds most" : "");
  return Labelled("OVER TIME", Sparkline(series.live, BarWidth(width), 0) + " · " + scale, width);
}

// -n is an option of the command that printed it.
std::string WithCommand(std::string text, std::string_view command) {
  constexpr std::string_view kAll = "(-n 0 shows all)";
  if (const std::size_t at = text.rfind(kAll); at != std::string::npos) {
    text.replace(at, kAll.size(), fmt::format("(memtool {} -n 0 shows all)", command));
  }
  return text;
}

// The lines of an answer of `oom` above the one that names the input, which may be wrapped: the
// verdict.
std::vector<std::string> VerdictLines(const std::string& text, const std::string& path) {
  constexpr std::size_t kEnough = 16;
  std::vector<std::string> lines;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (line.starts_with(path) || (line.size() >= kEnough && path.starts_with(line))) {
      break;
    }
    lines.emplace_back(line);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return lines;
}

class OverviewCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool snapshot.pickle\n"
                "memtool memory9.prof\n"
                "memtool train.log\n"
                "memtool ranks/\n"
                "memtool overview --format json snapshot.pickle"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options, false);
    po::options_description group("Output");
    group.add_options()("format", ToValue(&form_text_, ToWords(kForms))->value_name("FORMAT"),
                        "text (default) or json: the answers of the commands that it asks");
    options.add(group);
  }

  // The words that say what is read are those of every command that is asked.
  std::optional<Result<void>> ParseRaw(std::span<const std::string> args) override {
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (args[i] == "--format") {
        ++i;
      } else if (!args[i].starts_with("--format=")) {
        words_.push_back(args[i]);
      }
    }
    return std::nullopt;
  }

  Result<ExitCode> Run(Streams& streams) override {
    MEMTOOL_TRY(input_.Resolve());
    auto form = Choose("--format", form_text_, kForms);
    MEMTOOL_TRY(form);
    form_ = *form;
    auto given = input_.GivenNames();
    MEMTOOL_TRY(given);
    auto names = input_.Names(streams);
    if (words_.empty() && names) {
      words_ = *names;  // the default input
    }
    for (const std::string& name : names ? *names : *given) {
      inputs_.push_back({.path = name, .format = {}, .moment = "oom-or-peak"});
    }
    width_ = streams.out.TerminalWidth();
    Asker asker(words_, streams);
    auto screen = !names               ? OfFolder(std::move(names.error()), asker)
                  : names->size() == 1 ? OfOne(names->front(), asker)
                                       : OfSeveral(*names, asker);
    if (const Reply* stopped = asker.stopped()) {
      streams.error = stopped->error;
      streams.err.WriteBytes(stopped->notes);  // what commands printed went through their sinks
      return stopped->code;
    }
    MEMTOOL_TRY(screen);
    streams.err.WriteBytes(screen->notes);
    if (form_ == Form::kJson) {
      WriteData(screen->next, streams);
    } else {
      const std::string next =
          streams.names_next ? NextText(screen->next, width_, kIndent) : std::string();
      const std::string text = screen->text + next;
      streams.out.WriteBytes(streams.look.ascii ? ToAscii(text) : text);
    }
    return screen->code;
  }

 private:
  struct Screen {
    std::string text;
    std::vector<NextStep> next;
    std::string notes;  // for stderr
    ExitCode code = ExitCode::kOk;
  };

  // --- one input ---

  Result<Screen> OfOne(const std::string& name, Asker& asker) {
    Reply top = Ask(asker, {"top", "-n", std::string(kRows)});
    if (top.error) {
      return OfLog(std::move(top), asker);
    }
    const auto recording = asker.cache().Find(RecordingCache::GetKey(name, input_.load()));
    Screen screen = ScreenOf(top, "top", {});
    if (recording != nullptr) {
      inputs_.front().format = recording->metadata.format;
      const InputFacts facts = FactsOf(*recording);
      if (facts.log) {
        // A message says more than what was held.
        const Reply oom = Ask(asker, {"oom"});
        if (oom.ok() && !SaysNothing(oom)) {
          return ScreenOf(oom, "oom", {});
        }
      }
      Found found;
      screen.text = (facts.log ? "" : RanOut(*recording, facts, name, asker)) + screen.text;
      screen.text += Below(*recording, facts, asker, found);
      screen.next = NextSteps("overview", &facts, found, std::span(&name, 1), kMaxNext);
    }
    return screen;
  }

  // Of a log without a message.
  static bool SaysNothing(const Reply& oom) {
    return oom.FirstLine().find("NO OUT-OF-MEMORY MESSAGE") != std::string::npos &&
           oom.text.find(kWasKilled) == std::string::npos;
  }

  // An input that is no recording may be a log.
  Result<Screen> OfLog(Reply top, Asker& asker) {
    const ErrorCode code = top.error->code;
    if (code == ErrorCode::kUnsupported || code == ErrorCode::kUnknownFormat) {
      Reply oom = Ask(asker, {"oom"});
      if (oom.ok() && !SaysNothing(oom)) {
        return ScreenOf(oom, "oom", {});
      }
      // Or what nvidia-smi and its like say.
      const Reply account = Ask(asker, {"account"});
      if (account.ok()) {
        return ScreenOf(account, "account", {});
      }
      if (account.error && account.error->code == ErrorCode::kUsage) {
        return tl::unexpected(*account.error);  // which of its rows is meant
      }
    }
    return tl::unexpected(*std::move(top.error));
  }

  // The verdict, where an allocation failed.
  std::string RanOut(const Recording& recording, const InputFacts& facts, const std::string& name,
                     Asker& asker) {
    if (!facts.ran_out && recording.metadata.log_text.empty()) {
      return {};
    }
    const Reply oom = Ask(asker, {"oom"});
    if (!oom.ok()) {
      return {};
    }
    std::string text;
    for (const std::string& line : VerdictLines(oom.text, EscapeText(name))) {
      text += line + "\n";
    }
    return text;
  }

  std::string Below(const Recording& recording, const InputFacts& facts, Asker& asker,
                    Found& found) {
    std::string text;
    if (CanAnswer(recording, "buckets")) {
      Slices slices;
      AskData(asker, {"buckets"},
              [&slices](const AnswerView& answer, std::size_t) { TakeSlices(answer, slices); });
      if (slices.total > 0) {
        found.many_others = AreMany(slices.others, slices.total);
        text += SlicesText(std::move(slices), width_);
      }
    }
    if (facts.run) {
      Series series;
      AskData(asker, {"timeline", "--points", std::to_string(kMaxBar)},
              [&series](const AnswerView& answer, std::size_t) { TakeSeries(answer, series); });
      if (!series.live.empty()) {
        text += SeriesText(series, width_);
      }
      const Reply leaks = AskUnwrapped(asker, {"leaks", "-n", "1", "--color", "never"});
      if (leaks.ok()) {
        constexpr std::string_view kTrend = "GROWING: ";
        std::string line = leaks.FirstLine();
        found.grows = line.starts_with(kTrend);
        line.erase(0, found.grows ? kTrend.size() : 0);
        text += Labelled("GROWTH", line, width_);
      }
    }
    std::string blind;
    for (const BlindSpot& spot : recording.blind_spots) {
      blind += (blind.empty() ? "" : " · ") + EscapeText(spot.what);
    }
    if (!blind.empty()) {
      text += Labelled("NOT SEEN", blind, width_);
    }
    return text;
  }

  // --- several inputs ---

  // A folder that is no run of a profiler may be that of a job's ranks.
  Result<Screen> OfFolder(Error error, Asker& asker) {
    const Reply ranks = error.code == ErrorCode::kIo ? Ask(asker, {"ranks"}) : Reply{};
    const bool none = ranks.text.empty() || ranks.text.starts_with("0 ranks");
    return none || ranks.error ? Result<Screen>(tl::unexpected(std::move(error)))
                               : ScreenOf(ranks, "ranks", AfterRanks());
  }

  [[nodiscard]] std::vector<NextStep> AfterRanks() const {
    return {{"memtool ranks --all " + Files(), "a row for each rank"},
            {"memtool index " + Files() + " > job.jsonl", "for more answers about the same ranks"}};
  }

  // As a shell takes them.
  [[nodiscard]] std::string Files() const {
    std::string files;
    for (const std::string& word : words_) {
      files += (files.empty() ? "" : " ") + ShellName(word);
    }
    return files;
  }

  Result<Screen> OfSeveral(const std::vector<std::string>& names, Asker& asker) {
    std::vector<std::string> question{"leaks", "-n", std::string(kRows)};
    const std::string files = Files();
    std::vector<NextStep> next{{"memtool leaks " + files, "which rows grow, file by file"},
                               {"memtool top " + files, "what they hold together"}};
    if (AreDumped(names)) {
      question = {"top", "-n", "10"};
      next = {{"memtool account " + files, "the program that needs most, part by part"}};
    } else if (!NamesOfProcesses(names).front().empty() ||
               formats::FindProfilerFolder(names.front())) {
      question = {"ranks"};
      next = AfterRanks();
    } else if (names.size() == 2) {
      question = {"diff", "-n", std::string(kRows)};
      next.front() = {"memtool diff " + files, "all rows that changed"};
    }
    const Reply reply = Ask(asker, question);
    return reply.error ? OfLogs(*reply.error, asker)
                       : ScreenOf(reply, question.front(), std::move(next));
  }

  Result<Screen> OfLogs(Error error, Asker& asker) {
    answers_.clear();
    const Reply oom = Ask(asker, {"oom"});
    return oom.error ? Result<Screen>(tl::unexpected(std::move(error))) : ScreenOf(oom, "oom", {});
  }

  // --- asking and writing ---

  // For JSON the answer is kept as data besides.
  Reply Ask(Asker& asker, const std::vector<std::string>& words) {
    KeepData(asker, words);
    return asker.Ask(words);
  }

  Reply AskUnwrapped(Asker& asker, const std::vector<std::string>& words) {
    KeepData(asker, words);
    return asker.AskUnwrapped(words);
  }

  void KeepData(Asker& asker, const std::vector<std::string>& words) {
    if (form_ == Form::kJson) {
      AskData(asker, words, {});
    }
  }

  void AskData(Asker& asker, std::vector<std::string> words, const Asker::TakeAnswer& take) {
    const std::string question = words.front();
    words.insert(words.end(), {"--format", "json"});
    (void)asker.AskData(std::move(words), [&](const AnswerView& answer, std::size_t limit) {
      if (take) {
        take(answer, limit);
      }
      if (form_ == Form::kJson) {
        answers_.emplace_back(question, ToValue(answer, limit));
      }
    });
  }

  static Screen ScreenOf(const Reply& reply, std::string_view question,
                         std::vector<NextStep> next) {
    return {.text = WithCommand(reply.text, question),
            .next = std::move(next),
            .notes = reply.notes,
            .code = reply.code};
  }

  void WriteData(const std::vector<NextStep>& next, Streams& streams) {
    AnswerHead head{.question = "overview", .inputs = std::move(inputs_)};
    const AnswerView view = ViewRows(head, {{"answers", std::move(answers_)}}, next, kNextFields);
    if (streams.on_answer) {
      streams.on_answer(view, 0);
    } else {
      memtool::WriteJson(view, 0, [&](std::string_view bytes) { streams.out.WriteBytes(bytes); });
    }
  }

  InputOptions input_;
  std::string form_text_ = "text";
  Form form_ = Form::kText;
  std::vector<std::string> words_;
  std::size_t width_ = 0;  // of the terminal, 0 = none
  std::vector<InputNote> inputs_;
  Value::Object answers_;  // by question
};

}  // namespace

std::unique_ptr<Command> MakeOverview() {
  return std::make_unique<OverviewCommand>();
}

}  // namespace memtool::commands
