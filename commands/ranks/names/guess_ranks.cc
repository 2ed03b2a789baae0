#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

#include "memtool/profile/base/key_hash.h"
#include "ranks/names/path_words.h"
#include "ranks/names/rank_names.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kGuessedDigits = 6;
// Ranks are few for the files that there are, or every 2nd, 4th, 8th … of them.
constexpr std::int64_t kSparse = 2;
constexpr std::int64_t kSparseFromZero = 8;

// What numbers behind these words count is no rank.
constexpr std::array<std::string_view, 31> kNoRanks{
    "v",    "ver",   "version", "run",   "exp",    "experiment", "trial", "try",
    "test", "seed",  "job",     "day",   "epoch",  "step",       "iter",  "batch",
    "bs",   "lr",    "size",    "layer", "layers", "hidden",     "seq",   "len",
    "part", "llama", "gpt",     "qwen",  "model",  "time",       "date"};

struct NumberInPath {
  std::size_t begin = 0;
  std::size_t length = 0;
};

// The path with every number replaced, and where they were.
std::string Skeleton(std::string_view path, std::vector<NumberInPath>& numbers) {
  std::string skeleton;
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (!IsDigit(path[at])) {
      skeleton += path[at];
      continue;
    }
    const std::size_t end = std::min(path.find_first_not_of("0123456789", at), path.size());
    numbers.push_back({at, end - at});
    skeleton += '\0';
    at = end - 1;
  }
  return skeleton;
}

// The word before `at`: letters, behind one separator or none.
std::string WordBefore(std::string_view path, std::size_t at) {
  std::vector<PathWord> words = PathWords(path.substr(0, at));
  if (!words.empty() && words.back().kind == PathWord::Kind::kOther && words.back().text != "/") {
    words.pop_back();
  }
  const bool word = !words.empty() && words.back().kind == PathWord::Kind::kWord;
  return word ? words.back().text : std::string();
}

bool CouldBeRanks(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  std::int64_t gaps = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const std::int64_t gap = values[i] - values[i - 1];
    if (gap == 0) {
      return false;
    }
    gaps = std::gcd(gaps, gap);
  }
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t range = values.back() - values.front() + 1;
  const bool every_power = gaps > 0 && (gaps & (gaps - 1)) == 0;
  return range <= kSparse * count ||
         (values.front() == 0 && every_power && range <= kSparseFromZero * count);
}

// Paths with one skeleton, at least one.
class Siblings {
 public:
  Siblings(std::span<const std::string> paths, std::span<RankIdentity> identities,
           std::vector<std::size_t> rows)
      : paths_(paths), identities_(identities), rows_(std::move(rows)) {
    for (const std::size_t row : rows_) {
      std::vector<NumberInPath>& own = numbers_.emplace_back();
      Skeleton(paths_[row], own);
    }
    slots_ = numbers_.front().size();
  }

  void Guess() {
    if (rows_.size() < 2 || StepsVary() || paths_[rows_.front()].ends_with(".prof")) {
      return;
    }
    std::optional<std::size_t> varies;
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      if (Varies(slot)) {
        if (varies) {
          return;
        }
        varies = slot;
      }
    }
    if (varies) {
      Take(*varies);
    }
  }

 private:
  [[nodiscard]] std::string_view Text(std::size_t i, std::size_t slot) const {
    const NumberInPath& number = numbers_[i][slot];
    return std::string_view(paths_[rows_[i]]).substr(number.begin, number.length);
  }

  [[nodiscard]] bool Varies(std::size_t slot) const {
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      if (Text(i, slot) != Text(0, slot)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool StepsVary() const {
    return std::any_of(rows_.begin(), rows_.end(), [this](std::size_t row) {
      const RankIdentity& first = identities_[rows_.front()];
      return identities_[row].step != first.step || identities_[row].attempt != first.attempt ||
             identities_[row].time != first.time;
    });
  }

  void Take(std::size_t slot) {
    const std::string word = WordBefore(paths_[rows_.front()], numbers_.front()[slot].begin);
    if (std::find(kNoRanks.begin(), kNoRanks.end(), word) != kNoRanks.end()) {
      return;
    }
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto value = ToNumber(Text(i, slot), kGuessedDigits);
      if (!value || Text(i, slot).size() > kGuessedDigits) {
        return;
      }
      values.push_back(*value);
    }
    if (!CouldBeRanks(values)) {
      return;
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      RankIdentity& identity = identities_[rows_[i]];
      identity.rank = values[i];
      identity.how = IdentityHow::kGuess;
      CutJob(identity, std::string_view(paths_[rows_[i]]).substr(0, numbers_[i][slot].begin));
    }
  }

  // A folder with the rank in its name is no longer the job's.
  static void CutJob(RankIdentity& identity, std::string_view before) {
    const std::size_t slash = before.find_last_of("/\\");
    const std::size_t folders =
        SplitComponents(before.substr(0, slash == std::string_view::npos ? 0 : slash)).size();
    const std::vector<std::string_view> job = SplitComponents(identity.job);
    if (!identity.job_is_folder || job.size() <= folders) {
      return;
    }
    std::string cut;
    for (std::size_t i = 0; i < folders; ++i) {
      cut += (i == 0 ? "" : "/") + std::string(job[i]);
    }
    identity.job = std::move(cut);
  }

  std::span<const std::string> paths_;
  std::span<RankIdentity> identities_;
  std::vector<std::size_t> rows_;
  std::vector<std::vector<NumberInPath>> numbers_;
  std::size_t slots_ = 0;
};

}  // namespace

void GuessRanks(std::span<const std::string> paths, std::span<RankIdentity> identities) {
  KeyMap<std::string, std::size_t> known;
  std::vector<std::vector<std::size_t>> groups;  // of paths with one skeleton
  for (std::size_t row = 0; row < paths.size() && row < identities.size(); ++row) {
    if (NamesProcess(identities[row])) {
      continue;
    }
    std::vector<NumberInPath> numbers;
    const auto [at, fresh] = known.try_emplace(Skeleton(paths[row], numbers), groups.size());
    if (fresh) {
      groups.emplace_back();
    }
    groups[at->second].push_back(row);
  }
  for (std::vector<std::size_t>& rows : groups) {
    Siblings(paths, identities, std::move(rows)).Guess();
  }
}

}  // namespace memtool::commands
