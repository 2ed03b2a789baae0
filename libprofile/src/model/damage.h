// Damage of one kind: how often it was met, and where first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/model/recording.h"

namespace memtool {

class Damage {
 public:
  void Add(std::optional<std::uint64_t> offset = {}) {
    offset_ = count_ == 0 ? offset : offset_;
    ++count_;
  }

  // One diagnostic for all. A recording that was written again, or goes on, has it already.
  void MoveTo(std::vector<Diagnostic>& diagnostics, std::string code, std::string message) const {
    const bool known =
        std::any_of(diagnostics.begin(), diagnostics.end(), [&code](const Diagnostic& each) {
          return each.code == code && each.severity == Severity::kDamage;
        });
    if (count_ > 0 && !known) {
      diagnostics.push_back({.severity = Severity::kDamage,
                             .code = std::move(code),
                             .message = std::move(message),
                             .offset = offset_,
                             .count = count_});
    }
  }

 private:
  std::uint64_t count_ = 0;
  std::optional<std::uint64_t> offset_;
};

}  // namespace memtool
