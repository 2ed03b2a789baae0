#include "ranks/names/word_fields.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace memtool::commands {

namespace {

using Kind = PathWord::Kind;
using WordRun = std::span<const PathWord>;

struct WordRule {
  std::string_view word;
  IdentityField field;
  std::size_t max_digits;
  WordTrust trust = WordTrust::kMade;
};

constexpr std::size_t kRankDigits = 6;
constexpr std::size_t kStepDigits = 12;
constexpr std::array kRules{
    WordRule{"rank", IdentityField::kRank, kRankDigits},
    WordRule{"globalrank", IdentityField::kRank, kRankDigits},
    WordRule{"worldrank", IdentityField::kRank, kRankDigits},
    WordRule{"localrank", IdentityField::kLocalRank, kRankDigits},
    WordRule{"noderank", IdentityField::kNode, kRankDigits},
    WordRule{"node", IdentityField::kNode, kRankDigits},
    WordRule{"iteration", IdentityField::kStep, kStepDigits},
    WordRule{"iter", IdentityField::kStep, kStepDigits},
    WordRule{"step", IdentityField::kStep, kStepDigits},
    WordRule{"globalstep", IdentityField::kStep, kStepDigits},
    WordRule{"trainingstep", IdentityField::kStep, kStepDigits},
    WordRule{"attempt", IdentityField::kAttempt, kRankDigits},
    WordRule{"restart", IdentityField::kAttempt, kRankDigits},
    WordRule{"pid", IdentityField::kPid, kStepDigits},
    WordRule{"time", IdentityField::kTime, 18},
    WordRule{"batch", IdentityField::kStep, kStepDigits, WordTrust::kOften},
    WordRule{"ba", IdentityField::kStep, kStepDigits, WordTrust::kOften},
    WordRule{"epoch", IdentityField::kStep, kStepDigits, WordTrust::kOften},
    WordRule{"worker", IdentityField::kRank, kRankDigits, WordTrust::kOften},
    WordRule{"task", IdentityField::kRank, kRankDigits, WordTrust::kOften},
    WordRule{"proc", IdentityField::kRank, kRankDigits, WordTrust::kOften},
    WordRule{"process", IdentityField::kRank, kRankDigits, WordTrust::kOften},
    WordRule{"gpu", IdentityField::kLocalRank, kRankDigits, WordTrust::kOften},
    WordRule{"device", IdentityField::kLocalRank, kRankDigits, WordTrust::kOften},
};

// Words before a field's word that make a setting, a count or another thing of it:
// "lora_rank_8", "tp_rank_1" (a rank, but of a group), "warmup_step_100", "micro_batch_4",
// "multi_gpu_8".
constexpr std::array<std::string_view, 33> kOtherThings{
    "lora", "low",   "matrix", "tensor", "svd",      "top",     "page",   "tp",    "pp",
    "dp",   "ep",    "cp",     "sp",     "mp",       "etp",     "edp",    "dcp",   "pcp",
    "max",  "min",   "num",    "n",      "total",    "per",     "warmup", "every", "micro",
    "mini", "multi", "single", "expert", "pipeline", "parallel"};

// Names that an r with a number belongs to: models, whose releases are counted so.
constexpr std::array<std::string_view, 1> kNamesBeforeR{"deepseek"};

template <class Row>
bool Holds(const Row& row, std::string_view word) {
  return std::find(row.begin(), row.end(), word) != row.end();
}

bool IsSeparator(const PathWord& word) {
  return word.kind == Kind::kOther && word.text.find_first_of("-_=.[ ") != std::string::npos;
}

const WordRule* GetRule(const PathWord& word) {
  const auto* const at = std::find_if(kRules.begin(), kRules.end(),
                                      [&](const WordRule& rule) { return rule.word == word.text; });
  return word.kind == Kind::kWord && at != kRules.end() ? at : nullptr;
}

// The word before row `at`, behind one separator or none; empty for none.
std::string_view WordBefore(WordRun words, std::size_t at) {
  if (at > 0 && IsSeparator(words[at - 1])) {
    --at;
  }
  return at > 0 && words[at - 1].kind == Kind::kWord ? std::string_view(words[at - 1].text)
                                                     : std::string_view();
}

// What the word means behind the one before it; false: something else than a field.
bool Refine(std::string_view before, WordRule& rule) {
  if (rule.word == "rank" && before == "local") {
    rule.field = IdentityField::kLocalRank;
    return true;
  }
  if (rule.word == "rank" && before == "node") {
    rule.field = IdentityField::kNode;
    return true;
  }
  if (rule.word == "batch" && before == "global") {
    return false;
  }
  return !Holds(kOtherThings, before);
}

// The row behind `at` and a separator, if there is one.
std::size_t Behind(WordRun words, std::size_t at) {
  const bool separated = at + 1 < words.size() && IsSeparator(words[at + 1]);
  return separated ? at + 2 : at + 1;
}

// The row of the number that belongs to the word at `at`: behind one separator or none, and not
// the beginning of another word ("rank1st").
std::optional<std::size_t> NumberRow(WordRun words, std::size_t at) {
  const std::size_t row = Behind(words, at);
  if (row >= words.size() || words[row].kind != Kind::kNumber) {
    return std::nullopt;
  }
  const bool runs_on = row + 1 < words.size() && words[row + 1].kind == Kind::kWord &&
                       GetRule(words[row + 1]) == nullptr && words[row + 1].text != "of";
  return runs_on ? std::nullopt : std::optional(row);
}

// "rank3of8", "rank_3_of_8": what follows the number in row `at`.
std::optional<WordField> WorldBehind(WordRun words, std::size_t at) {
  const std::size_t row = Behind(words, at);
  if (row >= words.size() || words[row].text != "of") {
    return std::nullopt;
  }
  const auto number = NumberRow(words, row);
  const auto value = number ? ToNumber(words[*number].text, kRankDigits) : std::nullopt;
  if (!value) {
    return std::nullopt;
  }
  return WordField{IdentityField::kWorld, *value, WordTrust::kMade, row, *number + 1};
}

// "world8", "world_size_8": the number of ranks.
std::optional<WordField> WorldAt(WordRun words, std::size_t at) {
  const std::size_t begin = at;
  if (words[at].text == "world" && at + 2 < words.size() && IsSeparator(words[at + 1]) &&
      words[at + 2].text == "size") {
    at += 2;
  }
  const bool named = words[at].text == "world" || words[at].text == "worldsize" || at != begin;
  const auto number = named ? NumberRow(words, at) : std::nullopt;
  const auto value = number ? ToNumber(words[*number].text, kRankDigits) : std::nullopt;
  if (!value) {
    return std::nullopt;
  }
  return WordField{IdentityField::kWorld, *value, WordTrust::kMade, begin, *number + 1};
}

std::optional<WordField> FieldAt(WordRun words, std::size_t at) {
  const WordRule* const known = GetRule(words[at]);
  const auto row = known != nullptr ? NumberRow(words, at) : std::nullopt;
  if (!row) {
    return std::nullopt;
  }
  WordRule rule = *known;
  const auto value = ToNumber(words[*row].text, rule.max_digits);
  if (!value || !Refine(WordBefore(words, at), rule)) {
    return std::nullopt;
  }
  return WordField{rule.field, *value, rule.trust, at, *row + 1};
}

constexpr std::array<std::string_view, 19> kRoles{
    "actor",   "critic",  "ref",       "reference",    "rollout", "reward",  "policy",
    "learner", "trainer", "generator", "orchestrator", "teacher", "student", "prefill",
    "decode",  "drafter", "sampler",   "inference",    "judge"};

}  // namespace

std::vector<WordField> FindWordFields(WordRun words) {
  std::vector<WordField> fields;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at].kind != Kind::kWord) {
      continue;
    }
    if (const auto field = FieldAt(words, at)) {
      fields.push_back(*field);
      if (const auto world = field->field == IdentityField::kRank
                                 ? WorldBehind(words, field->end - 1)
                                 : std::nullopt) {
        fields.push_back(*world);
      }
    } else if (const auto world = WorldAt(words, at)) {
      fields.push_back(*world);
    }
  }
  return fields;
}

std::optional<std::int64_t> LoneR(WordRun words) {
  for (std::size_t at = words.size(); at-- > 2;) {
    if (words[at].text != "r" || words[at - 1].text != "_" || at + 1 == words.size() ||
        words[at + 1].kind != Kind::kNumber) {
      continue;
    }
    const bool ends = at + 2 == words.size() || (words[at + 2].kind == Kind::kOther &&
                                                 words[at + 2].text.find_first_of("._-") == 0);
    const PathWord& before = words[at - 2];
    if (ends && before.kind == Kind::kWord && !Holds(kOtherThings, before.text) &&
        !Holds(kNamesBeforeR, before.text)) {
      return ToNumber(words[at + 1].text, kRankDigits);
    }
  }
  return std::nullopt;
}

std::string RoleIn(WordRun words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at].text == "replica") {
      const auto number = NumberRow(words, at);
      const auto value = number ? ToNumber(words[*number].text, kRankDigits) : std::nullopt;
      if (value) {
        return "replica_" + std::to_string(*value);
      }
    }
    if (words[at].kind != Kind::kWord || !Holds(kRoles, words[at].text)) {
      continue;
    }
    std::string role = words[at].text;
    while (at + 2 < words.size() && IsSeparator(words[at + 1]) &&
           Holds(kRoles, words[at + 2].text)) {
      at += 2;
      role += "_" + words[at].text;
    }
    return role;
  }
  return {};
}

bool SaysOom(WordRun words, bool is_folder) {
  for (const PathWord& word : words) {
    if (word.kind == Kind::kWord && word.text == "oom") {
      return true;
    }
  }
  return is_folder && words.size() > 2 && words.back().text == "exit" &&
         words[words.size() - 2].text == "_";
}

}  // namespace memtool::commands
