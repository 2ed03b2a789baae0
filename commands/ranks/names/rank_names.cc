#include "ranks/names/rank_names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "ranks/names/known_file_names.h"
#include "ranks/names/path_words.h"
#include "ranks/names/word_fields.h"

namespace memtool::commands {

namespace {

using Components = std::span<const std::string_view>;

// Folders that a job makes for its files.
constexpr std::array<std::string_view, 15> kFoldersOfJobs{
    "memory_snapshot",     "memory_snapshots", "profile_traces", "profile_trace",
    "comm_traces",         "comm_trace",       "torch_traces",   "oom_traces",
    "torch_memory_traces", "torchrun",         "plugins",        "msrun_log",
    "worker_output",       "mem_snapshots",    "nsys_profiles"};

void Fill(RankIdentity& identity, IdentityField field, std::int64_t value) {
  std::optional<std::int64_t>* const place = identity.Number(field);
  if (!place->has_value()) {
    *place = value;
  }
}

// Where in a component a field may be taken from. A word that often means something else counts in
// the file's name, and in a folder whose name is nothing but the field ("worker_3", "batch32").
bool Counts(const WordField& field, std::size_t words, bool is_file) {
  return field.trust == WordTrust::kMade || is_file || (field.begin == 0 && field.end == words);
}

class PathReader {
 public:
  explicit PathReader(Components components)
      : components_(components), job_ends_(components.size() - 1) {}

  RankIdentity Read() {
    KnownFileName name = ReadKnownFileName(components_);
    identity_ = std::move(name.found);
    job_ends_ = components_.size() - name.components;
    ReadComponent(name.rest, components_.size() - 1);
    for (std::size_t at = components_.size() - 1; at-- > 0;) {
      ReadComponent(components_[at], at);
    }
    UseDoubtful();
    if (identity_.job.empty()) {
      NameJob();
    }
    return std::move(identity_);
  }

 private:
  void ReadComponent(std::string_view text, std::size_t at) {
    const bool is_file = at + 1 == components_.size();
    const std::vector<PathWord> words = PathWords(text);
    bool of_job =
        std::find(kFoldersOfJobs.begin(), kFoldersOfJobs.end(), text) != kFoldersOfJobs.end();
    for (const WordField& field : FindWordFields(words)) {
      if (!Counts(field, words.size(), is_file)) {
        continue;
      }
      of_job = true;
      if (field.trust == WordTrust::kMade) {
        Fill(identity_, field.field, field.value);
      } else {
        Fill(doubtful_, field.field, field.value);
      }
    }
    lone_r_ = is_file ? LoneR(words) : lone_r_;
    const std::string role = RoleIn(words);
    if (identity_.role.empty()) {
      identity_.role = role;
    }
    of_job = of_job || (!role.empty() && role.size() == text.size());
    if (SaysOom(words, !is_file)) {
      identity_.at_oom = true;
      of_job = true;
    }
    if (of_job) {
      job_ends_ = std::min(job_ends_, at);
    }
  }

  void UseDoubtful() {
    if (lone_r_) {
      Fill(identity_, IdentityField::kRank, *lone_r_);
    }
    if (doubtful_.step) {
      Fill(identity_, IdentityField::kStep, *doubtful_.step);
    }
    if (!identity_.rank && !identity_.local_rank) {
      identity_.rank = doubtful_.rank;
      identity_.local_rank = doubtful_.local_rank;
    }
    if (NamesProcess(identity_) && identity_.how == IdentityHow::kNone) {
      identity_.how = IdentityHow::kPath;
    }
  }

  void NameJob() {
    for (std::size_t at = 0; at < job_ends_; ++at) {
      identity_.job += (at == 0 ? "" : "/") + std::string(components_[at]);
    }
    identity_.job_is_folder = true;
  }

  Components components_;
  std::size_t job_ends_;  // components before this one are the job's folder
  RankIdentity identity_;
  RankIdentity doubtful_;
  std::optional<std::int64_t> lone_r_;
};

}  // namespace

RankIdentity IdentityFromPath(std::string_view path) {
  const std::vector<std::string_view> components = SplitComponents(path);
  return components.empty() ? RankIdentity{} : PathReader(components).Read();
}

RanksQuery::Identify IdentifyByNames(std::optional<RankPattern> pattern) {
  return [pattern = std::move(pattern)](std::span<const std::string> paths,
                                        std::span<RankIdentity> identities) -> Result<void> {
    for (std::size_t i = 0; i < paths.size(); ++i) {
      identities[i] = Combine(std::move(identities[i]), IdentityFromPath(paths[i]));
      if (pattern) {
        auto given = pattern->Of(paths[i]);
        MEMTOOL_TRY(given);
        identities[i] = Combine(*std::move(given), std::move(identities[i]));
      }
    }
    GuessRanks(paths, identities);
    return {};
  };
}

}  // namespace memtool::commands
