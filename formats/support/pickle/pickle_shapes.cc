#include "support/pickle/pickle_shapes.h"

#include <algorithm>

#include "support/pickle/pickle_opcodes.h"

namespace memtool::formats {

bool PickleShapes::Same(const Shape& shape, std::span<const Value> pairs) {
  if (shape.keys.size() * 2 != pairs.size()) {
    return false;
  }
  for (std::size_t i = 0; i < shape.keys.size(); ++i) {
    if (shape.keys[i].value.memo != pairs[2 * i].memo) {
      return false;
    }
  }
  return true;
}

void PickleShapes::Learn(std::span<const Value> pairs, DataBuilder& builder) {
  if (pairs.size() > 2 * kMaxKeys) {
    return;
  }
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (pairs[i].kind != ValueKind::kString || pairs[i].memo == 0) {
      return;
    }
  }
  for (std::size_t i = 0; i < used_; ++i) {
    if (Same((*this)[i], pairs)) {
      return;
    }
  }
  // A new shape takes the place of the one that was not used for longest.
  if (used_ < kMaxShapes) {
    order_[used_] = static_cast<std::uint8_t>(used_);
    ++used_;
  }
  Shape& shape = shapes_[order_[used_ - 1]];
  shape.keys.clear();
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    Value key = pairs[i];
    key.shared = true;
    const std::uint64_t entry = key.memo - 1;
    const bool brief = entry < 256;
    const std::size_t size = brief ? 2 : 5;
    shape.keys.push_back({.value = key,
                          .word = entry << 8U | (brief ? pickle::kBinGet : pickle::kLongBinGet),
                          .mask = (std::uint64_t{1} << (8 * size)) - 1,
                          .size = size});
  }
  shape.plan = builder.Plan(pairs);
  Used(used_ - 1);
}

void PickleShapes::Used(std::size_t number) {
  const auto begin = order_.begin();
  const auto at = begin + static_cast<std::ptrdiff_t>(number);
  std::rotate(begin, at, at + 1);
}

}  // namespace memtool::formats
