#include "answers/whatif/setting_runs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "memtool/profile/base/on_threads.h"

namespace memtool {

namespace {

enum class Wave : std::uint8_t { kUnbound, kBound, kLimited };

bool IsUnlimited(const whatif::RunOptions& run) {
  return run.limit == whatif::kNoLimit;
}

class Scheduler {
 public:
  explicit Scheduler(std::span<SettingRuns* const> all) : all_(all) {
    for (SettingRuns* one : all_) {
      one->results.resize(one->runs.size());
      done_.emplace_back(one->runs.size());
    }
  }

  void Do(std::vector<std::function<void()>> jobs) {
    for (const Wave wave : {Wave::kUnbound, Wave::kBound, Wave::kLimited}) {
      Add(wave, jobs);
      OnThreads(jobs.size(), [&jobs](std::size_t job) { jobs[job](); });
      jobs.clear();
    }
  }

 private:
  [[nodiscard]] Wave WaveOf(const SettingRuns& one, const whatif::RunOptions& run) const {
    if (!IsUnlimited(run)) {
      return Wave::kLimited;
    }
    const bool waits = std::any_of(all_.begin(), all_.end(), [&one](const SettingRuns* other) {
      return other->requests == one.requests &&
             std::any_of(other->runs.begin(), other->runs.end(), IsUnlimited) &&
             whatif::LessBounded(*other->settings, *one.settings);
    });
    return waits ? Wave::kBound : Wave::kUnbound;
  }

  void Add(Wave wave, std::vector<std::function<void()>>& jobs) {
    for (std::size_t at = 0; at < all_.size(); ++at) {
      SettingRuns& one = *all_[at];
      for (std::size_t i = 0; i < one.runs.size(); ++i) {
        if (WaveOf(one, one.runs[i]) != wave) {
          continue;
        }
        if (const whatif::RunResult* same = FindSame(one, one.runs[i])) {
          one.results[i] = *same;
          done_[at][i] = 1;
          continue;
        }
        jobs.emplace_back([this, at, i, &one] {
          one.results[i] = whatif::RunOnce(*one.requests, *one.settings, one.runs[i]);
          done_[at][i] = 1;
        });
      }
    }
  }

  [[nodiscard]] const whatif::RunResult* FindSame(const SettingRuns& one,
                                                  const whatif::RunOptions& run) const {
    for (std::size_t at = 0; at < all_.size(); ++at) {
      const SettingRuns& other = *all_[at];
      for (std::size_t i = 0; other.requests == one.requests && i < other.runs.size(); ++i) {
        if (done_[at][i] != 0 &&
            whatif::SameRun(*one.requests, *one.settings, run,
                            {*other.settings, other.runs[i], other.results[i]})) {
          return &other.results[i];
        }
      }
    }
    return nullptr;
  }

  std::span<SettingRuns* const> all_;
  std::vector<std::vector<char>> done_;  // per setting and run; not bits, which threads would share
};

}  // namespace

void DoRuns(std::span<SettingRuns* const> all, std::vector<std::function<void()>> first) {
  Scheduler(all).Do(std::move(first));
}

}  // namespace memtool
