// Damaged files through every command, in one process, because there are millions of runs: each
// file cut at every byte and with random flips, each of these through every command line of
// common/command_lines.h. What an answer may be is in judge.cc.
//
// usage: flips [OPTION=VALUE...]
//   --testdata=FOLDER  of the repository
//   --folder=FOLDER    where the damaged file is put; one with a fault stays there as fault-N
//   --format=NAME      only this format
//   --flips=N          per format (default 10000)
//   --cuts=N           per file, evenly spread; 0 = none (default: at every byte)
//   --lines=N          command lines per damaged file, in turn (default all)
//   --seed=N           (default 1)
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/command.h"
#include "common/container_sums.h"
#include "damage.h"
#include "inputs.h"
#include "judge.h"
#include "output/sink.h"
#include "support/byte_cursor.h"
#if defined(__SANITIZE_ADDRESS__)
#  include <sanitizer/lsan_interface.h>
#endif

namespace memtool::flips {
namespace {

namespace fs = std::filesystem;

struct Settings {
  fs::path testdata;
  fs::path folder = "flips.folder";
  std::string format;
  std::size_t flips = 10000;
  std::size_t cuts = std::numeric_limits<std::size_t>::max();
  std::size_t lines = std::numeric_limits<std::size_t>::max();
  std::size_t seed = 1;
};

constexpr std::string_view kOther = "pprof/forms/packed.pb";
constexpr int kHangSeconds = 60;
constexpr int kLastCode = 6;

// What runs now, for the handler of a hang or a crash.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): handlers reach nothing else
std::array<char, 300> g_running{};

void Died(int signal) {
  (void)!::write(STDERR_FILENO, g_running.data(), std::strlen(g_running.data()));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void Watch(const std::string& what) {
  constexpr itimerval kAlarm{.it_interval = {}, .it_value = {.tv_sec = kHangSeconds, .tv_usec = 0}};
  ::setitimer(ITIMER_PROF, &kAlarm, nullptr);
  const std::string text = "\nended in: " + what + "\n";
  g_running[text.copy(g_running.data(), g_running.size() - 1)] = '\0';
}

double ProcessorSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The peak of the process so far. Sanitizers keep what is freed: there it says nothing.
std::size_t PeakKb() {
#if defined(__SANITIZE_ADDRESS__)
  return 0;
#else
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss);
#endif
}

std::string GetBytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot open %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Repaired(const std::string& bytes) {
  const auto repaired = fuzz::WithGoodSums(std::as_bytes(std::span(bytes.data(), bytes.size())));
  return std::string(formats::AsText(repaired));
}

struct Sample {
  std::string words;
  std::string errors;
  std::size_t times = 0;
  std::string kept;  // the file that showed it
};

struct Figures {
  std::size_t bytes = 0;
  std::size_t cuts = 0;
  std::size_t flips = 0;
  std::size_t runs = 0;
  std::array<std::size_t, kLastCode + 1> codes{};
  double worst = 0;
  std::string worst_line;
};

class Run {
 public:
  explicit Run(Settings settings) : settings_(std::move(settings)) {
    fs::create_directories(settings_.folder / "memtool");
    settings_.folder = fs::canonical(settings_.folder);
  }

  // False when there was a fault.
  bool Of(const Format& format);

 private:
  void Damaged(const Format& format, const std::string& whole, const std::string& bytes);
  void Ask(const Line& line, const Format& format, const std::string& whole);
  void Count(const Line& line, const Outcome& outcome, const fs::path& input);
  void Print(const Format& format, std::size_t peak_before) const;

  Settings settings_;
  std::vector<Line> lines_ = fuzz::CommandLines();
  Figures figures_;
  std::size_t turn_ = 0;
  std::size_t kept_ = 0;
  std::map<std::string, Sample> faults_;
};

void Run::Count(const Line& line, const Outcome& outcome, const fs::path& input) {
  ++figures_.runs;
  ++figures_.codes[static_cast<std::size_t>(std::clamp(outcome.code, 0, kLastCode))];
  if (outcome.seconds > figures_.worst) {
    figures_.worst = outcome.seconds;
    figures_.worst_line = line.words;
  }
  std::string fault = FindFault(line, outcome);
  if (fault.empty()) {
    return;
  }
  Sample& sample = faults_[std::move(fault)];
  if (++sample.times == 1) {
    const fs::path kept = settings_.folder / ("fault-" + std::to_string(++kept_));
    fs::copy_file(input, kept, fs::copy_options::overwrite_existing);
    sample.words = line.words;
    sample.errors = outcome.errors;
    sample.kept = kept.native();
  }
}

void Run::Ask(const Line& line, const Format& format, const std::string& whole) {
  const fs::path input = settings_.folder / format.place;
  const std::array<std::pair<std::string_view, std::string>, 3> names{
      {{"FILE", input}, {"WHOLE", whole}, {"OTHER", settings_.testdata / kOther}}};
  std::vector<std::string> words = fuzz::ToWords(line.words);
  for (std::string& word : words) {
    for (const auto& [name, path] : names) {
      if (const std::size_t at = word.find(name); at != std::string::npos) {
        word.replace(at, name.size(), path);
        break;
      }
    }
  }
  if (words[0] != "pprof") {
    words.insert(words.begin() + 1, {"--max", "memory=512MiB"});
  }
  Watch(line.words);
  commands::StringSink out;
  commands::StringSink err;
  commands::Streams streams{out, err};
  const std::size_t peak = PeakKb();
  const double begin = ProcessorSeconds();
  Outcome outcome;
  outcome.code = commands::RunMain(words, streams);
  outcome.seconds = ProcessorSeconds() - begin;
  outcome.grown_kb = PeakKb() - peak;
  outcome.errors = err.text();
  Count(line, outcome, input);
}

void Run::Damaged(const Format& format, const std::string& whole, const std::string& bytes) {
  std::ofstream(settings_.folder / format.place, std::ios::binary | std::ios::trunc) << bytes;
  for (std::size_t n = std::min(settings_.lines, lines_.size()); n > 0; --n) {
    Ask(lines_[turn_++ % lines_.size()], format, whole);
  }
}

void Run::Print(const Format& format, std::size_t peak_before) const {
  std::printf(
      "%-20s %6zu bytes %6zu cuts %6zu flips %8zu runs; exit 0: %zu, 2: %zu, 3: %zu, "
      "4: %zu, 6: %zu; worst %.3f s (%s); peak %zu KiB, %zu more\n",
      format.name.c_str(), figures_.bytes, figures_.cuts, figures_.flips, figures_.runs,
      figures_.codes[0], figures_.codes[2], figures_.codes[3], figures_.codes[4], figures_.codes[6],
      figures_.worst, figures_.worst_line.c_str(), PeakKb(), PeakKb() - peak_before);
  for (const auto& [fault, sample] : faults_) {
    std::printf("  FAULT %zu times: %s\n    memtool %s, FILE=%s\n    %s", sample.times,
                fault.substr(0, 300).c_str(), sample.words.c_str(), sample.kept.c_str(),
                sample.errors.empty() ? "\n" : sample.errors.c_str());
  }
  std::fflush(stdout);
}

bool Run::Of(const Format& format) {
  figures_ = {};
  faults_.clear();
  std::mt19937_64 random(settings_.seed);
  ::setenv("XDG_CONFIG_HOME",
           format.place.starts_with("memtool/") ? settings_.folder.c_str() : "/nonexistent", 1);
  const std::size_t peak = PeakKb();
  const std::vector<std::string> files = fuzz::ToWords(format.files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string whole = settings_.testdata / files[i];
    const std::string bytes = GetBytes(whole);
    figures_.bytes += bytes.size();
    if (settings_.cuts > 0) {
      const std::size_t step = CutDistance(bytes.size(), settings_.cuts);
      for (std::size_t at = 0; at < bytes.size(); at += step, ++figures_.cuts) {
        Damaged(format, whole, bytes.substr(0, at));
      }
    }
    const std::size_t until = settings_.flips * (i + 1) / files.size();
    for (; figures_.flips < until; ++figures_.flips) {
      const std::string flipped = Flipped(bytes, random);
      Damaged(format, whole, format.repaired ? Repaired(flipped) : flipped);
    }
  }
  Print(format, peak);
  fs::remove(settings_.folder / format.place);
#if defined(__SANITIZE_ADDRESS__)
  return faults_.empty() && __lsan_do_recoverable_leak_check() == 0;
#else
  return faults_.empty();
#endif
}

bool TakeNumber(std::string_view word, std::string_view option, std::size_t& number) {
  if (!word.starts_with(option)) {
    return false;
  }
  const auto [end, error] =
      std::from_chars(word.data() + option.size(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size();
}

bool TakeText(std::string_view word, std::string_view option, std::string& text) {
  if (!word.starts_with(option)) {
    return false;
  }
  text = word.substr(option.size());
  return true;
}

bool Take(std::string_view word, Settings& settings) {
  std::string path;
  if (TakeText(word, "--testdata=", path)) {
    settings.testdata = path;
    return true;
  }
  if (TakeText(word, "--folder=", path)) {
    settings.folder = path;
    return true;
  }
  return TakeText(word, "--format=", settings.format) ||
         TakeNumber(word, "--flips=", settings.flips) ||
         TakeNumber(word, "--cuts=", settings.cuts) ||
         TakeNumber(word, "--lines=", settings.lines) || TakeNumber(word, "--seed=", settings.seed);
}

int Main(const std::vector<std::string>& words) {
  Settings settings;
  for (const std::string& word : words) {
    if (!Take(word, settings)) {
      std::fprintf(stderr, "cannot take '%s'\n", word.c_str());
      return 2;
    }
  }
  for (const int signal : {SIGPROF, SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) {
#if defined(__SANITIZE_ADDRESS__)
    if (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE) {
      continue;  // the sanitizer says more
    }
#endif
    std::signal(signal, Died);
  }
  ::setenv("PATH", "/nonexistent", 1);  // no Graphviz and no browser
  bool well = true;
  Run run(settings);
  std::size_t formats = 0;
  std::printf("seed %zu\n", settings.seed);
  for (const Format& format : Formats(settings.testdata)) {
    if (settings.format.empty() || settings.format == format.name) {
      ++formats;
      well = run.Of(format) && well;
    }
  }
  return well && formats > 0 ? 0 : 1;
}

}  // namespace
}  // namespace memtool::flips

int main(int argc, char** argv) {
  return memtool::flips::Main({argv + std::min(argc, 1), argv + argc});
}
