#include "buckets/buckets_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "output/plot/charts.h"
#include "output/tabulate.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

constexpr unsigned kMaxBarWidth = 30;
constexpr unsigned kNarrowestBar = 8;
constexpr unsigned kColumnsBesideBars = 60;  // what the columns next to the bars need

// A bar takes half of what the figures leave, the names the other half.
double BarWidth(unsigned terminal) {
  const unsigned left = terminal > kColumnsBesideBars ? terminal - kColumnsBesideBars : 0;
  return terminal == 0 ? kMaxBarWidth : std::clamp(left / 2, kNarrowestBar, kMaxBarWidth);
}

// Eighths of a cell, so that small rows still differ.
std::string Bar(std::int64_t bytes, std::int64_t largest, double width, bool hollow) {
  constexpr std::string_view kFull = "█";
  constexpr std::string_view kHollow = "░";
  constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (bytes <= 0 || largest <= 0) {
    return {};
  }
  const auto eighths = static_cast<std::size_t>(std::lround(Ratio(bytes, largest) * width * 8));
  std::string bar;
  for (std::size_t i = 0; i < eighths / 8; ++i) {
    bar += hollow ? kHollow : kFull;
  }
  if (hollow) {
    return bar.empty() ? std::string(kHollow) : bar;
  }
  return bar + std::string(kParts[eighths % 8]);
}

// A bucket, or below it one of its entries or the sum of those not listed.
struct BucketLine {
  std::string axis;
  std::string name;
  std::int64_t bytes = 0;
  Cell count;
  std::string bar;
  Ink ink = Ink::kNone;  // of the bar
};

std::string EntryText(const BucketEntry& entry) {
  return entry.file.empty() ? entry.name.str()
                            : NameText(entry.name) + "  " + PlaceText(entry.file, entry.line);
}

void AddEntries(const BucketRow& row, std::vector<BucketLine>& lines) {
  for (const BucketEntry& entry : row.entries) {
    lines.push_back({.axis = {},
                     .name = "  " + EntryText(entry),
                     .bytes = entry.sum.bytes,
                     .count = entry.sum.count,
                     .bar = {}});
  }
  if (!row.entries.empty() && row.more_entries > 0) {
    const std::string more = FormatCount(static_cast<std::int64_t>(row.more_entries));
    lines.push_back({.axis = {},
                     .name = fmt::format("  … {} more", more),
                     .bytes = row.more_bytes,
                     .count = {},
                     .bar = {}});
  }
}

// What a whole bar stands for, per axis.
std::map<std::string_view, std::int64_t> FindLargest(const std::vector<BucketRow>& rows) {
  std::map<std::string_view, std::int64_t> largest;
  for (const BucketRow& row : rows) {
    std::int64_t& most = largest[row.axis];
    most = std::max(most, row.sum.bytes);
  }
  return largest;
}

Ink GetInk(const BucketRow& row, std::size_t number) {
  switch (row.kind) {
    case BucketRow::Kind::kUnmatched:
      return Ink::kRest;
    case BucketRow::Kind::kUntracked:
      return Ink::kBefore;
    case BucketRow::Kind::kCategory:
      break;
  }
  return SeriesInk(number);
}

// A line of the table is more than a row of the answer; their columns are the same.
std::vector<TableColumn<BucketLine>> Columns(const InputReader& input_reader,
                                             const BucketsAnswer& answer) {
  TableColumns<BucketRow> declared(kBucketFields, input_reader.is_bytes());
  declared["bar"].style.colored = true;
  std::vector<TableColumn<BucketLine>> columns{
      {declared["axis"].style, [](const BucketLine& line) { return line.axis; }},
      {declared["bucket"].style, [](const BucketLine& line) { return line.name; }},
      {declared["bytes"].style,
       [bytes = input_reader.is_bytes()](const BucketLine& line) {
         return Amount{line.bytes, bytes};
       }},
      {declared["share"].style,
       [whole = answer.whole](const BucketLine& line) {
         return Percent{Ratio(line.bytes, whole)};
       }},
      {declared["bar"].style, [](const BucketLine& line) { return line.bar; }},
      {declared["count"].style, [](const BucketLine& line) { return line.count; }}};
  columns.erase(columns.begin(), columns.begin() + (answer.axes.size() > 1 ? 0 : 1));
  return columns;
}

std::string OverText(const BucketsAnswer& answer) {
  switch (answer.over->reason) {
    case OverAccount::Reason::kInputs:
      return "several inputs are added up, but the expected sum may be of one";
    case OverAccount::Reason::kDevices:
      return fmt::format(
          "the input holds {} devices, but the expected sum may be of one (--device)",
          answer.devices);
    case OverAccount::Reason::kNeverFree:
      return "the log lists allocations and not what was freed since";
    case OverAccount::Reason::kElsewhere:
      break;
  }
  return "the expected sum may be of another moment (--at), process or device";
}

bool IsBuiltin(const BucketsAnswer& answer) {
  return answer.dictionary.starts_with("builtin:");
}

// Whether the answer depends on which category gets what several match. Built-in dictionaries order
// their categories to decide that.
bool IsAmbiguous(const BucketsAnswer& answer, const BucketsAxis& axis) {
  constexpr double kMatters = 0.01;
  return !IsBuiltin(answer) && answer.total != 0 &&
         Ratio(Magnitude(axis.ambiguous), Magnitude(answer.total)) > kMatters;
}

// What the categories of an axis leave over or share; `prefix` names it.
void AddAxisNotes(const InputReader& input_reader, const BucketsAnswer& answer,
                  const BucketsAxis& axis, const std::string& prefix,
                  std::vector<std::string>& foot) {
  if (axis.repeated != 0) {
    foot.push_back(fmt::format("{}{} counted more than once (--multi all)", prefix,
                               AmountText(input_reader, axis.repeated)));
  } else if (IsAmbiguous(answer, axis)) {
    foot.push_back(
        fmt::format("{}{} matches several categories; the first in the file has it (--explain "
                    "BUCKET shows which)",
                    prefix, AmountText(input_reader, axis.ambiguous)));
  }
  if (axis.lost == BucketsAxis::Lost::kUnnamed) {
    foot.push_back(
        fmt::format("{}{} has no name: MXNet's imperative calls (NDArray functions) are "
                    "tagged as unknown; its call-stack log says where they are made",
                    prefix, AmountText(input_reader, answer.unnamed)));
  } else if (axis.lost == BucketsAxis::Lost::kUnmatched) {
    foot.push_back(
        fmt::format("{}Others is {:.0f}%: no word matches it; --entries 5 lists what it "
                    "holds",
                    prefix, 100.0 * Ratio(axis.others, answer.total)));
  }
}

std::string_view SureText(BaseKinds::Confidence confidence) {
  return confidence == BaseKinds::Confidence::kHigh ? "high confidence" : "medium confidence";
}

// What of the blocks from before the recording is parameters.
std::string ParametersText(const BaseKinds& kinds) {
  const std::string count = FormatCount(static_cast<std::int64_t>(kinds.matched));
  const std::string all = FormatCount(static_cast<std::int64_t>(kinds.gradients));
  switch (kinds.basis) {
    case BaseKinds::Basis::kAccumulated:
      return fmt::format(
          "{} of {} sizes match what backward adds to gradients: parameters, and as "
          "many gradients",
          count, all);
    case BaseKinds::Basis::kMultiples:
      return fmt::format(
          "backward makes and frees {} blocks of sizes that are there several times: "
          "parameters, and as many gradients",
          count);
    default:
      return fmt::format("{} of {} sizes match the gradients: parameters", count, all);
  }
}

std::string StatesText(const BaseKinds& kinds) {
  if (kinds.states == 0) {
    return kinds.other_copies == 0 ? std::string()
                                   : fmt::format("; {} more of each: unknown", kinds.other_copies);
  }
  const std::string by = kinds.optimizer_name.empty() ? "the optimizer" : kinds.optimizer_name;
  std::string text = kinds.replaced != 0
                         ? fmt::format("; {} that {} replaced",
                                       FormatCount(static_cast<std::int64_t>(kinds.replaced)), by)
                         : fmt::format("; {} more of each{}, as {} keeps", kinds.states,
                                       kinds.wide ? " of twice the size" : "",
                                       kinds.optimizer_name.empty() ? "Adam" : by);
  text += fmt::format(": optimizer state ({})", SureText(kinds.optimizer));
  return kinds.other_copies == 0
             ? text
             : text + fmt::format("; {} more of each: unknown", kinds.other_copies);
}

// Adds the lines of one axis; returns the categories that hold nothing, as a list in a sentence.
std::string AddAxis(const BucketsAnswer& answer, const BucketsAxis& axis, std::int64_t largest,
                    double bar_width, std::vector<BucketLine>& lines) {
  std::size_t number = 0;
  std::string empty;
  for (const BucketRow& row : answer.rows) {
    if (row.axis != axis.name) {
      continue;
    }
    if (row.is_empty()) {
      const bool named = row.kind == BucketRow::Kind::kCategory;
      empty += named ? (empty.empty() ? "" : ", ") + row.name : "";
      continue;
    }
    const bool hollow = row.kind == BucketRow::Kind::kUntracked;
    lines.push_back({.axis = row.axis,
                     .name = row.name,
                     .bytes = row.sum.bytes,
                     .count = hollow ? Cell() : Cell(row.sum.count),
                     .bar = Bar(row.sum.bytes, largest, bar_width, hollow),
                     .ink = GetInk(row, number)});
    number += row.kind == BucketRow::Kind::kCategory ? 1 : 0;
    AddEntries(row, lines);
  }
  return empty;
}

}  // namespace

void TabulateBuckets(const InputReader& input_reader, const BucketsAnswer& answer, unsigned width,
                     TextTable& table) {
  const auto largest = FindLargest(answer.rows);
  std::vector<BucketLine> lines;
  for (const BucketsAxis& axis : answer.axes) {
    table.blocks.push_back(lines.size());
    const auto most = largest.find(axis.name);
    const std::string empty =
        AddAxis(answer, axis, most == largest.end() ? 0 : most->second, BarWidth(width), lines);
    // A built-in dictionary knows of more than one program has.
    if (!empty.empty() && !IsBuiltin(answer)) {
      table.foot.push_back("nothing in " + empty);
    }
  }
  for (const BucketLine& line : lines) {
    table.row_inks.push_back(line.ink);
  }
  Tabulate(lines, Columns(input_reader, answer), 0, answer.axes.size() > 1 ? 2 : 1, table);
}

void AddBucketNotes(const InputReader& input_reader, const BucketsAnswer& answer,
                    TextTable& table) {
  if (answer.over) {
    table.foot.push_back(fmt::format("over-accounted by {}: {}",
                                     AmountText(input_reader, answer.over->bytes),
                                     OverText(answer)));
  } else if (answer.expected) {
    table.foot.emplace_back(
        "Untrackable: what the device has and this input does not: context, "
        "libraries, what allocators hold free, other allocators");
  }
  for (const BucketsAxis& axis : answer.axes) {
    const std::string prefix = answer.axes.size() > 1 ? axis.name + ": " : std::string();
    AddAxisNotes(input_reader, answer, axis, prefix, table.foot);
  }
}

void AddBaseNotes(const BucketsAnswer& answer, TextTable& table) {
  for (const BaseEvidence& base : answer.bases) {
    table.foot.push_back(fmt::format(
        "before the recording{}: {} ({}){}",
        answer.bases.size() > 1 ? fmt::format(", device {}", base.device) : "",
        ParametersText(base.kinds), SureText(base.kinds.parameters), StatesText(base.kinds)));
  }
}

void AddWordNotes(const BucketsAnswer& answer, TextTable& table) {
  for (const WordShare& word : answer.greedy_words) {
    table.foot.push_back(fmt::format("the word '{}' matches {:.1f}% of all bytes; is it meant to?",
                                     word.word, 100.0 * word.share));
  }
  std::string idle;
  for (const std::string& word : answer.idle_words) {
    idle += (idle.empty() ? "'" : ", '") + word + "'";
  }
  if (!idle.empty()) {
    table.foot.push_back("words that match nothing: " + idle);
  }
}

void TabulateExplanation(const InputReader& input_reader, const ExplainAnswer& answer,
                         std::size_t limit, TextTable& table) {
  TableColumns<Explanation> columns(kExplanationFields, input_reader.is_bytes());
  columns["matched"].get = [](const Explanation& row) { return NameText(row.matched); };
  columns["entry"].get = [](const Explanation& row) {
    return row.entry == row.matched ? std::string() : NameText(row.entry);
  };
  Tabulate(answer.rows, columns.all(), limit, 0, table);
}

}  // namespace memtool::commands
