// Tables of wordings that users add. Patterns test themselves: by their examples.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "log/pattern_text.h"
#include "log/patterns.h"
#include "log/statement_scan.h"
#include "memtool/formats/statements.h"

namespace memtool::formats::log {

namespace {

// "weights=1.5GiB" → whether `statement` says that.
bool Says(const Statement& statement, std::string_view wanted) {
  const std::size_t equals = std::min(wanted.find('='), wanted.size());
  const std::string_view amount = wanted.substr(std::min(equals + 1, wanted.size()));
  const std::size_t digits = std::min(amount.find_first_not_of("0123456789.,+-"), amount.size());
  const auto parsed = ParseAmount(amount.substr(0, digits), UnitOf(amount.substr(digits)), false);
  return parsed && statement.what().name == wanted.substr(0, equals) &&
         statement.value == parsed->value;
}

std::string Describe(const Statements& found) {
  std::vector<std::string> texts;
  for (const Statement& statement : found.list) {
    texts.push_back(fmt::format("{} {}={}", found.strings[statement.producer],
                                statement.what().name, statement.value));
  }
  return texts.empty() ? "nothing" : fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

Result<void> CheckPatterns(const PatternTable& table) {
  for (const Pattern& pattern : table.patterns()) {
    if (pattern.example.empty()) {
      return Fail(ErrorCode::kMalformed,
                  fmt::format("{}: '{}' has no example", pattern.place, pattern.name));
    }
    const auto regexp = MakeRegexp(pattern);
    if (!regexp->ok()) {
      return Fail(ErrorCode::kMalformed, fmt::format("{}: '{}' is no expression: {}", pattern.place,
                                                     pattern.name, regexp->error()));
    }
    const PatternTable* const tables[] = {&table};
    StatementScan scan(tables);
    scan.Take({.text = pattern.example, .number = 1});
    const std::vector<FoundFailure> failures = scan.failures();
    Statements found = scan.Finish();
    const bool fails = pattern.fails();
    for (const FoundFailure& failure : failures) {
      found.list.insert(found.list.end(), failure.amounts.begin(), failure.amounts.end());
    }
    const bool starts = pattern.kind == Pattern::Kind::kStart;
    bool same = found.list.size() == pattern.gives.size() && failures.empty() != fails &&
                (found.starts > 0) == starts && found.unread_count == 0;
    for (std::size_t i = 0; same && i < found.list.size(); ++i) {
      same = Says(found.list[i], pattern.gives[i]) &&
             found.strings[found.list[i].producer] == pattern.producer;
    }
    if (!same) {
      return Fail(ErrorCode::kMalformed,
                  fmt::format("{}: the example of '{}' gives {}", pattern.place, pattern.name,
                              Describe(found)),
                  pattern.gives.empty()
                      ? "it says that it gives nothing"
                      : fmt::format("it says {}", fmt::join(pattern.gives, ", ")));
    }
  }
  return {};
}

}  // namespace memtool::formats::log

namespace memtool::formats {

Result<std::shared_ptr<const log::PatternTable>> ReadLogPatterns(const std::string& path) {
  auto table = log::PatternTable::ReadFile(path);
  MEMTOOL_TRY(table);
  MEMTOOL_TRY(log::CheckPatterns(*table));
  return std::make_shared<const log::PatternTable>(*std::move(table));
}

}  // namespace memtool::formats
