// Other commands asked about the same inputs, which are read once.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "memtool/profile/answers/answer.h"
#include "session/recording_cache.h"

namespace memtool::commands {

struct Reply {
  ExitCode code = ExitCode::kOk;
  std::string text;   // what it printed, made visible by the command that printed it
  std::string notes;  // on stderr, line by line
  std::optional<Error> error{};

  [[nodiscard]] bool ok() const { return code == ExitCode::kOk; }
  [[nodiscard]] std::string FirstLine() const { return text.substr(0, text.find('\n')); }
};

class Asker {
 public:
  // `inputs`: the words of every command line that say what is read and how. `streams`: its
  // terminal and its settings.
  Asker(std::vector<std::string> inputs, const Streams& streams)
      : inputs_(std::move(inputs)),
        width_(streams.out.TerminalWidth()),
        settings_(streams.settings) {}

  Reply Ask(std::vector<std::string> words) { return Run(std::move(words), {}, width_); }
  // As it prints into a file: no line is wrapped.
  Reply AskUnwrapped(std::vector<std::string> words) { return Run(std::move(words), {}, 0); }
  // The answer as data: a row has a value per field.
  using TakeAnswer = std::function<void(const AnswerView&, std::size_t limit)>;
  Reply AskData(std::vector<std::string> words, const TakeAnswer& take) {
    return Run(std::move(words), take, width_);
  }
  [[nodiscard]] RecordingCache& cache() { return cache_; }
  // The first reply of a command that memory or a limit stopped, which is no answer; null: none.
  [[nodiscard]] const Reply* stopped() const { return stopped_ ? &*stopped_ : nullptr; }

 private:
  Reply Run(std::vector<std::string> words, const TakeAnswer& take, unsigned width);

  std::vector<std::string> inputs_;
  unsigned width_;  // 0 = no terminal
  std::string settings_;
  RecordingCache cache_;
  std::optional<Reply> stopped_;
};

// Its figures and rows, without what it was made from: {"total": 3, "rows": [{"name": "f"}]}.
Value ToValue(const AnswerView& answer, std::size_t limit);

}  // namespace memtool::commands
