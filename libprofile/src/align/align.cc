#include "memtool/profile/align/align.h"

#include <algorithm>
#include <optional>

#include "memtool/profile/base/key_hash.h"

namespace memtool {

namespace {

using Keys = std::span<const std::uint32_t>;
using Index = std::int32_t;

// Myers' algorithm in linear space. An alignment is a path through the rectangle a x b: right = an
// element of `a` alone, down = an element of `b` alone, diagonal = a pair. The shortest path has
// the fewest edits (right or down) and so the most pairs.
//
// Searching from both corners at once finds a point in the middle of a shortest path (Middle) with
// memory for one row of diagonals only; the two rectangles on either side of the point are then
// aligned the same way. They are kept on an explicit stack, because hostile inputs would nest
// deeper than the call stack allows. Equal ends are paired beforehand (Trim): runs of one program
// share nearly everything, so this is where most elements go.
constexpr Index kUnreached = -1;

// How far one can get from the beginning (or, for reversed sequences, the end) of a rectangle of
// `width` x `height` with so many edits, per diagonal (x − y).
class Frontier {
 public:
  void Start(Index width, Index height, std::size_t most) {
    width_ = width;
    height_ = height;
    middle_ = static_cast<Index>(most + 1);
    const std::size_t needed = 2 * most + 3;
    reach_.resize(std::max(reach_.size(), needed));
  }

  // Opens the diagonals of `edits`: those next to the outermost have not been reached.
  void Open(Index edits) {
    At(-edits - 1) = kUnreached;
    At(edits + 1) = kUnreached;
    if (edits == 0) {
      At(0) = kUnreached;
    }
  }
  // The furthest x on `diagonal` with one more edit, before equal elements are followed.
  [[nodiscard]] Index Step(Index edits, Index diagonal) const {
    if (edits == 0) {
      return 0;
    }
    const Index from_left = At(diagonal - 1);
    const Index from_above = At(diagonal + 1);
    Index x = kUnreached;
    if (from_above != kUnreached && from_above - diagonal <= height_) {
      x = from_above;
    }
    if (from_left != kUnreached && from_left < width_) {
      x = std::max(x, from_left + 1);
    }
    return x;
  }
  Index& At(Index diagonal) { return reach_[GetRow(diagonal)]; }
  [[nodiscard]] Index At(Index diagonal) const { return reach_[GetRow(diagonal)]; }

 private:
  [[nodiscard]] std::size_t GetRow(Index diagonal) const {
    const Index row = middle_ + diagonal;
    return static_cast<std::size_t>(row);
  }

  Index width_ = 0;
  Index height_ = 0;
  Index middle_ = 0;
  std::vector<Index> reach_;
};

struct Point {
  Index x = 0;
  Index y = 0;
};

struct Box {
  Index a_begin = 0;
  Index a_end = 0;
  Index b_begin = 0;
  Index b_end = 0;
};

class Aligner {
 public:
  Aligner(Keys a, Keys b, std::size_t max_edits) : a_(a), b_(b), max_edits_(max_edits) {
    result_.partners.assign(a.size(), kNoPartner);
  }

  Alignment Run() {
    std::vector<Box> boxes{{0, static_cast<Index>(a_.size()), 0, static_cast<Index>(b_.size())}};
    while (!boxes.empty()) {
      Box box = boxes.back();
      boxes.pop_back();
      Trim(box);
      if (box.a_begin == box.a_end || box.b_begin == box.b_end) {
        continue;
      }
      const std::optional<Point> middle = Middle(box);
      if (!middle) {
        result_.complete = false;
        continue;
      }
      const Index x = box.a_begin + middle->x;
      const Index y = box.b_begin + middle->y;
      boxes.push_back({x, box.a_end, y, box.b_end});
      boxes.push_back({box.a_begin, x, box.b_begin, y});
    }
    return std::move(result_);
  }

 private:
  void Pair(Index a, Index b) {
    result_.partners[static_cast<std::size_t>(a)] = static_cast<std::uint32_t>(b);
    ++result_.pairs;
  }
  [[nodiscard]] bool Equal(Index a, Index b) const {
    return a_[static_cast<std::size_t>(a)] == b_[static_cast<std::size_t>(b)];
  }

  // Equal elements at both ends correspond.
  void Trim(Box& box) {
    while (box.a_begin < box.a_end && box.b_begin < box.b_end && Equal(box.a_begin, box.b_begin)) {
      Pair(box.a_begin++, box.b_begin++);
    }
    while (box.a_begin < box.a_end && box.b_begin < box.b_end &&
           Equal(box.a_end - 1, box.b_end - 1)) {
      Pair(--box.a_end, --box.b_end);
    }
  }

  // A point on a shortest way through `box`, about half of the edits behind it; none when there are
  // too many of them.
  std::optional<Point> Middle(const Box& box) {
    const Index width = box.a_end - box.a_begin;
    const Index height = box.b_end - box.b_begin;
    const Index all = static_cast<Index>(std::min<std::int64_t>(
        (std::int64_t{width} + height + 1) / 2, static_cast<std::int64_t>((max_edits_ + 1) / 2)));
    forward_.Start(width, height, static_cast<std::size_t>(all));
    backward_.Start(width, height, static_cast<std::size_t>(all));
    for (Index edits = 0; edits <= all; ++edits) {
      forward_.Open(edits);
      if (const auto point = Forward(box, edits)) {
        return point;
      }
      backward_.Open(edits);
      if (const auto point = Backward(box, edits)) {
        return point;
      }
    }
    return std::nullopt;
  }

  // The paths from the beginning with `edits` edits. Each diagonal keeps only its furthest point:
  // any path through a nearer one can be exchanged for it without more edits.
  std::optional<Point> Forward(const Box& box, Index edits) {
    const Index width = box.a_end - box.a_begin;
    const Index height = box.b_end - box.b_begin;
    const Index delta = width - height;
    for (Index k = -edits; k <= edits; k += 2) {
      Index x = forward_.Step(edits, k);
      while (x != kUnreached && x < width && x - k < height &&
             Equal(box.a_begin + x, box.b_begin + x - k)) {
        ++x;
      }
      forward_.At(k) = x;
      // The search from the end has made one edit less, so together the edits are odd in number, as
      // they are on every path when `delta` is odd. For an even `delta` Backward() finds the point.
      const Index other = delta - k;
      if (x != kUnreached && (delta & 1) != 0 && other >= -(edits - 1) && other <= edits - 1 &&
          backward_.At(other) != kUnreached && x + backward_.At(other) >= width) {
        return Point{x, x - k};
      }
    }
    return std::nullopt;
  }

  std::optional<Point> Backward(const Box& box, Index edits) {
    const Index width = box.a_end - box.a_begin;
    const Index height = box.b_end - box.b_begin;
    const Index delta = width - height;
    for (Index k = -edits; k <= edits; k += 2) {
      Index x = backward_.Step(edits, k);
      while (x != kUnreached && x < width && x - k < height &&
             Equal(box.a_end - 1 - x, box.b_end - 1 - (x - k))) {
        ++x;
      }
      backward_.At(k) = x;
      const Index other = delta - k;
      if (x != kUnreached && (delta & 1) == 0 && other >= -edits && other <= edits &&
          forward_.At(other) != kUnreached && x + forward_.At(other) >= width) {
        return Point{width - x, height - (x - k)};
      }
    }
    return std::nullopt;
  }

  Keys a_;
  Keys b_;
  std::size_t max_edits_;
  Frontier forward_;
  Frontier backward_;
  Alignment result_;
};

}  // namespace

Alignment Align(Keys a, Keys b, std::size_t max_edits) {
  return Aligner(a, b, max_edits).Run();
}

std::uint64_t MaxPairs(Keys a, Keys b) {
  KeyMap<std::uint32_t, std::uint64_t> counts;
  for (const std::uint32_t key : a) {
    ++counts[key];
  }
  std::uint64_t pairs = 0;
  for (const std::uint32_t key : b) {
    const auto found = counts.find(key);
    if (found != counts.end() && found->second > 0) {
      --found->second;
      ++pairs;
    }
  }
  return pairs;
}

}  // namespace memtool
