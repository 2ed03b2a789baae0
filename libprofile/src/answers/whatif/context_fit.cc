#include "memtool/profile/answers/context_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

// Which process: its name and its rank.
using Owner = std::pair<std::string_view, std::int32_t>;

// Bytes for so many tokens, by device; an empty name where the log has none.
struct Cache {
  std::int64_t tokens = 0;
  std::map<std::string_view, std::int64_t> bytes;
  std::uint64_t line = 0;
};

// What one device holds besides caches, and had free before.
struct Device {
  std::int64_t growing = 0;  // of caches as long as the context
  std::int64_t sliding = 0;  // of the others
  std::int64_t other = 0;
  std::optional<std::int64_t> free;
};

class Reading {
 public:
  explicit Reading(const Recording& recording) : recording_(recording) {
    ChooseOwner();
    ledger_ = LedgerBefore(recording.statements, recording.strings,
                           std::numeric_limits<std::uint64_t>::max(),
                           {.prefix = owner_.first, .rank = owner_.second});
  }

  // The caches of the last run of the process with the largest.
  [[nodiscard]] std::vector<Cache> Caches() const {
    std::vector<Cache> caches;
    Cache next;
    const auto& all = recording_.statements;
    for (auto at = all.begin(); at != all.end();) {
      const auto end =
          std::find_if(at, all.end(), [at](const Statement& one) { return one.line != at->line; });
      const bool counted = std::any_of(at, end, IsTokens);
      for (; at != end; ++at) {
        // A sum of other lines counts where nothing but it says of how many tokens it is.
        if (counted || at->kind != StatementKind::kSum) {
          Take(*at, next);
        }
      }
      if (next.tokens > 0 && !next.bytes.empty()) {
        if (!adds_) {
          caches.clear();  // said again
        }
        caches.push_back(std::exchange(next, {}));
      }
      next.tokens = 0;
    }
    return caches;
  }

  // What each device holds besides caches.
  [[nodiscard]] std::map<std::string_view, Device> Devices() const {
    std::map<std::string_view, Device> devices;
    for (const Statement& statement : recording_.statements) {
      if (!IsOurs(statement) || statement.kind != StatementKind::kMeasured) {
        continue;
      }
      Device& device = devices[DeviceOf(statement)];
      const AmountKind& kind = statement.what();
      if (kind.role == AmountRole::kPart && !IsCache(statement) && statement.adds) {
        device.other = SaturatingAdd(device.other, statement.value);
      } else if (kind.name == "free" && !device.free) {
        device.free = statement.value;
      }
    }
    return devices;
  }

  [[nodiscard]] std::optional<std::int64_t> OwnLength() const {
    std::optional<std::int64_t> tokens;
    for (const Statement& statement : recording_.statements) {
      tokens = statement.run == run_ && statement.what().name == "request_tokens"
                   ? std::optional(statement.value)
                   : tokens;
    }
    return tokens;
  }

  // Of processes whose lines do not say which device they are about.
  [[nodiscard]] std::int64_t OtherParts() const {
    std::int64_t sum = 0;
    for (const LedgerPart& part : ledger_ ? ledger_->parts : std::vector<LedgerPart>()) {
      sum = part.name == "kv_cache" ? sum : SaturatingAdd(sum, part.bytes);
    }
    return sum;
  }

  // Of its device the server may take so much, by a setting that it would have elsewhere too.
  [[nodiscard]] std::optional<double> Share() const {
    return ledger_ && ledger_->requested && ledger_->total && ledger_->total->bytes > 0
               ? std::optional(Ratio(ledger_->requested->bytes, ledger_->total->bytes))
               : std::nullopt;
  }

  [[nodiscard]] std::string_view producer() const { return producer_; }

 private:
  static bool IsCache(const Statement& statement) { return statement.what().name == "kv_cache"; }
  static bool IsTokens(const Statement& statement) {
    return statement.what().name == "kv_tokens" || statement.what().name == "kv_cells";
  }
  // llama.cpp's buffers of one device: "MTL0", "MTL0_Mapped".
  [[nodiscard]] std::string_view DeviceOf(const Statement& statement) const {
    const std::string_view text = recording_.Text(statement.device);
    return text.substr(0, text.find('_'));
  }
  [[nodiscard]] Owner OwnerOf(const Statement& statement) const {
    return {recording_.Text(statement.process), statement.rank};
  }
  [[nodiscard]] bool IsOurs(const Statement& statement) const {
    return statement.run == run_ && !statement.host && OwnerOf(statement) == owner_;
  }

  void ChooseOwner() {
    std::map<Owner, std::int64_t> bytes;
    std::int64_t most = -1;
    for (const Statement& statement : recording_.statements) {
      if (IsCache(statement) && !statement.host && statement.kind != StatementKind::kPlan &&
          statement.run >= run_) {
        if (statement.run > run_) {
          most = -1;
          bytes.clear();
        }
        run_ = statement.run;
        std::int64_t& sum = bytes[OwnerOf(statement)];
        sum = SaturatingAdd(sum, statement.value);
        if (sum > most) {
          most = sum;
          owner_ = OwnerOf(statement);
          producer_ = recording_.Text(statement.producer);
        }
        adds_ = statement.adds || statement.kind == StatementKind::kSum;
      }
    }
    own_tokens_ =
        std::any_of(recording_.statements.begin(), recording_.statements.end(),
                    [this](const Statement& one) { return IsTokens(one) && IsOurs(one); });
  }

  void Take(const Statement& statement, Cache& next) const {
    if (IsTokens(statement) && statement.run == run_ && (IsOurs(statement) || !own_tokens_)) {
      next.tokens = statement.value;
      next.line = statement.line;
      return;
    }
    if (!IsCache(statement) || !IsOurs(statement) || statement.kind == StatementKind::kPlan ||
        (statement.kind == StatementKind::kSum && !next.bytes.empty())) {
      return;  // sums are of the lines before
    }
    std::int64_t& bytes = next.bytes[DeviceOf(statement)];
    const bool more = statement.adds || next.line == statement.line;  // K, and V
    bytes = more ? SaturatingAdd(bytes, statement.value) : statement.value;
    next.line = statement.line;
  }

  const Recording& recording_;
  Owner owner_{{}, -1};
  std::string_view producer_;
  std::optional<Ledger> ledger_;
  std::uint32_t run_ = 0;
  bool own_tokens_ = false;
  bool adds_ = false;
};

// A server that makes its cache as large as fits has decided already; these make it as large as
// they were told to.
bool MakesWhatIsAsked(std::string_view producer) {
  constexpr std::array<std::string_view, 2> kServers{"llama.cpp", "ollama"};
  return std::find(kServers.begin(), kServers.end(), producer) != kServers.end();
}

void AddRows(const Reading& reading, const ContextQuery& query, ContextFit& fit) {
  constexpr std::int64_t kLeast = 4096;
  constexpr std::size_t kMost = 6;
  const auto own = reading.OwnLength();
  std::set<std::int64_t, std::greater<>> lengths(query.at.begin(), query.at.end());
  if (query.at.empty()) {
    std::int64_t length = std::int64_t{1} << 62U;
    while (length >= std::max(kLeast, fit.fitting)) {
      length /= 2;
    }
    for (; length >= kLeast && lengths.size() < kMost; length /= 2) {
      lengths.insert(length);
    }
    if (fit.fitting > 0) {
      lengths.insert(fit.fitting);
    }
    if (own && *own > 0) {
      lengths.insert(*own);
    }
  }
  for (const std::int64_t length : lengths) {
    const std::int64_t sequences = fit.fitting / length;
    fit.rows.push_back({.tokens = length,
                        .sequences = sequences,
                        .kv_bytes = Scaled(sequences * length, fit.bytes_per_token()),
                        .longest = length == fit.fitting,
                        .own = own == length});
  }
}

// What one device leaves for its caches.
ContextFit OnDevice(std::string_view name, const Device& device, ContextFit fit) {
  fit.device = name;
  fit.kv_bytes = device.growing;
  fit.sliding = device.sliding;
  fit.other_bytes = device.other;
  fit.fitting = fit.tokens;
  if (fit.budget_kind == ContextBudget::kFree) {
    fit.budget = device.free.value_or(0);
  }
  if (fit.budget_kind != ContextBudget::kAsIs) {
    const std::int64_t left =
        SaturatingSubtract(fit.budget, SaturatingAdd(device.other, device.sliding));
    fit.fitting = std::max<std::int64_t>(Scaled(left, 1 / fit.bytes_per_token()), 0);
  }
  return fit;
}

// The device on which the fewest tokens fit. A host's memory, of which nobody says how much there
// is, is not what ends first.
ContextFit Decide(const Reading& reading, const ContextQuery& query,
                  const std::map<std::string_view, Device>& devices, ContextFit fit) {
  const auto share = query.card ? reading.Share() : std::nullopt;
  fit.share = share.value_or(0);
  fit.budget = share ? Scaled(query.card.value_or(0), *share) : query.limit.value_or(0);
  const bool asked = MakesWhatIsAsked(reading.producer());
  std::optional<ContextFit> least;
  for (const auto& [name, device] : devices) {
    if (device.growing <= 0) {
      continue;
    }
    fit.budget_kind = share                  ? ContextBudget::kShare
                      : query.limit          ? ContextBudget::kLimit
                      : asked && device.free ? ContextBudget::kFree
                                             : ContextBudget::kAsIs;
    ContextFit here = OnDevice(name, device, fit);
    const bool known = here.budget_kind != ContextBudget::kAsIs;
    const bool least_known = least && least->budget_kind != ContextBudget::kAsIs;
    if (!least || known > least_known || (known == least_known && here.fitting < least->fitting)) {
      least = std::move(here);
    }
  }
  return least.value_or(fit);
}

}  // namespace

Result<ContextFit> MakeContextFit(const Selection& selection, const ContextQuery& query) {
  const Reading reading(selection.source());
  const std::vector<Cache> caches = reading.Caches();
  if (caches.empty()) {
    return Fail(ErrorCode::kUnsupported,
                "this log does not say how many tokens its KV cache has: nothing to scale by",
                "logs of vLLM, SGLang, TensorRT-LLM and llama.cpp do");
  }
  ContextFit fit;
  fit.head.Add(selection);
  fit.producer = reading.producer();
  for (const Cache& cache : caches) {
    if (cache.tokens > fit.tokens) {
      fit.tokens = cache.tokens;
      fit.line = cache.line;
    }
  }
  auto devices = reading.Devices();
  bool named = false;
  for (const Cache& cache : caches) {
    for (const auto& [name, bytes] : cache.bytes) {
      Device& device = devices[name];
      std::int64_t& sum = cache.tokens == fit.tokens ? device.growing : device.sliding;
      sum = SaturatingAdd(sum, bytes);
      named = named || !name.empty();
    }
  }
  if (!named) {
    devices[{}].other = reading.OtherParts();
  }
  fit = Decide(reading, query, devices, fit);
  AddRows(reading, query, fit);
  return fit;
}

std::string_view ToName(ContextBudget budget) {
  switch (budget) {
    case ContextBudget::kAsIs:
      break;
    case ContextBudget::kFree:
      return "free";
    case ContextBudget::kShare:
      return "share";
    case ContextBudget::kLimit:
      return "limit";
  }
  return "as_is";
}

AnswerView MakeView(const ContextFit& answer) {
  return ViewRows(
      answer.head,
      {{"producer", answer.producer},
       {"device", answer.device.empty() ? Value() : Value(answer.device)},
       {"tokens", answer.tokens},
       {"kv_bytes", answer.kv_bytes},
       {"line", answer.line},
       {"bytes_per_token", answer.bytes_per_token()},
       {"sliding_bytes", answer.sliding},
       {"other_bytes", answer.other_bytes},
       {"budget", answer.budget_kind == ContextBudget::kAsIs ? Value() : Value(answer.budget)},
       {"budget_from", ToName(answer.budget_kind)},
       {"fitting", answer.fitting}},
      answer.rows, kContextFields);
}

}  // namespace memtool
