// Command lines of several threads about one recording, as the C interface runs them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <latch>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/command.h"
#include "memtool/formats/open.h"
#include "output/sink.h"
#include "session/recording_cache.h"
#include "support/files.h"

namespace memtool::commands {
namespace {

using Words = std::vector<std::string>;

class SharedInput {
 public:
  explicit SharedInput(const std::string& name)
      : path_(test::TestFolder(name).string()),
        recording_(std::make_shared<const Recording>(formats::OpenRecording(path_).value())) {
    Forget();
  }
  // What was worked out of it.
  void Forget() {
    index_ = recording_->history ? std::make_shared<const HistoryIndex>(recording_) : nullptr;
  }
  [[nodiscard]] bool has_history() const { return index_ != nullptr; }
  // All that a command line prints.
  [[nodiscard]] std::string Run(Words words) const {
    RecordingCache cache;
    cache.Keep(RecordingCache::GetKey(path_, {}), recording_, index_);
    StringSink out;
    StringSink err;
    Streams streams{out, err, {}, &cache};
    words.push_back(path_);
    const int code = RunMain(words, streams);
    return std::to_string(code) + "\n" + out.text() + err.text();
  }

 private:
  std::string path_;
  std::shared_ptr<const Recording> recording_;
  std::shared_ptr<const HistoryIndex> index_;
};

// `run` of each row on four threads at a time: two do the same, two begin elsewhere. Gives what
// each thread got.
template <class Run>
std::vector<std::vector<std::string>> OnSeveralThreads(std::size_t rows, const Run& run) {
  constexpr std::size_t kThreads = 4;
  std::vector answers(kThreads, std::vector<std::string>(rows));
  std::latch begin(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      begin.arrive_and_wait();
      for (std::size_t turn = 0; turn < rows; ++turn) {
        const std::size_t row = (turn + number / 2 * rows / 2) % rows;
        answers[number][row] = run(row);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return answers;
}

class Threads : public testing::TestWithParam<const char*> {};

TEST_P(Threads, GetTheAnswersOfOne) {
  const std::vector<Words> lines{{"top", "--at", "peak", "--by", "line"},
                                 {"top", "--at", "event:40", "-n", "0"},
                                 {"tree", "--at", "start"},
                                 {"dot"},
                                 {"buckets", "--at", "peak"},
                                 {"timeline", "--points", "20", "--format", "json"},
                                 {"timeline", "--by", "function"},
                                 {"events", "-n", "7", "--from", "event:60"},
                                 {"segments", "--at", "event:90"},
                                 {"oom"},
                                 {"steps"},
                                 {"leaks"},
                                 {"account"},
                                 {"advise"},
                                 {"whatif"},
                                 {"flame", "--format", "json", "--at", "end"},
                                 {"info"},
                                 {"overview"},
                                 {"tags"},
                                 {"traces", "-n", "50"},
                                 {"peek", "step"},
                                 {"svg"},
                                 {"raw"}};
  SharedInput input(GetParam());
  std::vector<std::string> alone;
  std::transform(lines.begin(), lines.end(), std::back_inserter(alone),
                 [&](const Words& line) { return input.Run(line); });
  // What is for histories is refused of the profile.
  const auto answered = std::count_if(alone.begin(), alone.end(), [](const std::string& answer) {
    return answer.starts_with("0\n");
  });
  EXPECT_GE(answered, input.has_history() ? std::ssize(lines) : 10);
  input.Forget();
  const auto run = [&](std::size_t line) { return input.Run(lines[line]); };
  for (const auto& answers : OnSeveralThreads(lines.size(), run)) {
    for (std::size_t line = 0; line < lines.size(); ++line) {
      EXPECT_EQ(answers[line], alone[line]) << lines[line][0];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Inputs, Threads,
                         testing::Values("steps/base.json.gz", "pprof/jax_leak/memory9.prof"));

// The first file of each folder of test data.
std::vector<std::string> OneOfEachFolder() {
  std::map<std::string, std::string> first;
  for (const auto& file : std::filesystem::recursive_directory_iterator(test::TestFolder(""))) {
    if (file.is_regular_file() && file.path().extension() != ".md") {
      std::string& known = first[file.path().parent_path().string()];
      known = known.empty() ? file.path().string() : std::min(known, file.path().string());
    }
  }
  std::vector<std::string> files;
  std::transform(first.begin(), first.end(), std::back_inserter(files),
                 [](const auto& of_folder) { return of_folder.second; });
  return files;
}

TEST(ThreadsThatRead, GetTheAnswersOfOne) {
  const std::vector<std::string> files = OneOfEachFolder();
  ASSERT_GT(files.size(), 50U);
  const auto run = [&](std::size_t file) {
    StringSink out;
    StringSink err;
    Streams streams{out, err};
    const int code = RunMain(Words{"info", files[file]}, streams);
    return std::to_string(code) + "\n" + out.text() + err.text();
  };
  std::vector<std::string> alone;
  for (std::size_t file = 0; file < files.size(); ++file) {
    alone.push_back(run(file));
  }
  for (const auto& answers : OnSeveralThreads(files.size(), run)) {
    EXPECT_EQ(answers, alone);
  }
}

TEST(ThreadsThatWrite, HaveFilesOfTheirOwn) {
  const std::vector<std::string> kinds{"pprof", "folded", "json", "chrome", "perfetto", "memtool"};
  const SharedInput input("steps/base.json.gz");
  const auto folder =
      std::filesystem::path(testing::TempDir()) / ("threads" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto write = [&](std::size_t kind) {
    std::ostringstream name;
    name << folder.string() << "/" << std::this_thread::get_id() << "." << kinds[kind];
    EXPECT_TRUE(input.Run({"convert", "--to", kinds[kind], "-o", name.str()}).starts_with("0"));
    const test::Bytes bytes = test::ReadFile(name.str());
    return std::string(test::AsView(bytes));
  };
  std::vector<std::string> alone;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    alone.push_back(write(kind));
  }
  for (int round = 0; round < 5; ++round) {
    for (const auto& answers : OnSeveralThreads(kinds.size(), write)) {
      EXPECT_EQ(answers, alone);
    }
  }
  std::filesystem::remove_all(folder);
}

TEST(ThreadsThatWrite, HaveTheirOwnBounds) {
  std::thread([] {
    BoundOutput(10);
    EXPECT_THROW(OutputBound().Add(11), OutputTooLong);
    std::thread([] { EXPECT_NO_THROW(OutputBound().Add(11)); }).join();
  }).join();
  EXPECT_NO_THROW(OutputBound().Add(11));
}

}  // namespace
}  // namespace memtool::commands
