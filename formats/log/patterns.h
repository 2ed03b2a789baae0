// The table of what jobs print about memory (patterns.yaml): wordings as data. A line is compared
// with the expressions of those patterns alone of which it has a fixed text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "log/word_filter.h"
#include "memtool/profile/account/oom_message.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/statement.h"

namespace re2 {
class RE2;
}

namespace memtool::formats::log {

// What a group of a pattern's expression holds.
struct Capture {
  enum class Kind : std::uint8_t {
    kAmount,
    kCount,
    kDevice,
    kRank,
    kStage,
    kTime,    // milliseconds since 1970
    kMemory,  // of failures, as the next three
    kChip,
    kShape,
    kOp
  };
  Kind kind = Kind::kAmount;
  std::uint8_t amount = 0;  // of kAmount and kCount: index into AmountKinds()
  // Of kAmount: bytes of the unit that the number is in; 0 = the unit is in the group behind it.
  std::int64_t unit = 0;
};

struct Pattern {
  enum class Kind : std::uint8_t {
    kMeasured,
    kPlan,
    kSum,
    kStart,
    kIgnore,
    kFailure,    // memory ran out
    kDetail,     // figures of the failure before it
    kRetry,      // it ran out, and what asked goes on
    kRecovered,  // the failure before it was none: what asked goes on in another way
    kKilled      // a process was killed, which may be for want of the host's memory
  };
  std::string producer;
  std::string name;
  std::string place;  // "patterns.yaml:12:5", for errors
  Kind kind = Kind::kMeasured;
  [[nodiscard]] bool fails() const { return kind >= Kind::kFailure; }
  bool adds = false;
  bool rounds_down = false;
  bool host = false;
  bool titled = false;                // the line before names the stage
  bool repeats = false;               // of a failure: says again what one just before it said
  bool report = false;                // alone, and once: a report to account, no log
  bool after_retry = false;           // of a failure: only where a retry came just before
  bool alone = false;                 // of a detail: counts where no failure stands before it
  bool cut = false;                   // of a failure: the end of the message is missing
  std::optional<OomWording> wording;  // of a failure
  std::string memory;                 // that a failure is about; may be empty
  // Of a failure or a detail, see OomMessage; may be absent or empty.
  std::optional<OomCause> cause;
  std::string why;
  std::string remedy;
  std::string example;
  std::vector<std::string> gives;  // "weights=1.5GiB"
  std::string expression;          // of RE2
  std::vector<Capture> captures;   // one per group, but none for a unit's
  std::string anchor;              // the longest of its fixed texts
};

class PatternTable {
 public:
  // `text`: YAML; `name` goes into errors. Errors: kMalformed with line and column; kLimit past
  // 1,000 patterns or what ReadTree bounds.
  static Result<PatternTable> Parse(std::string_view text, const std::string& name);
  // Of a file, which has at least kIo besides.
  static Result<PatternTable> ReadFile(const std::string& path);

  [[nodiscard]] const std::vector<Pattern>& patterns() const { return patterns_; }
  // Indices of the patterns that `line` may match, ascending.
  void Choose(std::string_view line, std::vector<std::uint32_t>& chosen) const;

 private:
  std::vector<Pattern> patterns_;
  std::unique_ptr<const WordFilter> anchors_;
};

// The expression of a pattern, for text that is bytes.
std::unique_ptr<const re2::RE2> MakeRegexp(const Pattern& pattern);

// Fails when an expression is none, or there is no example, or one that does not give exactly what
// its pattern says.
Result<void> CheckPatterns(const PatternTable& table);

// patterns.yaml without its examples, read once; it has no errors, which a test sees to.
const PatternTable& BuiltinPatterns();

}  // namespace memtool::formats::log
