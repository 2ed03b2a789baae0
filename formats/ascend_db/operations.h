// NPU_OP_MEM: calls of an allocator with their addresses, a row for each allocation and each
// release. Joined by the address they are tensors, which a ledger takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/row_vector.h"
#include "support/history/tensor_ledger.h"
#include "support/history/tensor_ledgers.h"

namespace memtool::formats::ascend_db {

struct Operation {
  std::int64_t time = 0;
  std::uint64_t address = 0;
  std::int64_t size = 0;
  ascend::Totals after{};
  StackId stack;
  std::uint32_t place = 0;
  bool releases = false;
};

class Operations {
 public:
  // The number of what one allocator of one device hands out, which has addresses of its own.
  // `component`: its number, `name`: empty for PyTorch's. None where there are more than events can
  // name.
  std::optional<std::uint32_t> PlaceOf(std::int32_t device, std::int64_t component,
                                       std::string_view name);
  void Add(const Operation& operation) { rows_.push_back(operation); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  // Once, after all rows. `first_row`: a number above those of rows in the ledgers already. Throws
  // ReadError (kLimit) where there are more rows than numbers.
  void MoveTo(ascend::TensorLedgers& ledgers, std::uint32_t first_row);
  // Known after MoveTo: allocations at an address whose release is missing.
  [[nodiscard]] std::uint64_t reopened() const { return reopened_; }

 private:
  struct Place {
    std::int32_t device = -1;
    std::string name;
  };
  std::vector<std::uint32_t> FindReleases();

  std::vector<Place> places_;
  KeyMap<std::pair<std::int32_t, std::int64_t>, std::uint32_t> place_index_;
  RowVector<Operation> rows_;
  std::uint64_t reopened_ = 0;
};

}  // namespace memtool::formats::ascend_db
