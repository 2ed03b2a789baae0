// Series of named numbers, as trainers and monitors log them → what they say about memory, as a log
// says it (log/README.md). What a tag means is found once: tags.yaml is asked about "TAG = 1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "log/log_recording.h"
#include "log/statement_scan.h"
#include "memtool/formats/statements.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool::formats::metrics {

// tags.yaml as it is, and read once; it has no errors, which a test sees to.
std::string_view BuiltinTagTexts();
const log::PatternTable& BuiltinTags();

// A value, and how far from it the one that was logged may be.
struct Number {
  double value = 0;
  double error = 0;
};
// As decimal text: rounded to its last digit. None for anything that is no finite number.
std::optional<Number> NumberInText(std::string_view text);
// As a float: 24 bits of it are kept.
Number NumberOfFloat(float value);

// Nanoseconds since 1970 of seconds since then; kNoTime for what is no such time.
std::int64_t TimeOf(double seconds);

// Names of what is no metric: the step of a row, and its time in seconds since 1970.
bool IsStep(std::string_view name);
bool IsTime(std::string_view name);

// Where and when the values are from that follow.
struct Moment {
  std::uint64_t place = 0;  // number of the line or record, from 1 and ascending
  std::int64_t time = kNoTime;
  std::optional<std::int64_t> step;
};

class Series {
 public:
  Series();
  // `builtin` is scanned by a pointer into this object.
  Series(const Series&) = delete;
  Series& operator=(const Series&) = delete;

  // The next number of a place, where the file numbers none.
  std::uint64_t NextPlace() { return last_place_ + 1; }
  // Whether the values of a tag say something about memory; it stands at `place`.
  bool Wants(std::string_view tag, std::uint64_t place) { return FindTag(tag, place) != nullptr; }
  void Add(const Moment& moment, std::string_view tag, Number value);
  // The same without a tag.
  void Add(const Moment& moment, const Statement& what, std::string_view stage, double bytes);
  // A value that is no number, or one that no memory has.
  void AddBad() { ++bad_; }
  // `amount`: its name, which must be one.
  Statement Make(std::string_view producer, std::string_view amount, bool host);

  // Errors: kUnknownFormat, with `hint`, when up to the byte `end` nothing was said about memory.
  Result<Recording> Finish(const log::LogForm& form, std::uint64_t end, std::string_view hint);

 private:
  // What a value says, but for the value: that of a statement is its unit.
  struct Tag {
    std::vector<Statement> says;
  };

  const Tag* FindTag(std::string_view tag, std::uint64_t place);
  void Put(const Moment& moment, Statement statement, std::string_view stage, double bytes,
           double error);
  [[nodiscard]] std::string NamedPeak() const;
  void NoteUnread(std::string_view tag, std::uint64_t place);

  log::StatementScan scan_;
  KeyMap<std::string, Tag> tags_;
  std::string line_;   // "TAG = 1"
  std::string stage_;  // "step 12, on_train_batch_end"
  Statements made_;
  std::uint64_t bad_ = 0;
  std::uint64_t unlooked_ = 0;  // of tags beyond those that are remembered
  std::uint64_t last_place_ = 0;
};

}  // namespace memtool::formats::metrics
