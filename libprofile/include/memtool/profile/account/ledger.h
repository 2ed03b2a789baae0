// What a log says that a process held, up to one of its lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/string_table.h"
#include "memtool/profile/model/statement.h"

namespace memtool {

struct LedgerPart {
  std::string_view title;  // "KV cache"
  std::string_view name;   // "kv_cache"
  std::int64_t bytes = 0;
  std::int64_t precision = 0;  // by how much rounding may have changed it
  std::uint64_t line = 0;      // the last that gives it
};

struct Ledger {
  std::string producer;  // of the last part
  std::string process;   // may be empty
  // What was measured, in the order of AmountKinds(); of a log without parts the levels: what was
  // allocated, reserved.
  std::vector<LedgerPart> parts;
  std::optional<LedgerPart> total;      // of the device
  std::optional<LedgerPart> requested;  // what the program may take
  std::optional<LedgerPart> host_free;  // memory of the host that was available
  std::optional<LedgerPart> free;       // of the device, when a line said so last
  std::int64_t taken = 0;               // by how much the parts grew since
  [[nodiscard]] std::int64_t sum() const;
};

// Whose ledger: the process that a message names, or its rank; of one that names neither, the
// process with most bytes.
struct LedgerOwner {
  std::string_view prefix;  // of the message's line, "(EngineCore pid=71)"
  std::optional<int> rank;
  // What lines say of other devices is left out; "CUDA0", "1". Empty: none is.
  std::string_view device{};
};

// Of the last run that began before `line`. None without a part. `strings`: of the statements.
std::optional<Ledger> LedgerBefore(std::span<const Statement> statements,
                                   const StringTable& strings, std::uint64_t line,
                                   const LedgerOwner& owner);

}  // namespace memtool
