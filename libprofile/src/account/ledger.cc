#include "memtool/profile/account/ledger.h"

#include <algorithm>
#include <map>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

// What one process held, by amount.
struct Held {
  std::map<std::uint8_t, LedgerPart> by_amount;
  std::int64_t taken = 0;  // since a line said what was free
  std::uint32_t run = 0;
  std::string_view producer;
  std::int32_t rank = -1;

  void Take(const Statement& statement, std::string_view from) {
    if (statement.run != run) {
      by_amount.clear();
      taken = 0;
      run = statement.run;
    }
    producer = from;
    rank = statement.rank >= 0 ? statement.rank : rank;
    const auto [at, added] = by_amount.try_emplace(statement.amount);
    const std::int64_t precision = std::max(statement.below, statement.above);
    const LedgerPart before = at->second;
    const bool adds = statement.adds && !added;
    at->second =
        LedgerPart{.title = statement.what().title,
                   .name = statement.what().name,
                   .bytes = adds ? SaturatingAdd(before.bytes, statement.value) : statement.value,
                   .precision = adds ? SaturatingAdd(before.precision, precision) : precision,
                   .line = statement.line};
    const std::int64_t grown = SaturatingSubtract(at->second.bytes, before.bytes);
    taken = statement.what().name == "free"              ? 0
            : statement.what().role == AmountRole::kPart ? SaturatingAdd(taken, grown)
                                                         : taken;
  }

  [[nodiscard]] Ledger Make(std::string_view process) const {
    Ledger ledger{
        .producer = std::string(producer), .process = std::string(process), .taken = taken};
    const bool has_parts = std::any_of(by_amount.begin(), by_amount.end(), [](const auto& each) {
      return AmountKinds()[each.first].role == AmountRole::kPart && each.second.bytes > 0;
    });
    for (const auto& [amount, part] : by_amount) {
      const AmountKind& kind = AmountKinds()[amount];
      if (part.bytes > 0 && kind.role == (has_parts ? AmountRole::kPart : AmountRole::kLevel)) {
        ledger.parts.push_back(part);
      }
      for (const auto& [name, to] : {std::pair("total", &ledger.total),
                                     {"requested", &ledger.requested},
                                     {"free", &ledger.free},
                                     {"host_free", &ledger.host_free}}) {
        *to = kind.name == name ? std::optional(part) : *to;
      }
    }
    // Weights and what is outside are the two parts, or their sum.
    const auto is = [](std::string_view name) {
      return [name](const LedgerPart& part) { return part.name == name; };
    };
    if (std::any_of(ledger.parts.begin(), ledger.parts.end(), is("consumed"))) {
      std::erase_if(ledger.parts, is("weights"));
      std::erase_if(ledger.parts, is("non_framework"));
    }
    return ledger;
  }
};

}  // namespace

std::int64_t Ledger::sum() const {
  std::int64_t sum = 0;
  for (const LedgerPart& part : parts) {
    sum = SaturatingAdd(sum, part.bytes);
  }
  return sum;
}

namespace {

using ProcessOfRank = std::pair<std::string_view, std::int32_t>;

std::map<ProcessOfRank, Held> HeldBefore(std::span<const Statement> statements,
                                         const StringTable& strings, std::uint64_t line,
                                         std::string_view device) {
  const auto is_elsewhere = [&](const Statement& statement) {
    return !device.empty() && statement.device.valid() &&
           !MayBeSameDevice(strings[statement.device], device);
  };
  std::map<ProcessOfRank, Held> places;
  for (const Statement& statement : statements) {
    if (statement.line > line) {
      break;
    }
    const bool host_part = statement.host && statement.what().role == AmountRole::kPart;
    if (statement.kind == StatementKind::kMeasured && !host_part && !is_elsewhere(statement)) {
      const std::string_view process =
          statement.process.valid() ? strings[statement.process] : std::string_view();
      places[{process, statement.rank}].Take(statement, strings[statement.producer]);
    }
  }
  return places;
}

}  // namespace

std::optional<Ledger> LedgerBefore(std::span<const Statement> statements,
                                   const StringTable& strings, std::uint64_t line,
                                   const LedgerOwner& owner) {
  std::optional<Ledger> best;
  int best_fit = -1;
  for (const auto& [place, held] : HeldBefore(statements, strings, line, owner.device)) {
    Ledger ledger = held.Make(place.first);
    if (ledger.parts.empty()) {
      continue;
    }
    const bool named =
        !place.first.empty() && owner.prefix.find(place.first) != std::string_view::npos;
    const int fit = named ? 2 : owner.rank && place.second == *owner.rank ? 1 : 0;
    if (fit > best_fit || (fit == best_fit && ledger.sum() > best->sum())) {
      best_fit = fit;
      best = std::move(ledger);
    }
  }
  return best;
}

}  // namespace memtool
