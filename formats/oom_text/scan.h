// A log of any size, line by line, with the messages in it put together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "log/log_lines.h"
#include "log/statement_scan.h"
#include "memtool/formats/byte_window.h"
#include "memtool/formats/oom_text.h"
#include "oom_text/tables/tables.h"
#include "oom_text/wording.h"

namespace memtool::formats::oom_text {

class Scan final : public log::LogSink {
 public:
  // `patterns`: besides the built-in ones; null for none. They must outlive it.
  explicit Scan(const log::PatternTable* patterns = nullptr);
  [[nodiscard]] bool WantsNext() const override;
  // The line with the escape sequences that colour it.
  void Take(const log::LogLine& at) override;
  OomLog Finish();

 private:
  // A message that its line cuts off: programs wrap what they print.
  struct Open {
    OomMessage message;
    std::string text;
    std::string tag;  // what the lines of its process begin with
    std::size_t consumed = 0;
    int patience = 0;  // lines of other processes that may come between
    bool closed = false;
  };

  // The last message of a process that a later line may belong to.
  struct SeenMessage {
    std::string tag;
    std::uint64_t line = 0;  // 0 = nothing
    [[nodiscard]] bool Near(std::string_view of_tag, std::uint64_t number,
                            std::uint64_t most) const {
      return line > 0 && tag == of_tag && number - line <= most;
    }
  };

  void FindIn(std::string_view line, std::uint64_t number, std::size_t until);
  // What the table of patterns says of failures; true when it said anything. `telling`: those that
  // give figures, or that are none after all; else those of which other words may say more.
  bool TakeFailures(std::string_view line, const log::LogLine& at, bool telling);
  [[nodiscard]] OomMessage MakeMessage(const log::FoundFailure& found,
                                       const log::LogLine& line) const;
  // False: the message adds nothing to earlier ones.
  bool Weigh(Parsed& parsed, std::string_view tag);
  void TakeRetry(OomMessage message, std::string_view tag);
  void GoOn(std::string_view line);
  void MovePoolMessages();
  void Add(OomMessage message);

  std::vector<Open> open_;
  Tables tables_;
  OomLog log_;
  log::StatementScan statements_;
  std::optional<std::int64_t> time_;  // of the line
  SeenMessage retry_;
  SeenMessage bare_;  // an error of the CUDA runtime without figures
  std::string clean_;
};

// Searches all of `in`. `text`: becomes all of it where that is no more than log::kMaxKeptLog,
// else empty; null where nobody wants it. Throws ReadError on I/O and unpacking errors.
OomLog ScanLog(ByteWindow& in, const log::PatternTable* patterns = nullptr,
               std::string* text = nullptr);

// Bytes of a log: no NUL in them, or UTF-16 as some shells write it.
bool IsLog(std::string_view head);

}  // namespace memtool::formats::oom_text
