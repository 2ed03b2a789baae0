// The tagfocus grammar: [KEY=]REGEX[,REGEX...] or [KEY=]N, N:, :N, N:M with units of one family.
// What a number matches depends on the rules (FilterRules).
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/filter.h"

namespace memtool {

class TagMatcher {
 public:
  // `options`: its rules and label units; the units are copied.
  static Result<TagMatcher> Compile(Subject subject, const std::string& text,
                                    const FilterOptions& options);
  // True when only numbers can match.
  [[nodiscard]] bool is_range() const { return unit_range_.has_value(); }
  [[nodiscard]] bool Matches(const Recording& recording, LabelSetId labels) const;

 private:
  struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;
    bool is_bytes = false;  // given with a size unit
  };
  static std::optional<Range> ParseRange(std::string_view text);
  // pprof's: "32kb", "32kb:", ":32kb", "32kb:64mb", with one unit throughout.
  struct UnitRange {
    std::string unit;
    std::optional<double> low;
    std::optional<double> high;
    [[nodiscard]] bool Holds(std::int64_t value, std::string_view from) const;
  };
  static std::optional<UnitRange> ParseUnitRange(std::string_view text);
  [[nodiscard]] bool InRange(const Recording& recording, const Label& label) const;

  std::string key_;                      // empty = any
  std::optional<Range> range_;           // kMemtool
  std::optional<UnitRange> unit_range_;  // kPprof
  LabelUnits units_;
  std::vector<std::unique_ptr<RE2>> regexes_;
};

// Compiles the regular expression of `subject`; null for an empty text. Errors: kUsage.
Result<std::unique_ptr<RE2>> CompileRegex(Subject subject, const std::string& text);

}  // namespace memtool
