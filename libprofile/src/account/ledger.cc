#include "memtool/profile/account/ledger.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

// What one process held, by amount.
struct Held {
  std::array<std::optional<LedgerPart>, 256> by_amount{};  // an amount is a byte
  std::uint32_t run = 0;
  std::string_view producer;
  std::int32_t rank = -1;

  void Take(const Statement& statement, std::string_view from) {
    if (statement.run != run) {
      by_amount.fill(std::nullopt);
      run = statement.run;
    }
    producer = from;
    rank = statement.rank >= 0 ? statement.rank : rank;
    std::optional<LedgerPart>& part = by_amount[statement.amount];
    const std::int64_t precision = std::max(statement.below, statement.above);
    const bool adds = statement.adds && part;
    part = LedgerPart{.title = statement.what().title,
                      .name = statement.what().name,
                      .bytes = adds ? SaturatingAdd(part->bytes, statement.value) : statement.value,
                      .precision = adds ? SaturatingAdd(part->precision, precision) : precision,
                      .line = statement.line};
  }

  [[nodiscard]] Ledger Make(std::string_view process) const {
    Ledger ledger{.producer = std::string(producer), .process = std::string(process)};
    for (std::size_t i = 0; i < AmountKinds().size(); ++i) {
      const AmountKind& kind = AmountKinds()[i];
      if (!by_amount[i]) {
        continue;
      }
      if (kind.role == AmountRole::kPart && by_amount[i]->bytes > 0) {
        ledger.parts.push_back(*by_amount[i]);
      }
      for (const auto& [name, to] : {std::pair("total", &ledger.total),
                                     {"requested", &ledger.requested},
                                     {"host_free", &ledger.host_free}}) {
        *to = kind.name == name ? by_amount[i] : *to;
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

std::optional<Ledger> LedgerBefore(std::span<const Statement> statements,
                                   const StringTable& strings, std::uint64_t line,
                                   const LedgerOwner& owner) {
  std::map<std::pair<std::string_view, std::int32_t>, Held> places;
  for (const Statement& statement : statements) {
    if (statement.line > line) {
      break;
    }
    const bool host_part = statement.host && statement.what().role == AmountRole::kPart;
    if (statement.kind != StatementKind::kMeasured || host_part) {
      continue;
    }
    const std::string_view process =
        statement.process.valid() ? strings[statement.process] : std::string_view();
    places[{process, statement.rank}].Take(statement, strings[statement.producer]);
  }
  std::optional<Ledger> best;
  int best_fit = -1;
  for (const auto& [place, held] : places) {
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
