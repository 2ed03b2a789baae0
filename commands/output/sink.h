// Where bytes go: a file descriptor, or a string in tests. Write errors stick and are checked at
// the end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/result.h"
#include "output/text/look.h"
#include "output/text/visible_text.h"

namespace memtool {
struct AnswerView;
}

namespace memtool::commands {

// How much this thread may write to one output from now on.
void BoundOutput(std::uint64_t bytes);
// Thrown by what would write more: the command ends with this error, kLimit.
struct OutputTooLong {
  Error error;
};
// Counts the bytes of one output.
class OutputBound {
 public:
  // Throws OutputTooLong.
  void Add(std::size_t bytes);

 private:
  std::uint64_t written_ = 0;
};

class Sink {
 public:
  virtual ~Sink() = default;
  void Write(const VisibleText& text);
  // Of a document whose writer escapes as its format says. tests/layers/sinks.py lists who may.
  virtual void WriteBytes(std::string_view bytes) = 0;
  virtual Result<void> Flush() = 0;
  // Forgets what waits to be written: what failed halfway is no answer.
  virtual void Discard() = 0;
  // Columns of the terminal behind the sink; 0 when there is none.
  [[nodiscard]] virtual unsigned TerminalWidth() const { return 0; }
  // Sets what to call before the first byte is written, to clear the terminal; an empty function
  // removes it.
  virtual void BeforeOutput(const std::function<void()>& /*call*/) {}
  // Whether Write() does without characters beyond ASCII.
  void SetAscii(bool ascii) { ascii_ = ascii; }

  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

 private:
  bool ascii_ = false;
};

class FdSink final : public Sink {
 public:
  explicit FdSink(int fd) : fd_(fd) {}
  ~FdSink() override;
  // Throws OutputTooLong.
  void WriteBytes(std::string_view bytes) override;
  Result<void> Flush() override;
  void Discard() override { pending_.clear(); }
  [[nodiscard]] unsigned TerminalWidth() const override;
  void BeforeOutput(const std::function<void()>& call) override { before_output_ = call; }

 private:
  void WritePending();

  int fd_;
  std::function<void()> before_output_;
  int failed_ = 0;  // errno of the first failure
  OutputBound bound_;
  std::string pending_;
};

class StringSink final : public Sink {
 public:
  void WriteBytes(std::string_view bytes) override { text_ += bytes; }
  Result<void> Flush() override { return {}; }
  void Discard() override { text_.clear(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The files that a command reads, whatever names lead to them: none of them is overwritten.
class InputFiles {
 public:
  // "-" is standard input. Only regular files are noted: writing to others destroys nothing.
  void Add(const std::string& name);
  [[nodiscard]] bool Has(const std::string& path) const;

 private:
  std::vector<std::pair<dev_t, ino_t>> files_;
};

class RecordingCache;
struct InputFacts;

struct Streams {
  Sink& out;  // data
  Sink& err;  // progress, warnings, hints: one message per line, prefixed by Warn()
  InputFiles inputs{};
  // Where inputs stay for the next command line; null = they are forgotten.
  RecordingCache* cache = nullptr;
  // Takes answers as data, in place of text on `out`; `limit`: how many of the rows that are held
  // were asked for, 0 = all. Empty = all is text.
  std::function<void(const AnswerView& answer, std::size_t limit)> on_answer{};
  // Why the command failed, when it did.
  std::optional<Error> error{};
  // Of the first input that was read, for the commands that an answer names at its end.
  std::shared_ptr<const InputFacts> facts{};
  bool names_next = true;
  Look look{};
  // A file of settings for this command line; empty = none.
  std::string settings{};
  // Where the capture library lies, when not beside the running program; empty = there.
  std::string folder{};
};

}  // namespace memtool::commands
