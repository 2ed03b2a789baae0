// memtool help: a command, or a topic; and completions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/command.h"
#include "help/completions.h"
#include "help/declared_answers.h"
#include "help/fit_help.h"
#include "help/help.h"
#include "memtool/formats/left_out.h"
#include "memtool/formats/limits.h"
#include "memtool/formats/reader.h"
#include "memtool/formats/writer.h"
#include "memtool/profile/base/sizes.h"
#include "options/user/terminal_options.h"
#include "words/known_words.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kRecording =
    R"(How to record what memtool reads (more: man memtool-recording)

JAX, what is live now:
  jax.profiler.save_device_memory_profile("memory.prof")

PyTorch, what happened and what is live now:
  torch.cuda.memory._record_memory_history(max_entries=1000000)   # early, before the model
  ...                                                             # train
  torch.cuda.memory._dump_snapshot("snapshot.pickle")

Any program on CUDA or HIP, servers too, what it asks the driver for:
  memtool run -- llama-server -m model.gguf                       # a log for each process

Go, the heap: curl -o heap.pb.gz http://HOST/debug/pprof/heap
)";

constexpr std::string_view kAboutFormats =
    R"(
memtool oom also reads text logs, memtool account and --expected-sum what nvidia-smi and its like
print. Any input may be packed with gzip, zlib or zstd. Formats are recognised by content, never by
name; --input-format NAME overrides that. Nothing that an input holds is ever executed.
)";

std::string FormatsText() {
  std::string text = "What memtool reads (more: man memtool-formats)\n\n";
  for (const formats::Reader* reader : formats::Readers()) {
    text += fmt::format("{:<15}  {}\n", reader->name(), reader->summary());
  }
  text += "\nWhat it writes: memtool convert --to NAME, and memtool cut\n\n";
  for (const formats::Writer* writer : formats::Writers()) {
    text += fmt::format("{:<15}  {} ({})\n", writer->name(), writer->summary(),
                        fmt::join(writer->endings(), ", "));
  }
  text += kAboutFormats;
  for (const auto& [what, names] : {std::pair("Readers", formats::ReadersLeftOut()),
                                    std::pair("Writers", formats::WritersLeftOut())}) {
    if (!names.empty()) {
      text += fmt::format("\n{} that are not in this build: {}\n", what, fmt::join(names, ", "));
    }
  }
  return text;
}

std::string LimitsText() {
  std::string text =
      "What an input may cost. --max NAME=VALUE changes it; values may have a unit (8GiB)\n\n";
  const formats::Limits defaults;
  for (const formats::LimitInfo& limit : formats::LimitList()) {
    const auto value = static_cast<std::int64_t>(defaults.*limit.value);
    text += fmt::format("{:<14}  {:>13}  {}\n", limit.name,
                        value == 0    ? "(below)"
                        : limit.bytes ? FormatSize(value)
                                      : FormatCount(value),
                        limit.about);
  }
  return text + R"(
memory is the larger of 4 GiB and three quarters of what this machine, or container, has, unless
given. Past a limit, a command ends with exit code 3 and says which one it was.
)";
}

// For scripts: a command per line, in the order of help.
std::string CommandNames() {
  std::string text;
  for (const CommandEntry& entry : Commands()) {
    text += fmt::format("{:<9} {}\n", entry.name, entry.summary);
  }
  return text;
}

// The answers that have a schema, one per line.
std::string SchemaNames() {
  std::string names;
  std::string_view last;
  for (const DeclaredAnswer& answer : DeclaredAnswers()) {
    names += answer.question == last ? "" : std::string(answer.question) + "\n";
    last = answer.question;
  }
  return names;
}

struct TopicEntry {
  std::string_view name;
  std::string (*text)();
};
constexpr auto kTopics =
    std::to_array<TopicEntry>({{"commands", CommandNames},
                               {"recording", [] { return std::string(kRecording); }},
                               {"formats", FormatsText},
                               {"limits", LimitsText},
                               {"columns", [] { return ColumnsText({}); }},
                               {"schema", SchemaNames}});

// Empty for what is not a topic.
std::string Topic(std::string_view name) {
  const auto* const found =
      std::find_if(kTopics.begin(), kTopics.end(),
                   [name](const TopicEntry& topic) { return topic.name == name; });
  return found == kTopics.end() ? std::string() : found->text();
}

// `memtool help [COMMAND]`.
class HelpCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {
        .usage = "[COMMAND|commands|recording|formats|limits|columns [COMMAND]|schema [ANSWER]]",
        .examples = "memtool help\nmemtool help diff\nmemtool help recording"};
  }
  void Declare(po::options_description& options) override {
    auto add = options.add_options();
    add("file", ToValue(&topics_, Topics())->value_name("COMMAND"),
        "the command to explain (also as a plain argument)");
#ifndef __EMSCRIPTEN__  // a page has no shell
    add("completions", ToValue(&shell_, CompletionShells())->value_name("SHELL"),
        "print what makes a shell complete memtool's command lines: bash, zsh or fish");
#endif
  }
  Result<ExitCode> Run(Streams& streams) override {
#ifndef __EMSCRIPTEN__
    if (!shell_.empty()) {
      return Completions(streams);
    }
#endif
    const unsigned width = streams.out.TerminalWidth();
    if (topics_.empty()) {
      streams.out.Write(VisibleText::Lines(FitHelp(Overview(true), width)));
      return ExitCode::kOk;
    }
    if (topics_.size() == 2 && (topics_[0] == "columns" || topics_[0] == "schema")) {
      return OfAnswer(streams);
    }
    if (topics_.size() > 1) {
      return Fail(ErrorCode::kUsage, "help explains one thing at a time");
    }
    if (const std::string text = Topic(topics_.front()); !text.empty()) {
      streams.out.Write(VisibleText::Lines(FitHelp(text, width)));
      return ExitCode::kOk;
    }
    const CommandEntry* entry = FindCommand(topics_.front());
    if (entry == nullptr) {
      return Fail(ErrorCode::kUsage, "there is no command '" + topics_.front() + "'",
                  "memtool help lists them");
    }
    const CommandLine line(*entry);
    streams.out.Write(
        VisibleText::Lines(FitHelp(CommandHelp(*entry, *line.command, line.options), width)));
    return ExitCode::kOk;
  }

 private:
  // What is declared of an answer, as text or as JSON Schema.
  Result<ExitCode> OfAnswer(Streams& streams) const {
    const bool columns = topics_[0] == "columns";
    const std::string text = columns ? ColumnsText(topics_[1]) : SchemaText(topics_[1]);
    if (text.empty()) {
      return Fail(ErrorCode::kUsage, fmt::format("'{}' has no {}", topics_[1], topics_[0]),
                  "memtool help " + topics_[0] + " lists what has");
    }
    streams.out.Write(
        VisibleText::Lines(columns ? FitHelp(text, streams.out.TerminalWidth()) : text));
    return ExitCode::kOk;
  }

  static KnownWords Topics() {
    KnownWords known;
    for (const TopicEntry& topic : kTopics) {
      known.words.emplace_back(topic.name);
    }
    for (const CommandEntry& entry : Commands()) {
      known.words.emplace_back(entry.name);
    }
    return known;
  }

#ifndef __EMSCRIPTEN__
  Result<ExitCode> Completions(Streams& streams) {
    if (!topics_.empty()) {
      return Fail(ErrorCode::kUsage, "--completions stands alone");
    }
    auto script = CompletionScript(shell_);
    MEMTOOL_TRY(script);
    streams.out.Write(VisibleText::Lines(*script));
    return ExitCode::kOk;
  }
#endif

  std::vector<std::string> topics_;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> MakeHelp() {
  return std::make_unique<HelpCommand>();
}

}  // namespace memtool::commands
