// Figures of a log that follow from others of it: whether they do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memtool/profile/model/recording.h"

namespace memtool {

struct LedgerCheck {
  std::uint64_t line = 0;  // of the figure that follows from others
  std::string producer;
  std::uint8_t amount = 0;  // what it is: index into AmountKinds()
  std::string formula;      // "requested - weights - activations (peak)"
  std::int64_t said = 0;    // bytes
  std::int64_t computed = 0;
  std::int64_t precision = 0;  // what rounding explains, of all figures together
  [[nodiscard]] bool holds() const;
};

// By line. Of each sum that a log gives, beside the amounts that it is of; and of what producers
// compute: vLLM's KV cache is what may be taken without all else, TensorRT-LLM's peak is all parts
// together.
std::vector<LedgerCheck> CheckLedger(const Recording& recording);

}  // namespace memtool
