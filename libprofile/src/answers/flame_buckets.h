// Which category of a dictionary most of what a call holds is of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

class FlameBuckets {
 public:
  struct Most {
    std::string_view name;
    std::int64_t bytes = 0;
  };

  // `keywords` is kept by reference.
  explicit FlameBuckets(const Keywords& keywords) : keywords_(keywords) {}

  // To be called before the rows of a selection's sums are added.
  void Read(const Selection& selection);
  // `row`: of the sums; its bytes are those of `call` itself.
  void Add(std::size_t row, std::uint32_t call);
  // Once all are added: callers hold what their callees hold. Callers come before callees.
  void Finish(std::size_t calls, const std::function<std::uint32_t(std::uint32_t)>& caller_of);
  // None of calls that hold nothing.
  [[nodiscard]] std::optional<Most> Of(std::uint32_t call) const;

 private:
  using Sums = std::map<std::uint32_t, std::int64_t>;  // by category
  struct Part {
    std::uint32_t category = 0;
    std::int64_t bytes = 0;
  };
  [[nodiscard]] std::uint32_t CategoryOf(std::span<const std::uint32_t> words) const;

  const Keywords& keywords_;
  std::vector<std::vector<Part>> rows_;  // of the selection that was read last
  std::vector<Sums> held_;               // per call
  std::vector<std::optional<Part>> most_;
};

}  // namespace memtool
