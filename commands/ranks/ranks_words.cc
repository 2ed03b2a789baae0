#include "ranks/ranks_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <map>
#include <optional>

#include "memtool/profile/base/arithmetic.h"
#include "output/tabulate.h"
#include "output/text/cpp_names.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kShownRanges = 12;
constexpr std::int64_t kNanos = 1'000'000'000;

std::string SizeOf(std::int64_t bytes) {
  return FormatSize(bytes);
}

std::string CauseText(const RankCause& cause) {
  const std::string place = PlaceText(cause.file, 0);
  return fmt::format("{}{} {}{}{}", cause.bytes < 0 ? "" : "+", SizeOf(cause.bytes),
                     NameText(cause.name), place.empty() ? "" : " ", place);
}

std::string CausesText(const std::vector<RankCause>& causes) {
  std::string text;
  for (const RankCause& cause : causes) {
    text += (text.empty() ? "" : ", ") + CauseText(cause);
  }
  return text;
}

// "12:04:31.250 UTC".
std::string ClockText(std::int64_t nanos) {
  const auto seconds = static_cast<std::time_t>(nanos / kNanos);
  std::tm parts{};
  if (nanos < 0 || ::gmtime_r(&seconds, &parts) == nullptr) {
    return fmt::format("{} ns", nanos);
  }
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} UTC", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     nanos % kNanos / 1'000'000);
}

// How most ranks are known; none where there are none.
std::optional<IdentityHow> HowOfMost(const RanksAnswer& answer) {
  std::map<IdentityHow, std::size_t> counts;
  for (const RankFacts& rank : answer.ranks) {
    ++counts[rank.how];
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::nullopt : std::optional(most->first);
}

std::string_view HowText(const RanksAnswer& answer) {
  const std::optional<IdentityHow> how = HowOfMost(answer);
  if (!how) {
    return "no input tells its rank";
  }
  switch (*how) {
    case IdentityHow::kUser:
      return "ranks by --rank-from";
    case IdentityHow::kContent:
      return "ranks as the files say";
    case IdentityHow::kPath:
      return "ranks by path";
    default:
      return "ranks are a guess from the names; --rank-from says how to read them";
  }
}

std::size_t CountRead(const RanksAnswer& answer) {
  return static_cast<std::size_t>(std::count_if(answer.ranks.begin(), answer.ranks.end(),
                                                [](const RankFacts& rank) { return rank.read; }));
}

// "64 ranks of 8 hosts, step 10, role actor".
std::string WhoText(const RanksAnswer& answer) {
  const RankSetKey& set = answer.set.key;
  const std::size_t read = CountRead(answer);
  std::string text = Counted(read, "rank");
  if (answer.ranks.empty()) {
    return text;
  }
  if (read < answer.ranks.size()) {
    text += fmt::format(" ({} more cannot be read)", answer.ranks.size() - read);
  }
  if (answer.hosts > 1) {
    text += fmt::format(" of {}", Counted(answer.hosts, "host"));
  }
  text += HowOfMost(answer) == IdentityHow::kGuess ? ", guessed from the names" : "";
  if (!set.job.empty() && !answer.set.job_is_folder) {
    text += ", job " + set.job;
  }
  if (set.attempt) {
    text += fmt::format(", attempt {}", *set.attempt);
  }
  if (set.step) {
    text += fmt::format(", {} {}", set.at_oom ? "out of memory after step" : "step", *set.step);
  } else if (set.at_oom) {
    text += ", written when memory ran out";
  }
  if (!set.role.empty()) {
    text += ", " + set.role;
  }
  return text;
}

std::string PeaksText(const RanksAnswer& answer) {
  const RankFacts* most = nullptr;
  const RankFacts* least = nullptr;
  for (const RankFacts& rank : answer.ranks) {
    if (rank.read && (most == nullptr || rank.peak > most->peak)) {
      most = &rank;
    }
    if (rank.read && (least == nullptr || rank.peak < least->peak)) {
      least = &rank;
    }
  }
  if (most == nullptr) {
    return answer.ranks.empty() ? "no file names its rank; use --rank-from" : "none could be read";
  }
  if (most->peak == least->peak) {
    return CountRead(answer) == 1 ? fmt::format("peak {}", SizeOf(most->peak))
                                  : fmt::format("each peaks at {}", SizeOf(most->peak));
  }
  return fmt::format("peak {} on rank {}, median {}, least {} on rank {}", SizeOf(most->peak),
                     most->rank, SizeOf(answer.median_peak.value_or(0)), SizeOf(least->peak),
                     least->rank);
}

std::string StructureText(const RanksAnswer& answer) {
  const RankStructure& structure = answer.structure;
  const std::string classes = fmt::format("{} classes", answer.classes.size());
  switch (structure.kind) {
    case RankPatternKind::kAlike:
      return CountRead(answer) > 1 && !answer.classes.empty()
                 ? std::any_of(answer.ranks.begin(), answer.ranks.end(),
                               [](const RankFacts& rank) { return rank.outlier != 0; })
                       ? "all other ranks are alike"
                       : "all ranks are alike"
                 : "";
    case RankPatternKind::kPipelineStages:
      return fmt::format("{} in blocks of {}: looks like {} pipeline stages", classes,
                         structure.block, structure.stages);
    case RankPatternKind::kRepeatedStages:
      return fmt::format("{} in blocks of {}, again every {} ranks: looks like {} pipeline stages",
                         classes, structure.block, structure.period, structure.stages);
    case RankPatternKind::kFirstOfNode:
      return fmt::format("{}: the first of every {} ranks differs, as the first of a node does",
                         classes, structure.period);
    case RankPatternKind::kEverySecond:
      return structure.block == 1
                 ? classes + ", in turn"
                 : fmt::format("{}, in turn for {} ranks each", classes, structure.block);
    case RankPatternKind::kEnds:
      return classes + ": the first rank, the last, and those between: looks like pipeline stages";
    case RankPatternKind::kHalves:
      return classes +
             ", of which one holds half of the other, row by row: looks like tensor-parallel parts";
    case RankPatternKind::kNone:
      break;
  }
  return classes + " in no regular order";
}

void AddOutliers(const RanksAnswer& answer, std::vector<std::string>& lines) {
  constexpr std::size_t kMax = 10;
  std::size_t count = 0;
  for (const RankFacts& rank : answer.ranks) {
    if (rank.outlier == 0 || ++count > kMax) {
      continue;
    }
    lines.push_back(fmt::format("OUTLIER rank {}: {} {} its class: {}", rank.rank,
                                SizeOf(Magnitude(rank.outlier)),
                                rank.outlier > 0 ? "above" : "below", CausesText(rank.because)));
  }
  if (count > kMax) {
    lines.push_back(fmt::format("and {} more outliers; --all lists every rank", count - kMax));
  }
}

std::string OomText(const FirstOom& oom, std::size_t ranks) {
  std::string text =
      fmt::format("OUT OF MEMORY {}on rank {}", oom.time != kNoTime ? "first " : "", oom.rank);
  if (oom.time != kNoTime) {
    text += " at " + ClockText(oom.time);
  }
  if (oom.requested_bytes) {
    text += fmt::format(": {} asked{}", SizeOf(*oom.requested_bytes),
                        oom.free ? fmt::format(", {} free", SizeOf(*oom.free)) : "");
  }
  if (!oom.with.empty()) {
    text +=
        fmt::format("; rank{} {} at the same time", PluralS(oom.with.size()), RangesText(oom.with));
  } else if (oom.before_next && oom.next_rank) {
    text += fmt::format("; {} before rank {}", TimeSpanText(*oom.before_next), *oom.next_rank);
  }
  if (oom.failed > 1) {
    text += fmt::format("; {} of {} ranks failed", oom.failed, ranks);
  }
  if (oom.reported > 0) {
    text += fmt::format("; the others had {} reserved then (median), {} at most",
                        SizeOf(*oom.others_median), SizeOf(*oom.others_most));
  }
  return text;
}

std::string MissingText(const RankSet& set) {
  return fmt::format(
      "{} of {} ranks; missing {}{}", set.ranks.size(), set.expected, RangesText(set.missing),
      set.missing_count > static_cast<std::int64_t>(set.missing.size()) ? ", …" : "");
}

std::string TroubleText(const RankTrouble& trouble, bool several = false) {
  switch (trouble.code) {
    case RankProblem::kUnreadable:
      return "cannot be read: " + trouble.text;
    case RankProblem::kTwice:
      return fmt::format("{} told by another file too: {}", several ? "are" : "is", trouble.text);
    case RankProblem::kSameBytes:
      return fmt::format("{} the very bytes of rank {}: copied, or written over",
                         several ? "have" : "has", trouble.other);
    case RankProblem::kWrongDevice:
      return fmt::format("{} on device {}, where device {} is expected", several ? "are" : "is",
                         trouble.device, trouble.other);
    case RankProblem::kTwoDevices:
      return fmt::format("also {} {} on device {}: a second context?", several ? "hold" : "holds",
                         SizeOf(trouble.other), trouble.device);
    case RankProblem::kConflict:
      return fmt::format("{} one thing in the file and another in the path: {}",
                         several ? "are" : "is", trouble.text);
    case RankProblem::kNone:
      break;
  }
  return {};
}

// One line for all ranks with the same trouble.
void AddTroubles(const RanksAnswer& answer, std::vector<std::string>& lines) {
  std::vector<std::pair<const RankTrouble*, std::vector<std::int64_t>>> troubles;
  std::map<std::string, std::size_t> rows;
  for (const RankFacts& rank : answer.ranks) {
    for (const RankTrouble& trouble : rank.troubles) {
      const auto [row, added] = rows.try_emplace(TroubleText(trouble), troubles.size());
      if (added) {
        troubles.push_back({&trouble, {}});
      }
      troubles[row->second].second.push_back(rank.rank);
    }
  }
  constexpr std::size_t kMax = 10;
  for (std::size_t i = 0; i < std::min(troubles.size(), kMax); ++i) {
    const auto& [trouble, ranks] = troubles[i];
    lines.push_back(fmt::format("rank{} {} {}", PluralS(ranks.size()), RangesText(ranks),
                                TroubleText(*trouble, ranks.size() > 1)));
  }
  if (troubles.size() > kMax) {
    lines.push_back(
        fmt::format("and {} more problems; --all lists every rank", troubles.size() - kMax));
  }
}

// How many ranks a node has, for the columns of a strip.
std::size_t PerNode(const RanksAnswer& answer) {
  std::int64_t most = 0;
  for (const RankFacts& rank : answer.ranks) {
    most = std::max(most, rank.local_rank.value_or(-1) + 1);
  }
  return most > 1 && most <= 64 ? static_cast<std::size_t>(most) : 8;
}

std::string OtherText(const OtherRanks& other) {
  const RankSetKey& key = other.key;
  std::vector<std::string> parts;
  if (!key.job.empty()) {
    parts.push_back(key.job);
  }
  if (key.attempt) {
    parts.push_back(fmt::format("attempt {}", *key.attempt));
  }
  if (key.step) {
    parts.push_back(fmt::format("step {}{}", *key.step, key.at_oom ? " (out of memory)" : ""));
  } else if (key.at_oom) {
    parts.emplace_back("out of memory");
  }
  if (!key.role.empty()) {
    parts.push_back(key.role);
  }
  return fmt::format("{}{}{}", fmt::join(parts, ", "), parts.empty() ? "" : ": ",
                     Counted(other.files, "file"));
}

std::string HostText(const RankFacts& rank) {
  return rank.host.empty() && rank.node ? fmt::format("node {}", *rank.node) : rank.host;
}

std::string WhatText(const RankFacts& rank) {
  std::string text =
      rank.oom ? "out of memory: " + SizeOf(rank.oom->requested_bytes) + " asked" : "";
  const auto add = [&](const std::string& more) {
    text += (text.empty() || more.empty() ? "" : "; ") + more;
  };
  for (const RankTrouble& trouble : rank.troubles) {
    add(TroubleText(trouble));
  }
  add(CausesText(rank.because));
  return text;
}

}  // namespace

std::string RangesText(const std::vector<std::int64_t>& numbers) {
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) {
      ++end;
    }
    if (++shown > kShownRanges) {
      return text + ",…";
    }
    text += text.empty() ? "" : ",";
    text += end == i       ? fmt::format("{}", numbers[i])
            : end == i + 1 ? fmt::format("{},{}", numbers[i], numbers[end])
                           : fmt::format("{}-{}", numbers[i], numbers[end]);
    i = end + 1;
  }
  return text;
}

std::vector<std::string> RanksHead(const RanksAnswer& answer) {
  std::vector<std::string> lines{WhoText(answer) + " · " + PeaksText(answer)};
  if (const std::string pattern = StructureText(answer); !pattern.empty()) {
    lines.push_back(pattern);
  }
  AddOutliers(answer, lines);
  if (answer.first_oom) {
    lines.push_back(OomText(*answer.first_oom, answer.ranks.size()));
  }
  if (answer.set.missing_count > 0) {
    lines.push_back(MissingText(answer.set));
  }
  AddTroubles(answer, lines);
  lines.emplace_back(HowText(answer));
  return lines;
}

std::vector<std::string> RanksStrip(const RanksAnswer& answer, std::size_t width) {
  constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t kMaxCells = 4096;
  const auto world = static_cast<std::size_t>(std::max<std::int64_t>(answer.set.expected, 0));
  if (answer.ranks.size() < 2 || world > kMaxCells) {
    return {};
  }
  std::int64_t least = INT64_MAX;
  std::int64_t most = INT64_MIN;
  std::vector<std::string_view> cells(world, "·");
  for (const RankFacts& rank : answer.ranks) {
    if (rank.read) {
      least = std::min(least, rank.peak);
      most = std::max(most, rank.peak);
    }
  }
  for (const RankFacts& rank : answer.ranks) {
    const double span = Ratio(SaturatingSubtract(most, least), 1);
    const double share = span > 0 ? Ratio(SaturatingSubtract(rank.peak, least), 1) / span : 0.5;
    cells[static_cast<std::size_t>(rank.rank)] =
        rank.read ? kBlocks[std::min<std::size_t>(static_cast<std::size_t>(share * 8), 7)] : "×";
  }
  const std::size_t per_node = PerNode(answer);
  const std::size_t label = fmt::to_string(world).size() + 2;
  std::size_t nodes = std::max<std::size_t>((width - std::min(width, label)) / (per_node + 1), 1);
  nodes = std::size_t{1} << static_cast<unsigned>(std::log2(static_cast<double>(nodes)));
  std::vector<std::string> lines;
  for (std::size_t first = 0; first < world; first += nodes * per_node) {
    std::string line = fmt::format("{:>{}} ", first, label - 1);
    for (std::size_t i = first; i < std::min(world, first + nodes * per_node); ++i) {
      line += i > first && (i - first) % per_node == 0 ? " " : "";
      line += cells[i];
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> RanksFoot(const RanksAnswer& answer) {
  std::vector<std::string> lines;
  constexpr std::size_t kMax = 8;
  for (std::size_t i = 0; i < std::min(answer.others.size(), kMax); ++i) {
    lines.push_back("not shown: " + OtherText(answer.others[i]));
  }
  if (answer.others.size() > kMax) {
    lines.push_back(fmt::format("not shown: {} more sets", answer.others.size() - kMax));
  }
  for (std::size_t i = 0; i < std::min(answer.unranked.size(), kMax); ++i) {
    const UnrankedFile& file = answer.unranked[i];
    lines.push_back(file.path +
                    (file.problem.empty() ? " tells no rank" : " cannot be read: " + file.problem));
  }
  if (answer.unranked.size() > kMax) {
    lines.push_back(
        fmt::format("and {} more files that tell no rank", answer.unranked.size() - kMax));
  }
  return lines;
}

void TabulateClasses(const RanksAnswer& answer, TextTable& table) {
  const bool alike = std::all_of(answer.classes.begin(), answer.classes.end(),
                                 [](const RankClassFacts& one) { return one.least == one.most; });
  table.columns = {{.title = "CLASS", .left = true},
                   {.title = "RANKS", .left = true, .shrink = true},
                   {.title = alike ? "PEAK" : "MEDIAN PEAK"},
                   {.title = "RESERVED", .drop = 2},
                   {.title = "COUNT", .drop = 3},
                   {.title = "DIFFERS BY", .left = true, .drop = 1, .wrap = true}};
  table.measure = 2;
  for (std::size_t i = 0; i < answer.classes.size(); ++i) {
    const RankClassFacts& one = answer.classes[i];
    table.rows.push_back({fmt::to_string(i + 1), RangesText(one.ranks), Amount{one.peak},
                          one.reserved_peak > 0 ? Cell(Amount{one.reserved_peak}) : Cell(),
                          static_cast<std::int64_t>(one.ranks.size()), CausesText(one.differs)});
    table.row_inks.push_back(Ink::kNone);
    for (const RankFacts& rank : answer.ranks) {
      if (rank.in_class == i && rank.outlier != 0) {
        table.rows.push_back({"outlier", fmt::to_string(rank.rank), Amount{rank.peak},
                              rank.reserved_peak > 0 ? Cell(Amount{rank.reserved_peak}) : Cell(),
                              std::int64_t{1}, CausesText(rank.because)});
        table.row_inks.push_back(Ink::kGrew);
      }
    }
  }
}

void TabulateRanks(const RanksAnswer& answer, std::size_t limit, TextTable& table) {
  TableColumns<RankFacts> columns(RankFields(), true,
                                  {"rank", "host", "peak", "end", "reserved_peak", "headroom",
                                   "class", "outlier", "problem", "path"});
  columns["host"].get = HostText;
  columns["outlier"].get = [](const RankFacts& rank) {
    return rank.outlier != 0 ? Cell(Amount{rank.outlier, true, true}) : Cell();
  };
  columns["problem"].get = WhatText;
  Tabulate(answer.ranks, columns.all(), limit, 2, table);
}

}  // namespace memtool::commands
