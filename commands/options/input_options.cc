#include "options/input_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <cstddef>
#include <span>
#include <utility>

#include "base/memory_bound.h"
#include "inputs/digested_files.h"
#include "inputs/trace_folder.h"
#include "memtool/formats/reader.h"
#include "memtool/formats/source.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/on_threads.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/sizes.h"
#include "options/default_input.h"
#include "options/size_option.h"
#include "words/known_words.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kMaxJobs = 4;
constexpr const char* kHidden = "";  // what help and completions leave out

// The lines of a list of inputs that are not empty.
Result<std::vector<std::string>> SplitLines(const std::string& name) {
  const auto about = [&name](Error error) {
    error.input = name;
    error.message = "the list of inputs " + error.message;
    return error;
  };
  auto source = name == "-" ? formats::MakeFdSource(STDIN_FILENO, false) : formats::OpenFile(name);
  if (!source) {
    return Fail(about(std::move(source.error())));
  }
  std::vector<std::string> lines(1);
  const auto end_line = [&lines] {
    if (lines.back().ends_with('\r')) {  // a list from Windows
      lines.back().pop_back();
    }
    if (!lines.back().empty()) {
      lines.emplace_back();
    }
  };
  std::array<std::byte, 4096> buffer{};
  while (true) {
    const auto got = (*source)->Read(buffer);
    if (!got) {
      return Fail(about(got.error()));
    }
    if (*got == 0) {
      break;
    }
    for (const std::byte byte : std::span(buffer).first(*got)) {
      if (byte != std::byte{'\n'}) {
        lines.back() += static_cast<char>(byte);
      } else {
        end_line();
      }
    }
  }
  end_line();
  lines.pop_back();
  return lines;
}

}  // namespace

Result<void> CheckNames(const std::vector<std::string>& names) {
  std::vector<std::string> streams;
  for (const std::string& name : names) {
    if (name.empty()) {
      return Fail(ErrorCode::kUsage, "the name of an input is empty",
                  "a variable that is not set?");
    }
    auto stream = formats::GetStream(name);
    if (stream && std::find(streams.begin(), streams.end(), *stream) != streams.end()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("{} is named twice, and can be read only once",
                              *stream == "-" ? "standard input" : "'" + name + "'"),
                  "name it once, or write it to a file first");
    }
    if (stream) {
      streams.push_back(*std::move(stream));
    }
  }
  return {};
}

namespace {

KnownWords FormatNames() {
  KnownWords known;
  for (const formats::Reader* reader : formats::Readers()) {
    known.words.emplace_back(reader->name());
  }
  return known;
}

KnownWords LimitNames() {
  KnownWords known;
  for (const formats::LimitInfo& limit : formats::LimitList()) {
    known.words.push_back(std::string(limit.name) + "=");
  }
  return known;
}

}  // namespace

void InputOptions::Declare(po::options_description& options, bool with_rows) {
  with_rows_ = with_rows;
  po::options_description group("Input");
  auto add = group.add_options();
  add("file", po::value(&files_)->value_name("FILE"),
      "an input; '-' is stdin (also as a plain argument)");
  add("files-from", ToValue(&files_from_, {.files = true})->value_name("LIST"),
      "read names of inputs from LIST, one per line; '-' is stdin");
  add("patterns", po::value(&patterns_)->value_name("FILE"),
      "more wordings of logs, asked before the built-in ones (memtool info --print-patterns)");
  add("input-format", ToValue(&load_.format, FormatNames())->value_name("NAME"),
      "read as this format instead of by content");
  const std::string rows = "print N rows, 0 = all (default 20 in a table on stdout, else all)";
  if (takes_process_limit_) {
    add("rows,n", po::value(&rows_text_)->value_name("N"), rows.c_str());
    add("process-limit", po::value(&process_limit_text_)->value_name("SIZE"),
        "what the process may get of the device's memory");
    add("limit", po::value(&limits_), kHidden);
  } else if (with_rows) {
    add("limit,n", po::value(&limits_)->value_name("N"), rows.c_str());
  } else {
    add("limit", po::value(&limits_), kHidden);
  }
  add("max-memory", po::value(&max_memory_text_)->value_name("SIZE"),
      "what memtool itself may allocate");
  add("max", ToValue(&maxima_, LimitNames())->value_name("NAME=VALUE"),
      "another limit of what an input may cost, see memtool help limits");
  add("jobs,j", po::value(&jobs_)->value_name("N"), "read N inputs at a time");
  add("keep-going", po::bool_switch(&keep_going_), "leave out inputs that cannot be read");
  add("root", po::value(&digest_root_)->value_name("DIR"),
      "digests stand for files below DIR, not only for those below their own folder");
  add("si-units", po::bool_switch(&si_units_),
      "in sizes that you give, K, M and G are powers of 1000 instead of 1024");
  add("strict", po::bool_switch(&strict_), "exit 4 when an input was read around damage");
  if (takes_conf_) {
    add("conf",
        po::value<std::string>()->value_name("SETTINGS")->notifier([this](const std::string& text) {
          conf_text_ = text;
        }),
        "segments as other settings of PyTorch's allocator would have made them, see memtool "
        "help whatif");
    add("change",
        po::value<std::string>()->value_name("EDIT")->notifier(
            [this](const std::string& text) { change_text_ = text; }),
        "the recording of a program so changed, such as accumulate=2, see memtool help advise");
  }
  options.add(group);
}

Result<void> InputOptions::ResolveConf() {
  if (change_text_) {
    auto edits = advise::ParseEdits(*change_text_);
    MEMTOOL_TRY(edits);
    change_ = *std::move(edits);
  }
  if (!conf_text_) {
    return {};
  }
  auto settings = whatif::ParseAllocatorConf(*conf_text_);
  MEMTOOL_TRY(settings);
  if (settings->other_allocator) {
    return Fail(ErrorCode::kUsage, fmt::format("--conf {}: only PyTorch's own allocator "
                                               "(backend:native) is modelled",
                                               *conf_text_));
  }
  conf_ = *std::move(settings);
  return {};
}

Result<void> InputOptions::TakeMaximum(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return Fail(ErrorCode::kUsage, fmt::format("--max: '{}' is not NAME=VALUE", text),
                "memtool help limits lists the names");
  }
  auto value = ParseSize(std::string_view(text).substr(equals + 1), size_base());
  MEMTOOL_TRY(value);
  return formats::SetLimit(load_.limits, text.substr(0, equals),
                           static_cast<std::uint64_t>(*value));
}

Result<void> InputOptions::TakeRows(std::string_view option, const std::string& text) {
  const auto rows = ParseNumber<std::uint64_t>(text);
  if (!rows) {
    return Fail(ErrorCode::kUsage, fmt::format("{}: '{}' is not a number of rows", option, text));
  }
  rows_ = static_cast<std::size_t>(*rows);
  return {};
}

Result<void> InputOptions::TakeProcessLimit(std::string_view option, const std::string& text) {
  auto bytes = ParseDeviceSize(option, text, size_base());
  MEMTOOL_TRY(bytes);
  process_limit_ = *bytes;
  return {};
}

// --limit was all three before each had a name; what can be meant only one way still is.
Result<void> InputOptions::TakeLimit(const std::string& text) {
  if (text.find('=') != std::string::npos) {
    return TakeMaximum(text);
  }
  if (!takes_process_limit_) {
    return with_rows_ ? TakeRows("--limit", text)
                      : Fail(ErrorCode::kUsage,
                             fmt::format("--limit {}: there are no rows to limit", text),
                             "limits of what an input may cost are --max NAME=VALUE");
  }
  if (ParseNumber<std::uint64_t>(text)) {
    return Fail(
        ErrorCode::kUsage, fmt::format("--limit {0}: {0} rows, or {0} GiB for the process?", text),
        fmt::format("-n {0} for rows, --process-limit {0}GiB for what the process may get", text));
  }
  return TakeProcessLimit("--limit", text);
}

Result<void> InputOptions::Resolve() {
  if (!patterns_.empty()) {
    auto patterns = formats::ReadLogPatterns(patterns_);
    MEMTOOL_TRY(patterns);
    load_.patterns = *std::move(patterns);
  }
  MEMTOOL_TRY(ResolveConf());
  for (const std::string& text : limits_) {
    MEMTOOL_TRY(TakeLimit(text));
  }
  if (!rows_text_.empty()) {
    MEMTOOL_TRY(TakeRows("--rows", rows_text_));
  }
  if (!process_limit_text_.empty()) {
    MEMTOOL_TRY(TakeProcessLimit("--process-limit", process_limit_text_));
  }
  if (!max_memory_text_.empty()) {
    maxima_.push_back("memory=" + max_memory_text_);
  }
  for (const std::string& text : maxima_) {
    MEMTOOL_TRY(TakeMaximum(text));
  }
  BoundOutput(load_.limits.output_bytes);
  BoundMemory(load_.limits.memory > 0 ? load_.limits.memory : DefaultMemoryBound());
  if (jobs_ == 0) {
    jobs_ = std::clamp<std::size_t>(ProcessorCount(), 1, kMaxJobs);
  }
  return {};
}

std::optional<std::string> InputOptions::TakeFirst() {
  if (files_.empty()) {
    return std::nullopt;
  }
  std::string first = std::move(files_.front());
  files_.erase(files_.begin());
  return first;
}

Result<std::vector<std::string>> InputOptions::GivenNames() const {
  std::vector<std::string> names = files_;
  if (!files_from_.empty()) {
    auto list = SplitLines(files_from_);
    MEMTOOL_TRY(list);
    names.insert(names.end(), list->begin(), list->end());
    if (names.empty()) {
      return Fail(ErrorCode::kUsage, "--files-from: the list names no input");
    }
  }
  std::vector<std::string> once = names;
  if (!files_from_.empty()) {
    once.push_back(files_from_);
  }
  MEMTOOL_TRY(CheckNames(once));
  return names;
}

Result<std::vector<std::string>> InputOptions::GetFiles(const std::vector<std::string>& names,
                                                        Streams& streams) const {
  MEMTOOL_TRY(CheckNames(names));
#ifdef __EMSCRIPTEN__  // a page has the files that it was given, and no others
  return WithFoldersRead(names, keep_going_, streams);
#else
  auto files = WithDigestsRead(names, digested_files(), streams);
  MEMTOOL_TRY(files);
  return WithFoldersRead(*files, keep_going_, streams);
#endif
}

Result<std::vector<std::string>> InputOptions::Names(Streams& streams) const {
  auto names = GivenNames();
  MEMTOOL_TRY(names);
  if (names->empty()) {
    auto name = DefaultInput(streams);
    MEMTOOL_TRY(name);
    names->push_back(*std::move(name));
  }
  auto read = GetFiles(*names, streams);
  MEMTOOL_TRY(read);
  for (const std::string& name : *read) {
    streams.inputs.Add(name);
  }
  return read;
}

}  // namespace memtool::commands
