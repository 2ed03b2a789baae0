#include "work.h"

#include <sys/stat.h>

#include <cstdint>
#include <utility>

#include "base/command.h"
#include "memtool/formats/open.h"
#include "memtool/profile/replay/moment.h"
#include "output/sink.h"
#include "session/recording_cache.h"

namespace memtool::c {

namespace {

using commands::RecordingCache;

// How many bytes a file has; none where only reading tells.
std::optional<std::uint64_t> SizeOf(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(status.st_size);
}

Result<std::shared_ptr<Input>> Read(const std::string& path, Task& task) {
  formats::OpenOptions options;
  options.accepted.oom_logs = true;
  options.on_bytes = [&task](std::uint64_t bytes) { task.CountRead(bytes); };
  auto document = formats::Open(path, options);
  MEMTOOL_TRY(document);
  auto input = std::make_shared<Input>();
  if (document->kind() == formats::DocumentKind::kOomLog) {
    if (!document->oom_log().messages.empty()) {
      input->display = "text log";
      return input;
    }
    // Text without a message: perhaps a reader recognises it. Its bytes were counted.
    options.on_bytes = [&task](std::uint64_t /*bytes*/) { task.CheckWanted(); };
    auto recording = formats::OpenRecording(path, options);
    MEMTOOL_TRY(recording);
    document = formats::Document(*std::move(recording));
  }
  task.may_wait = false;
  task.CheckWanted();
  input->recording = std::make_shared<const Recording>((*std::move(document)).recording());
  input->display = input->recording->metadata.format_display;
  if (input->recording->history) {
    input->index = std::make_shared<const HistoryIndex>(input->recording);
  }
  return input;
}

std::unique_ptr<Outcome> Load(const std::string& path, Task& task) {
  auto read = Read(path, task);
  if (!read) {
    return Failed(std::move(read.error()), path);
  }
  auto outcome = std::make_unique<Outcome>();
  outcome->SetInput(*std::move(read));
  return outcome;
}

std::unique_ptr<Outcome> Answer(const CommandLine& line, const Task& task) {
  RecordingCache cache;
  for (const NamedInput& named : line.inputs) {
    if (named.input->recording) {
      cache.Keep(RecordingCache::GetKey(named.name, {}), named.input->recording,
                 named.input->index);
    }
  }
  auto outcome = std::make_unique<Outcome>();
  commands::StringSink out;
  commands::StringSink err;
  commands::Streams streams{out, err, {}, &cache};
  if (line.as_table) {
    streams.on_answer = [&](const AnswerView& answer, std::size_t limit) {
      task.CheckWanted();
      outcome->SetTable(ToTable(answer, limit));
    };
  }
  outcome->code = commands::RunMain(line.words, streams);
  outcome->SetOut(out.text());
  outcome->SetErr(err.text());
  if (streams.error) {
    outcome->SetError(*streams.error);
  }
  return outcome;
}

}  // namespace

std::shared_ptr<Task> BeginLoad(const std::string& path, const std::optional<std::string>& moment) {
  auto task = std::make_shared<Task>();
  if (moment) {
    if (auto parsed = ParseMoment(*moment, "at"); !parsed) {
      task->Reach(Failed(std::move(parsed.error()), ""));
      return task;
    }
  }
  task->total = SizeOf(path);
  task->may_wait = !task->total.has_value();
  Start(task, [path](Task& running) { return Load(path, running); });
  return task;
}

std::shared_ptr<Task> BeginAnswer(CommandLine line) {
  auto task = std::make_shared<Task>();
  Start(task, [line = std::move(line)](Task& running) { return Answer(line, running); });
  return task;
}

}  // namespace memtool::c
