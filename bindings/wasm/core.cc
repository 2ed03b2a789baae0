// The program behind a page: command lines in, what the program would write out. The page's worker
// calls this; see bindings/wasm/README.md for the contract.
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "output/sink.h"
#include "session/recording_cache.h"

namespace {

using memtool::commands::StringSink;

// What the last command line wrote.
struct Answer {
  std::string out;
  std::string err;
};
Answer& LastAnswer() {
  static Answer answer;
  return answer;
}

memtool::commands::RecordingCache& Cache() {
  static memtool::commands::RecordingCache cache;
  return cache;
}

std::vector<std::string> ToWords(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const std::size_t end = line.find('\0');
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end + 1);
  }
  return words;
}

}  // namespace

extern "C" {

// `line`: the words of a command line without the program's name, each with a NUL behind it;
// `size` counts them all. Returns the exit code.
int memtool_run(const char* line, std::size_t size) {
  Answer& answer = LastAnswer();
  answer = {};
  StringSink out;
  StringSink err;
  memtool::commands::Streams streams{out, err, {}, &Cache()};
  int code = static_cast<int>(memtool::commands::ExitCode::kInput);
  try {
    code = memtool::commands::RunMain(ToWords({line, size}), streams);
  } catch (const std::bad_alloc&) {
    err.Write(memtool::commands::VisibleText("memtool: needs more memory than a page can have")
                  .EndLine());
  }
  answer.out = out.text();
  answer.err = err.text();
  return code;
}

// Lets go of all inputs that were read.
void memtool_forget() {
  LastAnswer() = {};
  Cache().Forget();
}

// Valid until the next call of memtool_run.
const char* memtool_out() {
  return LastAnswer().out.data();
}
std::size_t memtool_out_size() {
  return LastAnswer().out.size();
}
const char* memtool_err() {
  return LastAnswer().err.data();
}
std::size_t memtool_err_size() {
  return LastAnswer().err.size();
}

}  // extern "C"
