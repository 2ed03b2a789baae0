#include "metrics/trainer_stages.h"

#include <algorithm>
#include <vector>

namespace memtool::formats::metrics {

namespace {

constexpr std::string_view kProducer = "HF Trainer";
constexpr std::size_t kMaxStages = 1000;

// In the order in which they run; others follow.
constexpr std::array<std::string_view, 5> kOrder = {"init", "train", "eval", "test", "predict"};

std::size_t OrderOf(std::string_view stage) {
  return static_cast<std::size_t>(std::find(kOrder.begin(), kOrder.end(), stage) - kOrder.begin());
}

}  // namespace

bool TrainerStages::Take(std::string_view key, double value) {
  for (const auto& [word, host] : {std::pair(std::string_view("_mem_gpu"), false),
                                   std::pair(std::string_view("_mem_cpu"), true)}) {
    const std::size_t at = key.find(word);
    if (at == std::string_view::npos) {
      continue;
    }
    const std::string_view stage = key.substr(0, at);
    const std::string_view what = key.substr(at + word.size());
    Memory& memory = memories_.at(host ? 1 : 0);
    if (stage == "before_init" && what.empty()) {
      memory.before = value;
      return true;
    }
    if (what != "_alloc_delta" && what != "_peaked_delta") {
      continue;
    }
    auto found = memory.stages.find(stage);
    if (found == memory.stages.end()) {
      if (memory.stages.size() >= kMaxStages) {
        return true;
      }
      found = memory.stages.try_emplace(std::string(stage)).first;
    }
    (what == "_alloc_delta" ? found->second.kept : found->second.peak) = value;
    return true;
  }
  return false;
}

void TrainerStages::GiveTo(Series& series) const {
  Give(memories_[0], false, series);
  Give(memories_[1], true, series);
}

// A stage begins with what the one before it left.
void TrainerStages::Give(const Memory& memory, bool host, Series& series) {
  if (memory.empty()) {
    return;
  }
  const Statement level = series.Make(kProducer, host ? "host_used" : "allocated", host);
  const Statement peak = series.Make(kProducer, "peak_allocated", host);
  double held = memory.before.value_or(0);
  series.Add({.place = series.NextPlace(), .step = {}}, level, "before init", held);
  std::vector<const std::pair<const std::string, Stage>*> stages;
  for (const auto& stage : memory.stages) {
    stages.push_back(&stage);
  }
  std::stable_sort(stages.begin(), stages.end(), [](const auto* a, const auto* b) {
    return OrderOf(a->first) < OrderOf(b->first);
  });
  for (const auto* stage : stages) {
    held += stage->second.kept.value_or(0);
    if (stage->second.peak) {
      const std::uint64_t place = series.NextPlace();
      const double highest = held + *stage->second.peak;
      series.Add({.place = place, .step = {}}, level, stage->first + ", peak", highest);
      if (!host) {
        series.Add({.place = place, .step = {}}, peak, stage->first + ", peak", highest);
      }
    }
    series.Add({.place = series.NextPlace(), .step = {}}, level, stage->first, held);
  }
}

}  // namespace memtool::formats::metrics
