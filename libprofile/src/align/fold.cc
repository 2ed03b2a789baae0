#include "memtool/profile/align/fold.h"

#include <algorithm>
#include <vector>

#include "memtool/profile/base/key_hash.h"

namespace memtool {

namespace {

using Keys = std::span<const std::uint32_t>;

constexpr double kMinCommonShare = 0.5;  // of a body, to correspond to another
constexpr std::uint32_t kNever = 0xffffffff;
constexpr std::uint32_t kOften = 0xfffffffe;

struct Pair {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

// Why not simply Align(): its time grows with the square of the differences. Two runs with a
// different number of iterations differ by whole iterations, often hundreds of thousands of
// elements, although nothing in the program changed. So each loop is folded into one element
// before aligning, and its iterations are paired afterwards, from one aligned body (JoinRepeats).
// What is still too different is cut at anchors: elements that are unique on both sides and in
// the same order correspond almost certainly, and only the short stretches between them are
// aligned exactly. (Patience diff.)

// Elements that occur once on both sides, in the order of the first.
std::vector<Pair> UniqueOnBoth(Keys a, Keys b) {
  struct Places {
    std::uint32_t a = kNever;
    std::uint32_t b = kNever;
  };
  KeyMap<std::uint32_t, Places> places;
  const auto note = [](std::uint32_t& place, std::size_t row) {
    place = place == kNever ? static_cast<std::uint32_t>(row) : kOften;
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    note(places[a[i]].a, i);
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    note(places[b[i]].b, i);
  }
  std::vector<Pair> pairs;
  for (const std::uint32_t key : a) {
    const Places& of = places[key];
    if (of.a < kOften && of.b < kOften) {
      pairs.push_back({of.a, of.b});
    }
  }
  return pairs;
}

// The longest part of `pairs` that rises on the second side, too: a longest increasing subsequence
// by patience sorting, in n log n. Anchors that cross would contradict each other.
std::vector<Pair> Rising(const std::vector<Pair>& pairs) {
  std::vector<std::size_t> tops;  // per length, the pair that ends a rise with the lowest b
  std::vector<std::size_t> before(pairs.size(), SIZE_MAX);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto at =
        std::lower_bound(tops.begin(), tops.end(), pairs[i].b,
                         [&pairs](std::size_t top, std::uint32_t b) { return pairs[top].b < b; });
    if (at != tops.begin()) {
      before[i] = *std::prev(at);
    }
    if (at == tops.end()) {
      tops.push_back(i);
    } else {
      *at = i;
    }
  }
  std::vector<Pair> rising;
  for (std::size_t i = tops.empty() ? SIZE_MAX : tops.back(); i != SIZE_MAX; i = before[i]) {
    rising.push_back(pairs[i]);
  }
  std::reverse(rising.begin(), rising.end());
  return rising;
}

// A sequence in which each of its repeats is one element.
struct Folded {
  std::vector<std::uint32_t> keys;
  std::vector<std::uint32_t> rows;     // of the sequence
  std::vector<std::uint32_t> repeats;  // row of the repeats, or kNever
};

Folded Fold(Keys keys, std::span<const Repeats> repeats, std::span<const std::uint32_t> names) {
  Folded folded;
  const auto add = [&folded](std::uint32_t key, std::size_t row, std::uint32_t repeat) {
    folded.keys.push_back(key);
    folded.rows.push_back(static_cast<std::uint32_t>(row));
    folded.repeats.push_back(repeat);
  };
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < repeats.size(); ++i) {
    for (; at < repeats[i].begin; ++at) {
      add(keys[at], at, kNever);
    }
    add(names[i], at, i);
    at += repeats[i].length;
  }
  for (; at < keys.size(); ++at) {
    add(keys[at], at, kNever);
  }
  return folded;
}

class FoldedAligner {
 public:
  FoldedAligner(Keys a, std::span<const Repeats> a_repeats, Keys b,
                std::span<const Repeats> b_repeats, std::size_t max_edits)
      : a_(a), a_repeats_(a_repeats), b_(b), b_repeats_(b_repeats), max_edits_(max_edits) {
    result_.partners.assign(a.size(), kNoPartner);
  }

  Alignment Run() {
    NameRepeats();
    const Folded a = Fold(a_, a_repeats_, a_names_);
    const Folded b = Fold(b_, b_repeats_, b_names_);
    Alignment folded = Align(a.keys, b.keys, max_edits_);
    if (!folded.complete) {
      folded = AlignByAnchors(a.keys, b.keys, max_edits_);
    }
    result_.complete = folded.complete;
    for (std::size_t i = 0; i < a.keys.size(); ++i) {
      const std::uint32_t partner = folded.partners[i];
      if (partner == kNoPartner) {
        continue;
      }
      if (a.repeats[i] == kNever) {
        Join(a.rows[i], b.rows[partner]);
      } else {
        JoinRepeats(a_repeats_[a.repeats[i]], b_repeats_[b.repeats[partner]]);
      }
    }
    return std::move(result_);
  }

 private:
  static Keys Body(Keys keys, const Repeats& of) { return keys.subspan(of.begin, of.period); }

  void Join(std::size_t a, std::size_t b) {
    result_.partners[a] = static_cast<std::uint32_t>(b);
    ++result_.pairs;
  }

  // Repeats that correspond get one name, above all keys that occur.
  void NameRepeats() {
    std::uint32_t name = 0;
    for (const Keys keys : {a_, b_}) {
      for (const std::uint32_t key : keys) {
        name = std::max(name, key);
      }
    }
    for (const Repeats& repeats : a_repeats_) {
      a_names_.push_back(name + 1 + ToName(Body(a_, repeats)));
    }
    for (const Repeats& repeats : b_repeats_) {
      b_names_.push_back(name + 1 + ToName(Body(b_, repeats)));
    }
  }
  std::uint32_t ToName(Keys body) {
    for (std::uint32_t i = 0; i < bodies_.size(); ++i) {
      const auto least = static_cast<double>(std::min(body.size(), bodies_[i].size()));
      const auto most = static_cast<double>(std::max(body.size(), bodies_[i].size()));
      if (least >= kMinCommonShare * most &&
          static_cast<double>(MaxPairs(body, bodies_[i])) >= kMinCommonShare * most) {
        return i;
      }
    }
    if (bodies_.size() < kMaxBodies) {
      bodies_.push_back(body);
      return static_cast<std::uint32_t>(bodies_.size() - 1);
    }
    return static_cast<std::uint32_t>(kMaxBodies + ++unlike_);
  }

  // By how many elements the body of `b` is rotated against that of `a`: by the first element that
  // is unique in both. A loop has no natural beginning; where FindLoops sees it begin depends on
  // what happens to stand before it.
  static std::size_t FindTurn(Keys a, Keys b) {
    const std::vector<Pair> pairs = UniqueOnBoth(a, b);
    return pairs.empty() ? 0 : (pairs[0].b + b.size() - pairs[0].a % b.size()) % b.size();
  }

  void JoinRepeats(const Repeats& a, const Repeats& b) {
    const Keys a_body = Body(a_, a);
    std::vector<std::uint32_t> b_body(Body(b_, b).begin(), Body(b_, b).end());
    const std::size_t turn = FindTurn(a_body, b_body);
    std::rotate(b_body.begin(), b_body.begin() + static_cast<std::ptrdiff_t>(turn), b_body.end());
    const Alignment bodies = Align(a_body, b_body, max_edits_);
    result_.complete = result_.complete && bodies.complete;
    const std::size_t a_count = (a.length + a.period - 1) / a.period;
    const std::size_t b_count = (b.length + b.period - 1) / b.period;
    for (std::size_t i = 0; i < std::min(a_count, b_count); ++i) {
      for (std::size_t row = 0; row < a.period; ++row) {
        const std::size_t at = i * a.period + row;
        const std::size_t partner = i * b.period + turn + bodies.partners[row];
        if (bodies.partners[row] != kNoPartner && at < a.length && partner < b.length) {
          Join(a.begin + at, b.begin + partner);
        }
      }
    }
  }

  static constexpr std::size_t kMaxBodies = 64;

  Keys a_;
  std::span<const Repeats> a_repeats_;
  Keys b_;
  std::span<const Repeats> b_repeats_;
  std::size_t max_edits_;
  std::vector<Keys> bodies_;
  std::size_t unlike_ = 0;
  std::vector<std::uint32_t> a_names_;
  std::vector<std::uint32_t> b_names_;
  Alignment result_;
};

}  // namespace

Alignment AlignByAnchors(Keys a, Keys b, std::size_t max_edits) {
  Alignment result;
  result.partners.assign(a.size(), kNoPartner);
  std::vector<Pair> anchors = Rising(UniqueOnBoth(a, b));
  anchors.push_back({static_cast<std::uint32_t>(a.size()), static_cast<std::uint32_t>(b.size())});
  std::size_t a_at = 0;
  std::size_t b_at = 0;
  for (const Pair& anchor : anchors) {
    const Alignment between =
        Align(a.subspan(a_at, anchor.a - a_at), b.subspan(b_at, anchor.b - b_at), max_edits);
    for (std::size_t i = 0; i < between.partners.size(); ++i) {
      if (between.partners[i] != kNoPartner) {
        result.partners[a_at + i] = static_cast<std::uint32_t>(b_at + between.partners[i]);
      }
    }
    result.pairs += between.pairs;
    result.complete = result.complete && between.complete;
    if (anchor.a < a.size()) {
      result.partners[anchor.a] = anchor.b;
      ++result.pairs;
    }
    a_at = anchor.a + 1;
    b_at = anchor.b + 1;
  }
  return result;
}

Alignment AlignFolded(Keys a, std::span<const Repeats> a_repeats, Keys b,
                      std::span<const Repeats> b_repeats, std::size_t max_edits) {
  return FoldedAligner(a, a_repeats, b, b_repeats, max_edits).Run();
}

}  // namespace memtool
