// A regular expression that names are looked up by.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"

namespace re2 {
class RE2;
}

namespace memtool {

// RE2 syntax, unanchored. Cheap to copy; used from any thread.
class NamePattern {
 public:
  // Errors: kUsage for what is not a regular expression.
  static Result<NamePattern> Compile(const std::string& text);
  [[nodiscard]] bool Matches(std::string_view name) const;

 private:
  explicit NamePattern(std::shared_ptr<const re2::RE2> regex);

  std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace memtool
