// The tagfocus grammar: [KEY=]REGEX[,REGEX...] or [KEY=]N, N:, :N, N:M with units of one family.
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
  static Result<TagMatcher> Compile(std::string_view option, const std::string& text,
                                    const FilterRules& rules);
  // True when only numbers can match.
  [[nodiscard]] bool is_range() const { return test_ != nullptr; }
  [[nodiscard]] bool Matches(const Recording& recording, LabelSetId labels) const;

 private:
  struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;
    bool is_bytes = false;  // given with a size unit
  };
  static std::optional<Range> ParseRange(std::string_view text);
  [[nodiscard]] bool InRange(const Recording& recording, const Label& label) const;

  std::string key_;  // empty = any
  std::optional<Range> range_;
  NumberTest test_;  // of FilterRules::read_range
  std::vector<std::unique_ptr<RE2>> regexes_;
};

// Compiles the regular expression of `option`; null for an empty text. Errors: kUsage.
Result<std::unique_ptr<RE2>> CompileRegex(std::string_view option, const std::string& text);

}  // namespace memtool
