// Statements about memory in a log, line by line.
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "log/log_lines.h"
#include "log/pattern_text.h"
#include "log/patterns.h"
#include "log/sample_tables.h"
#include "memtool/formats/statements.h"

namespace memtool::formats::log {

// What a line says of a failure.
struct FoundFailure {
  const Pattern* pattern = nullptr;
  std::size_t begin = 0, end = 0;  // in the line
  std::vector<Statement> amounts;
  std::string memory, chip, shape, op;
  bool absurd = false;  // what was asked for is no size: negative, or beyond 64 bits
};

class StatementScan {
 public:
  // The tables must outlive it; of patterns that match the same words the first one counts.
  explicit StatementScan(std::span<const PatternTable* const> tables);

  // `line.text` without escape sequences.
  void Take(const LogLine& line);
  // Looks for failures alone.
  void TakeFailures(const LogLine& line);
  // The amounts in a line that is no part of a table, valid until the next call, and whether any
  // pattern matches it.
  std::pair<std::span<const Statement>, bool> Find(const LogLine& line);
  // Those of the line that was taken last.
  [[nodiscard]] const std::vector<FoundFailure>& failures() const { return failures_; }
  // The line has words of a failure and not all of them: it may go on in the next one.
  [[nodiscard]] bool unfinished() const { return unfinished_; }
  [[nodiscard]] std::string_view Text(StringId id) const { return statements_.strings[id]; }
  // Figures of a failure that belong to none.
  void Keep(std::span<const Statement> amounts);
  // Whether the next line is wanted whatever is in it.
  [[nodiscard]] bool WantsNext() const { return samples_.open(); }
  Statements Finish() {
    statements_.report = only_reports_ && !statements_.list.empty();
    std::move(samples_).GiveTo(statements_);
    return std::move(statements_);
  }

 private:
  struct Table {
    const PatternTable* patterns = nullptr;
    std::vector<std::unique_ptr<const re2::RE2>> regexps;  // null until a line needs it
  };

  bool TakePatterns(const LogLine& line, bool failures_only);
  bool TakeMatches(const Pattern& pattern, const re2::RE2& regexp, const LogLine& line);
  bool Claim(std::size_t begin, std::size_t end);
  void Read(const Pattern& pattern, const LogLine& line, std::size_t begin);
  void NameInFailure(Capture::Kind kind, std::string_view word);
  void TakeText(Capture::Kind kind, std::string_view word, Statement& statement);
  void ReadGroups(const Pattern& pattern, Statement statement);
  void TakeAmount(const Pattern& pattern, std::uint8_t kind,
                  const std::optional<ReadAmount>& amount, Statement& statement);
  void Add(const Statement& statement);
  void TakeUnread(const LogLine& line);
  StringId Intern(std::string_view name);
  [[nodiscard]] bool IsHostBuffer(StringId device) const;

  std::vector<Table> tables_;
  std::vector<std::uint32_t> chosen_;
  std::vector<re2::StringPiece> groups_;      // of the match that is read
  std::map<std::size_t, std::size_t> taken_;  // of the line: where matches begin and end
  std::vector<FoundFailure> failures_;        // of the line
  bool failure_ = false;                      // the match that is read is one
  bool unfinished_ = false;
  std::set<std::pair<std::uint8_t, StringId>> reported_;  // amounts of devices, by reports
  bool only_reports_ = true;                              // each of them once
  std::uint32_t run_ = 0;
  SampleTables samples_;
  Statements statements_;
};

}  // namespace memtool::formats::log
