// memtool run: another program under the capture shim.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "../capture/wire.h"
#include "base/command.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/sizes.h"
#include "run/run_logs.h"
#include "run/run_process.h"
#include "words/known_words.h"

namespace memtool::commands {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libmemtool_capture.so";
constexpr int kMaxFrames = 256;
constexpr std::string_view kDefaultName = "memtool.%h.%p.%r.mtcap";

// Where it is said to be, or next to this program: in the build folder, or where the installation
// put it.
std::string FindLibrary(const fs::path& said) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = said.empty() ? program.parent_path() : said;
  for (const fs::path& place :
       {folder / (said.empty() ? "../capture" : "") / kLibrary,
        folder / MEMTOOL_LIBRARY_FROM_BIN / kLibrary, folder / "../lib/memtool" / kLibrary}) {
    if (fs::is_regular_file(place, error)) {
      return fs::canonical(place, error).string();
    }
  }
  return {};
}

// Distinguishes this run's logs from others in the same folder; never 0, which means "no run".
std::uint64_t NewRun() {
  std::random_device random;
  return std::uint64_t{random()} << 32U | random() | 1U;
}

constexpr std::array<std::string_view, 4> kStackKinds{"off", "native", "python", "both"};

class RunCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] -- PROGRAM [ARGUMENT...]",
            .examples =
                "memtool run -- python train.py\n"
                "memtool run -o /scratch/%h.%p.%r.mtcap -- torchrun train.py\n"
                "memtool top --at peak memtool.*.mtcap"};
  }

  void Declare(po::options_description& options) override {
    po::options_description group("Recording");
    group.add_options()("output,o", ToValue(&output_, {.files = true})->value_name("NAME"),
                        "the log; %h is the host, %p the process, %r the rank")(
        "stacks",
        ToValue(&stacks_, {.words = {kStackKinds.begin(), kStackKinds.end()}})->value_name("KIND"),
        "off, native, python or both")("depth", po::value(&depth_)->value_name("N"),
                                       "frames of a stack, 1 to 256")(
        "backend", ToValue(&backend_, {.words = {"preload", "cupti"}})->value_name("WAY"),
        "preload (default) or cupti: how calls are seen")(
        "max-bytes", po::value(&max_bytes_)->value_name("SIZE"), "largest log size (default 1G)")(
        "no-pinned", po::bool_switch(&no_pinned_), "leave pinned host memory out")(
        "paused", po::bool_switch(&paused_), "record nothing until memtool_capture_start()")(
        "quiet,q", po::bool_switch(&quiet_), "print nothing at the end");
    options.add(group);
  }

  [[nodiscard]] Line line() const override { return Line::kProgram; }

  std::optional<Result<void>> ParseRaw(std::span<const std::string> args) override {
    // The program's own options are not ours: cut before the first word that is neither an option
    // nor the value of one.
    std::size_t cut = 0;
    constexpr std::array<std::string_view, 6> kWithValue{"-o",      "--output",    "--stacks",
                                                         "--depth", "--max-bytes", "--backend"};
    while (cut < args.size() && args[cut].starts_with('-') && args[cut] != "--") {
      const bool value =
          std::find(kWithValue.begin(), kWithValue.end(), args[cut]) != kWithValue.end();
      if (value && cut + 1 < args.size() && args[cut + 1] == "--") {
        usage_ = fmt::format("option '{}' has no value before --", args[cut]);
        return Result<void>{};
      }
      cut = std::min(args.size(), cut + (value ? 2 : 1));
    }
    const std::vector<std::string> own(args.begin(),
                                       args.begin() + static_cast<std::ptrdiff_t>(cut));
    const std::size_t program = cut < args.size() && args[cut] == "--" ? cut + 1 : cut;
    program_.assign(args.begin() + static_cast<std::ptrdiff_t>(program), args.end());
    po::options_description options;
    Declare(options);
    try {
      po::variables_map values;
      po::store(
          po::command_line_parser(own)
              .options(options)
              .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
              .run(),
          values);
      po::notify(values);
    } catch (const po::error& error) {
      usage_ = error.what();
    }
    return Result<void>{};
  }

  Result<ExitCode> Run(Streams& streams) override {
    if (usage_.empty()) {
      usage_ = WrongValue();
    }
    if (usage_.empty() && program_.empty()) {
      usage_ = "no program is named (memtool run [options] -- PROGRAM ...)";
    }
    const std::string library = FindLibrary(streams.folder);
    if (usage_.empty() && library.empty()) {
      usage_ = fmt::format("{} is neither beside this program nor in its installation", kLibrary);
    }
    if (usage_.empty() && library.find_first_of(" :") != std::string::npos) {
      usage_ = fmt::format("'{}' has a space or colon in its path, which LD_PRELOAD cannot hold",
                           library);
    }
    if (!usage_.empty()) {
      Warn(streams, usage_);
      return Code(kRunOwnFailure);
    }
    SetEnvironment(library);
    const int code = RunProgram(program_, streams);
    if (!quiet_ && code != kRunNotFound && code != kRunCannotRun && code != kRunOwnFailure) {
      SumUp(streams);
    }
    return Code(code);
  }

 private:
  static ExitCode Code(int code) { return static_cast<ExitCode>(code); }

  // What is wrong with the options' values, said once here instead of in every process; else "".
  std::string WrongValue() {
    if (!backend_.empty() && backend_ != "preload" && backend_ != "cupti") {
      return fmt::format("'{}' is neither preload nor cupti", backend_);
    }
    if (!stacks_.empty() &&
        std::find(kStackKinds.begin(), kStackKinds.end(), stacks_) == kStackKinds.end()) {
      return fmt::format("'{}' is not one of off, native, python, both", stacks_);
    }
    const auto depth = ParseNumber<int>(depth_);
    if (!depth_.empty() && (!depth || *depth < 1 || *depth > kMaxFrames)) {
      return fmt::format("--depth '{}' is not a number of frames from 1 to {}", depth_, kMaxFrames);
    }
    std::error_code error;
    if (output_.ends_with('/') || fs::is_directory(output_, error)) {
      return fmt::format("'{}' is a folder: -o names the log of each process", output_);
    }
    return WrongBytes();
  }

  // Leaves max_bytes_ as the capture library reads it: a plain number.
  std::string WrongBytes() {
    if (max_bytes_.empty()) {
      return {};
    }
    const auto bytes = ParseSize(max_bytes_);
    if (!bytes) {
      return fmt::format("--max-bytes {} ({})", bytes.error().message, bytes.error().hint);
    }
    constexpr auto kMin = static_cast<std::int64_t>(wire::kHeaderBytes + wire::kChunkBytes);
    if (*bytes < kMin) {
      return fmt::format("--max-bytes {} is less than the smallest log, {}", max_bytes_,
                         FormatSize(kMin));
    }
    max_bytes_ = std::to_string(*bytes);
    return {};
  }

  // AddressSanitizer's shared library insists on coming before all others. The capture library
  // turns that check off, but its defaults do not count where the program has defaults of its own.
  static void AllowLinkOrder() {
    constexpr std::string_view kOption = "verify_asan_link_order";
    const char* given = std::getenv("ASAN_OPTIONS");
    const std::string options = given == nullptr ? "" : given;
    if (options.find(kOption) == std::string::npos) {
      const std::string_view between = options.empty() ? "" : ":";
      ::setenv("ASAN_OPTIONS", fmt::format("{}{}{}=0", options, between, kOption).c_str(), 1);
    }
  }

  void SetEnvironment(const std::string& library) {
    if (backend_ == "cupti") {
      ::setenv("CUDA_INJECTION64_PATH", library.c_str(), 1);
    } else {
      const char* others = std::getenv("LD_PRELOAD");
      const std::string preload =
          others == nullptr || *others == '\0' ? library : library + ":" + others;
      ::setenv("LD_PRELOAD", preload.c_str(), 1);
    }
    AllowLinkOrder();
    const char* given = std::getenv("MEMTOOL_CAPTURE_OUT");
    std::string name = !output_.empty()   ? output_
                       : given != nullptr ? std::string(given)
                                          : std::string(kDefaultName);
    std::error_code error;
    if (name.empty() || name.front() != '/') {
      // A folder's own percent signs are not ours to expand.
      std::string folder = fs::current_path(error).string();
      for (std::size_t at = 0; (at = folder.find('%', at)) != std::string::npos; at += 2) {
        folder.insert(at, 1, '%');
      }
      name = folder + "/" + name;
    }
    pattern_ = name;
    ::setenv("MEMTOOL_CAPTURE_OUT", name.c_str(), 1);
    run_ = NewRun();
    ::setenv("MEMTOOL_CAPTURE_RUN", std::to_string(run_).c_str(), 1);
    const auto set = [](const char* variable, const std::string& value) {
      if (!value.empty()) {
        ::setenv(variable, value.c_str(), 1);
      }
    };
    set("MEMTOOL_CAPTURE_STACKS", stacks_);
    set("MEMTOOL_CAPTURE_DEPTH", depth_);
    set("MEMTOOL_CAPTURE_MAX_BYTES", max_bytes_);
    set("MEMTOOL_CAPTURE_HOST", no_pinned_ ? "0" : "");
    set("MEMTOOL_CAPTURE_ENABLED", paused_ ? "0" : "");
  }

  void SumUp(Streams& streams) const {
    const std::vector<fs::path> logs = FindRunLogs(pattern_, run_);
    if (logs.empty()) {
      Warn(streams, WhyNoLog(pattern_));
    }
    for (const fs::path& log : logs) {
      Warn(streams, fmt::format("{}: {}", log.string(), SummarizeLog(log)));
    }
  }

  std::string output_;
  std::string stacks_;
  std::string depth_;
  std::string max_bytes_;
  std::string backend_;
  bool no_pinned_ = false;
  bool paused_ = false;
  bool quiet_ = false;
  std::vector<std::string> program_;
  std::string usage_;
  std::string pattern_;
  std::uint64_t run_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeRun() {
  return std::make_unique<RunCommand>();
}

}  // namespace memtool::commands
