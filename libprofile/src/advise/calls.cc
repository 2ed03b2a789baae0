#include "memtool/profile/advise/calls.h"

#include <algorithm>
#include <map>
#include <utility>

namespace memtool::advise {

namespace {

using Kind = whatif::Request::Kind;

// The smallest period of a sequence (Knuth, Morris and Pratt).
std::size_t PeriodOf(std::span<const std::uint32_t> keys) {
  std::vector<std::size_t> border(keys.size(), 0);
  for (std::size_t i = 1, matched = 0; i < keys.size(); ++i) {
    while (matched > 0 && keys[i] != keys[matched]) {
      matched = border[matched - 1];
    }
    matched += keys[i] == keys[matched] ? 1 : 0;
    border[i] = matched;
  }
  return keys.size() - border.back();
}

// How many of two pieces' keys are the same, of the larger one.
bool AreAlike(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  constexpr std::size_t kOf = 5;
  constexpr std::size_t kAtLeast = 4;
  std::map<std::uint32_t, std::ptrdiff_t> bag;
  for (const std::uint32_t key : a) {
    ++bag[key];
  }
  std::size_t same = 0;
  for (const std::uint32_t key : b) {
    same += bag[key]-- > 0 ? 1 : 0;
  }
  return same * kOf >= std::max(a.size(), b.size()) * kAtLeast;
}

// Where each call in a run of allocations begins: layers follow each other without a gap.
std::vector<std::size_t> CutRun(std::span<const std::uint32_t> keys) {
  std::vector<std::size_t> cuts{0};
  const std::size_t period = PeriodOf(keys);
  if (period < keys.size() && keys.size() % period == 0) {
    for (std::size_t at = period; at < keys.size(); at += period) {
      cuts.push_back(at);
    }
    return cuts;
  }
  for (std::size_t at = 1; at < keys.size(); ++at) {
    // One operation may make several blocks.
    if (keys[at] == keys.front() && keys[at - 1] != keys.front()) {
      cuts.push_back(at);
    }
  }
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const std::size_t end = i + 2 < cuts.size() ? cuts[i + 2] : keys.size();
    if (!AreAlike(keys.subspan(cuts[i], cuts[i + 1] - cuts[i]),
                  keys.subspan(cuts[i + 1], end - cuts[i + 1]))) {
      return {0};
    }
  }
  return cuts;
}

// What is alive at the end of a call, and whose it is.
void Sort(const Program& program, Call& call, bool& last_escapes) {
  const Time backward = program.next_backward[call.end];
  last_escapes = false;
  for (const std::uint32_t row : call.blocks) {
    const Block& block = program.blocks[row];
    if (block.freed < call.end) {
      continue;  // of the call's own
    }
    last_escapes = false;
    if (block.freed == kNever) {
      call.kept.push_back(row);
    } else if (block.freed < backward) {
      last_escapes = true;
      call.escaped.push_back(row);
    } else {
      call.saved.push_back(row);
    }
  }
}

// Backward frees in reverse: what a call returned goes while the one after it is differentiated,
// before anything that the call keeps for itself.
void FindOutputs(const Program& program, Call& call, const Call* next) {
  auto by_free = call.saved;
  std::sort(by_free.begin(), by_free.end(), [&program](std::uint32_t a, std::uint32_t b) {
    return program.blocks[a].freed < program.blocks[b].freed;
  });
  if (by_free.size() > 1) {
    const Time first = program.blocks[by_free[0]].freed;
    const Time second = program.blocks[by_free[1]].freed;
    if (program.next_backward[first] < second) {
      call.outputs = {by_free[0]};
      return;
    }
  }
  if (next != nullptr && !next->saved.empty()) {
    Time last = 0;
    for (const std::uint32_t row : next->saved) {
      last = std::max(last, program.blocks[row].freed);
    }
    for (const std::uint32_t row : by_free) {
      if (program.blocks[row].freed <= last) {
        call.outputs.push_back(row);
      }
    }
  }
  if (call.outputs.empty() && !call.saved.empty()) {
    call.outputs = {call.saved.back()};
  }
}

}  // namespace

namespace {

// The calls of a site: runs of allocations under it, cut into calls.
class CallFinder {
 public:
  CallFinder(const Program& program, const Sites& sites, std::uint32_t site)
      : program_(program), sites_(sites), site_(site) {}

  std::vector<Call> Find() {
    for (std::size_t i = 0; i < program_.operations.size(); ++i) {
      const Operation& operation = program_.operations[i];
      if (operation.kind != Kind::kAllocate) {
        continue;
      }
      const Block& block = program_.blocks[operation.block];
      if (IsInside(block)) {
        run_.push_back(operation.block);
        keys_.push_back(block.stack.value());
      } else {
        EndRun(static_cast<Time>(i));
      }
    }
    EndRun(static_cast<Time>(program_.operations.size()));
    return std::move(calls_);
  }

 private:
  bool IsInside(const Block& block) {
    if (block.phase != Phase::kForward || !block.stack.valid()) {
      return false;
    }
    const auto [known, added] = under_.try_emplace(block.stack.value(), false);
    if (added) {
      const auto of = sites_.Of(block.stack);
      known->second = std::find(of.begin(), of.end(), site_) != of.end();
    }
    return known->second;
  }

  void EndRun(Time end) {
    if (run_.empty()) {
      return;
    }
    const auto cuts = CutRun(keys_);
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const std::size_t to = i + 1 < cuts.size() ? cuts[i + 1] : run_.size();
      Call call;
      call.blocks.assign(run_.begin() + static_cast<std::ptrdiff_t>(cuts[i]),
                         run_.begin() + static_cast<std::ptrdiff_t>(to));
      call.begin = program_.blocks[call.blocks.front()].made;
      call.end = to < run_.size() ? program_.blocks[run_[to]].made : end;
      call.follows = i > 0;
      calls_.push_back(std::move(call));
    }
    run_.clear();
    keys_.clear();
  }

  const Program& program_;
  const Sites& sites_;
  std::uint32_t site_;
  std::map<std::uint32_t, bool> under_;  // per stack
  std::vector<std::uint32_t> run_;       // blocks
  std::vector<std::uint32_t> keys_;      // their stacks
  std::vector<Call> calls_;
};

}  // namespace

std::vector<Call> FindCalls(const Program& program, const Sites& sites, std::uint32_t site,
                            Rules rules) {
  std::vector<Call> calls = CallFinder(program, sites, site).Find();
  std::vector<char> last_escapes;
  last_escapes.reserve(calls.size());
  for (Call& call : calls) {
    bool escapes = false;
    Sort(program, call, escapes);
    last_escapes.push_back(escapes ? 1 : 0);
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool has_next = i + 1 < calls.size() && calls[i + 1].follows;
    if (rules.last_is_output && !calls[i].saved.empty()) {
      calls[i].outputs = {calls[i].saved.back()};
    } else if (last_escapes[i] == 0) {
      FindOutputs(program, calls[i], has_next ? &calls[i + 1] : nullptr);
    }
  }
  return calls;
}

}  // namespace memtool::advise
