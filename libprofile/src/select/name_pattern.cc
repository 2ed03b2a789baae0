#include "memtool/profile/select/name_pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <utility>

namespace memtool {

NamePattern::NamePattern(std::shared_ptr<const re2::RE2> regex) : regex_(std::move(regex)) {}

Result<NamePattern> NamePattern::Compile(const std::string& text) {
  auto regex = std::make_shared<const RE2>(text, RE2::Quiet);
  if (!regex->ok()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("'{}' is not a regular expression: {}", text, regex->error()));
  }
  return NamePattern(std::move(regex));
}

bool NamePattern::Matches(std::string_view name) const {
  return RE2::PartialMatch({name.data(), name.size()}, *regex_);
}

}  // namespace memtool
