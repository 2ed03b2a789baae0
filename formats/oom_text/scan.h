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
  static constexpr std::size_t kMaxTextBytes = log::kLineOverlap / 2;  // of one message
  static constexpr std::size_t kMaxProcessLength = 128;

  // A message that its line cuts off: programs wrap what they print.
  struct Open {
    OomMessage message;
    std::string text;
    std::string tag;  // what the lines of its process begin with
    std::size_t consumed = 0;
    int patience = 0;  // lines of other processes that may come between
    bool closed = false;
  };

  // The last warning of a process that a later line may belong to.
  struct SeenRetry {
    std::string process;
    std::uint64_t line = 0;  // 0 = nothing
  };

  // A line with some words of a failure that has a pattern.
  struct Wrapped {
    std::string text;
    std::string tag;
    std::uint64_t number = 0;  // 0 = there is none
    std::optional<std::int64_t> time;
    int left = 0;  // lines that may complete it
  };

  void FindIn(std::string_view line, std::uint64_t number, std::size_t until);
  // What the table of patterns says of failures; true when it said anything. `telling`: those that
  // give figures, or that are none after all; else those of which other words may say more.
  bool TakeFailures(const log::LogLine& at, bool telling);
  void TakeFailure(const log::FoundFailure& found, const log::LogLine& at);
  [[nodiscard]] OomMessage MakeMessage(const log::FoundFailure& found,
                                       const log::LogLine& line) const;
  // What `found` says of a failure that is known: as a detail of it, or again.
  bool TellsMore(const log::FoundFailure& found, const log::LogLine& at);
  // The last failure, where it is that producer's and at most so many lines before `at`; else null.
  OomMessage* LastOf(const std::string& producer, const log::LogLine& at, std::uint64_t reach);
  // A line that the one before it may go on in.
  void GoOnWrapped(std::string_view line);
  std::optional<std::size_t> TakeJoined(const std::string& text);
  [[nodiscard]] bool AfterRetry(std::string_view process, std::uint64_t line) const;
  void TakeRetry(OomMessage message, std::string_view process);
  void TakeMessage(OomMessage message, std::string_view process);
  void GoOn(std::string_view line);
  void MovePoolMessages();
  void Add(OomMessage message);

  std::vector<Open> open_;
  Tables tables_;
  OomLog log_;
  log::StatementScan statements_;
  std::optional<std::int64_t> time_;  // of the line
  SeenRetry retry_;
  Wrapped wrapped_;
  std::size_t joined_end_ = 0;  // of the line: so much belongs to the failure that began before
  std::string clean_;
};

// Searches all of `in`. `text`: becomes all of it where that is no more than log::kMaxKeptLog,
// else empty; null where nobody wants it. Throws ReadError on I/O and unpacking errors.
OomLog ScanLog(ByteWindow& in, const log::PatternTable* patterns = nullptr,
               std::string* text = nullptr);

// Bytes of a log: no NUL in them, or UTF-16 as some shells write it.
bool IsLog(std::string_view head);

}  // namespace memtool::formats::oom_text
