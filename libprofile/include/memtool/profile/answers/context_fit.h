// How long a context fits: what a server's log says of its KV cache gives bytes per token; all else
// that it holds stays as it is. Bytes and tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/account/ledger.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

struct ContextQuery {
  std::vector<std::int64_t> at;  // tokens of one sequence; none: the log's own, and powers of two
  // What the process may have of another card, and the whole of it; none: the log's own.
  std::optional<std::int64_t> limit{};
  std::optional<std::int64_t> card{};
};

struct ContextRow {
  std::int64_t tokens = 0;     // of each sequence
  std::int64_t sequences = 0;  // of that length that fit at once; 0 = not even one
  std::int64_t kv_bytes = 0;   // of all of them
  bool longest = false;        // that one sequence may have
  bool own = false;            // the longest that the server takes, as its log says
};

// What decides about the tokens that fit.
enum class ContextBudget : std::uint8_t {
  kAsIs,   // the cache as it is: its server made it as large as fits
  kFree,   // what the device had free before
  kShare,  // the log's own share of its device, of the query's card
  kLimit,  // of the query
};

struct ContextFit {
  AnswerHead head{.question = "fit-context"};
  std::string producer;
  std::string device;       // the one that decides; empty where the log names none
  std::int64_t tokens = 0;  // that the log's cache has
  std::int64_t kv_bytes = 0;
  std::uint64_t line = 0;        // that gives `tokens`
  std::int64_t sliding = 0;      // bytes of caches that do not grow with the context
  std::int64_t other_bytes = 0;  // of all other parts on the device
  ContextBudget budget_kind = ContextBudget::kAsIs;
  std::int64_t budget = 0;         // bytes of the device for all of this; 0 of kAsIs
  double share = 0;                // of kShare
  std::int64_t fitting = 0;        // tokens that fit
  std::vector<ContextRow> rows{};  // longest first

  [[nodiscard]] double bytes_per_token() const {
    return tokens > 0 ? static_cast<double>(kv_bytes) / static_cast<double>(tokens) : 0.0;
  }
};

inline constexpr auto kContextFields = Fields<ContextRow>({
    {"tokens", "TOKENS EACH", Unit::kCount, &ContextRow::tokens, "of one sequence", kPlain,
     "natural"},
    {"sequences", "SEQUENCES", Unit::kCount, &ContextRow::sequences,
     "how many of that length fit at once", kPlain, "natural"},
    {"kv_bytes", "KV CACHE", Unit::kBytes, &ContextRow::kv_bytes, "what these take", kPlain,
     "natural"},
    {"longest", "", Unit::kText, [](const ContextRow& row) { return Value(row.longest ? 1 : 0); },
     "whether it is the longest that one sequence may have", kPlain, "0|1"},
    {"own", "", Unit::kText, [](const ContextRow& row) { return Value(row.own ? 1 : 0); },
     "whether it is the longest that the server takes", kPlain, "0|1"},
});

// Of the last run in a log. Errors: kUnsupported where it does not say how many tokens its KV cache
// has.
Result<ContextFit> MakeContextFit(const Selection& selection, const ContextQuery& query);

// "requested"
std::string_view ToName(ContextBudget budget);
AnswerView MakeView(const ContextFit& answer);

}  // namespace memtool
