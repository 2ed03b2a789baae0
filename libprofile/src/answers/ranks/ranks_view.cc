// The answer about ranks as data.
#include <fmt/format.h>

#include <array>

#include "memtool/profile/answers/ranks.h"

namespace memtool {

namespace {

Value CausesValue(const std::vector<RankCause>& causes) {
  Value::List list;
  for (const RankCause& cause : causes) {
    list.push_back(
        Value::Object{{"name", cause.name}, {"file", cause.file}, {"bytes", cause.bytes}});
  }
  return list;
}

Value NanosValue(std::int64_t nanos) {
  return nanos == kNoTime ? Value() : Value(nanos);
}

Value OomValue(const std::optional<FailureFacts>& oom) {
  return oom ? Value(Value::Object{{"time", NanosValue(oom->time)},
                                   {"asked", oom->requested_bytes},
                                   {"free", Value(oom->free)}})
             : Value();
}

std::string ProblemText(const RankTrouble& trouble) {
  switch (trouble.code) {
    case RankProblem::kUnreadable:
      return trouble.text;
    case RankProblem::kTwice:
      return "also told by " + trouble.text;
    case RankProblem::kSameBytes:
      return fmt::format("the same bytes as rank {}", trouble.other);
    case RankProblem::kWrongDevice:
      return fmt::format("on device {} in place of {}", trouble.device, trouble.other);
    case RankProblem::kTwoDevices:
      return fmt::format("also holds {} bytes on device {}", trouble.other, trouble.device);
    case RankProblem::kConflict:
      return "the file and its path differ: " + trouble.text;
    case RankProblem::kNone:
      break;
  }
  return {};
}

Value ProblemValue(const RankFacts& facts) {
  std::string text;
  for (const RankTrouble& trouble : facts.troubles) {
    text += (text.empty() ? "" : "; ") + ProblemText(trouble);
  }
  return text.empty() ? Value() : Value(text);
}

Value TextOrNull(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

// What an input that could not be read does not tell.
template <std::int64_t RankFacts::*kMember>
Value IfRead(const RankFacts& facts) {
  return facts.read ? Value(facts.*kMember) : Value();
}

constexpr auto kRankFields = Fields<RankFacts>({
    {"rank", "RANK", Unit::kOrdinal, &RankFacts::rank, "the rank", kPlain, "natural"},
    {"local_rank", "", Unit::kOrdinal, &RankFacts::local_rank, "its number on its node"},
    {"node", "", Unit::kOrdinal, &RankFacts::node, "the number of its node"},
    {"host", "HOST", Unit::kText, [](const RankFacts& facts) { return TextOrNull(facts.host); },
     "the name of its node", Drop(6), "string|null"},
    {"step", "", Unit::kOrdinal, &RankFacts::step, "the step of the file"},
    {"attempt", "", Unit::kOrdinal, &RankFacts::attempt, "which start of the job it is from"},
    {"role", "", Unit::kText, [](const RankFacts& facts) { return TextOrNull(facts.role); },
     "what its job calls it", kPlain, "string|null"},
    {"how", "", Unit::kText,
     [](const RankFacts& facts) { return Value(IdentityHowName(facts.how)); },
     "how the rank is known", kPlain, R"("none"|"guess"|"path"|"content"|"user")"},
    {"path", "FILE", Unit::kText, &RankFacts::path, "the file", Drop(7) | kPath},
    {"peak", "PEAK", Unit::kBytes, &IfRead<&RankFacts::peak>, "the most that was live", kPlain,
     "integer|null"},
    {"peak_event", "", Unit::kOrdinal,
     [](const RankFacts& facts) {
       return facts.peak_event < 0 ? Value() : Value(facts.peak_event);
     },
     "when that was", kPlain, "integer|null"},
    {"end", "END", Unit::kBytes, &IfRead<&RankFacts::end>, "what is live at the end", Drop(5),
     "integer|null"},
    {"reserved_peak", "RESERVED", Unit::kBytes, &IfRead<&RankFacts::reserved_peak>,
     "the most that the allocator held", Drop(3), "integer|null"},
    {"headroom", "HEADROOM", Unit::kBytes, &RankFacts::headroom, "what the device has beyond that",
     Drop(4)},
    {"oom", "", Unit::kNested, [](const RankFacts& facts) { return OomValue(facts.oom); },
     "that it ran out of memory", kPlain,
     "{time: integer|null, asked: integer, free: integer|null}|null"},
    {"class", "CLASS", Unit::kOrdinal,
     [](const RankFacts& facts) { return facts.in_class ? Value(*facts.in_class + 1) : Value(); },
     "ranks that hold the same", kPlain, "integer|null"},
    {"outlier", "OUTLIER", Unit::kBytes, &RankFacts::outlier,
     "how much more or less than others of its class it holds", Drop(1)},
    {"because", "", Unit::kNested,
     [](const RankFacts& facts) { return CausesValue(facts.because); },
     "what it holds more of than they", kPlain, "{name: string, file: string, bytes: integer}[]"},
    {"problem", "WHAT", Unit::kText, &ProblemValue, "what is wrong with the file", Drop(2),
     "string|null"},
});

// What a class is in such a structure.
Value LooksLike(RankPatternKind kind) {
  switch (kind) {
    case RankPatternKind::kPipelineStages:
    case RankPatternKind::kRepeatedStages:
    case RankPatternKind::kEnds:
      return "pipeline stage";
    case RankPatternKind::kFirstOfNode:
      return "place in a node";
    case RankPatternKind::kHalves:
      return "tensor-parallel half";
    default:
      return {};
  }
}

Value ClassesValue(const RanksAnswer& answer) {
  Value::List list;
  for (const RankClassFacts& one : answer.classes) {
    list.push_back(Value::Object{{"class", list.size() + 1},
                                 {"ranks", Value::List(one.ranks.begin(), one.ranks.end())},
                                 {"peak", one.peak},
                                 {"least", one.least},
                                 {"most", one.most},
                                 {"looks_like", LooksLike(answer.structure.kind)},
                                 {"half_of", one.half_of ? Value(*one.half_of + 1) : Value()},
                                 {"wide", one.wide},
                                 {"differs", CausesValue(one.differs)}});
  }
  return list;
}

Value FirstOomValue(const std::optional<FirstOom>& oom) {
  if (!oom) {
    return {};
  }
  return Value::Object{
      {"rank", oom->rank},
      {"time", NanosValue(oom->time)},
      {"before_next_s",
       oom->before_next ? Value(static_cast<double>(*oom->before_next) / 1e9) : Value()},
      {"next_rank", Value(oom->next_rank)},
      {"with", Value::List(oom->with.begin(), oom->with.end())},
      {"asked", Value(oom->requested_bytes)},
      {"free", Value(oom->free)},
      {"failed", oom->failed},
      {"others_told", oom->reported},
      {"others_reserved_median", Value(oom->others_median)},
      {"others_reserved_most", Value(oom->others_most)}};
}

Value UnrankedValue(const std::vector<UnrankedFile>& files) {
  Value::List list;
  for (const UnrankedFile& file : files) {
    list.push_back(Value::Object{{"path", file.path}, {"problem", TextOrNull(file.problem)}});
  }
  return list;
}

Value::Object KeyValue(const RankSetKey& key) {
  return {{"job", TextOrNull(key.job)},
          {"role", TextOrNull(key.role)},
          {"attempt", Value(key.attempt)},
          {"step", Value(key.step)},
          {"at_oom", key.at_oom}};
}

Value OthersValue(const std::vector<OtherRanks>& others) {
  Value::List list;
  for (const OtherRanks& other : others) {
    Value::Object object = KeyValue(other.key);
    object.emplace_back("files", other.files);
    list.push_back(std::move(object));
  }
  return list;
}

Value StructureValue(const RankStructure& structure) {
  return Value::Object{{"code", ToCode(structure.kind)},
                       {"block", structure.block},
                       {"period", structure.period},
                       {"stages", structure.stages}};
}

}  // namespace

std::string_view ToCode(RankPatternKind kind) {
  constexpr std::array<std::string_view, 8> kCodes{
      "alike",        "stages", "repeated-stages", "first-of-node",
      "every-second", "ends",   "halves",          "none"};
  return kCodes[static_cast<std::size_t>(kind)];
}

std::span<const Field<RankFacts>> RankFields() {
  return kRankFields;
}

AnswerView MakeView(const RanksAnswer& answer) {
  Value::Object set = KeyValue(answer.set.key);
  set.emplace_back("world", answer.set.expected);
  return ViewRows(answer.head,
                  {{"set", std::move(set)},
                   {"median_peak", Value(answer.median_peak)},
                   {"classes", ClassesValue(answer)},
                   {"structure", StructureValue(answer.structure)},
                   {"missing", Value::List(answer.set.missing.begin(), answer.set.missing.end())},
                   {"missing_count", answer.set.missing_count},
                   {"first_oom", FirstOomValue(answer.first_oom)},
                   {"unranked", UnrankedValue(answer.unranked)},
                   {"others", OthersValue(answer.others)}},
                  answer.ranks, kRankFields);
}

}  // namespace memtool
