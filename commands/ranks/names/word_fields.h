// Fields that words of a component announce: "rank3", "iteration_10", "pid-77".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/ranks/identity.h"
#include "ranks/names/path_words.h"

namespace memtool::commands {

// How much a word is to be trusted.
enum class WordTrust : std::uint8_t {
  kMade,   // such names are made to say it: rank, iteration, pid
  kOften,  // often means it, but also other things: worker, gpu, batch, epoch
};

struct WordField {
  IdentityField field = IdentityField::kRank;
  std::int64_t value = 0;
  WordTrust trust = WordTrust::kMade;
  std::size_t begin = 0;  // rows of the component's words
  std::size_t end = 0;
};

// In the order of the words.
std::vector<WordField> FindWordFields(std::span<const PathWord> words);

// "prof_memsnap_r3": the number after a lone r, at the end of a word of the name.
std::optional<std::int64_t> LoneR(std::span<const PathWord> words);

// "actor", "actor_rollout", "replica_1"; empty for none.
std::string RoleIn(std::span<const PathWord> words);

// "oom_rank3", "iteration_10_exit"; not "zoom".
bool SaysOom(std::span<const PathWord> words, bool is_folder);

}  // namespace memtool::commands
