#include "whatif/fit_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "output/tabulate.h"
#include "rows/rows.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

// "8", "0.5": an x as it was given.
std::string NumberText(double x) {
  return fmt::format("{:g}", x);
}

// To two digits: a prediction from afar has no more.
std::int64_t Rounded(std::int64_t x) {
  std::int64_t digit = 1;
  while (x / digit >= 100) {
    digit *= 10;
  }
  return x / digit * digit;
}

std::string MakeSetting(const std::string& setting) {
  return setting.empty() ? "PyTorch's defaults" : setting;
}

class FitWords {
 public:
  FitWords(const FitAnswer& answer, const FitNames& names) : answer_(answer), names_(names) {}

  [[nodiscard]] std::string RefusalText() const {
    return ReasonText() +
           (answer_.peaks_fall
                ? fmt::format("; peaks fall as {} rises: are the values of --x in the order of the "
                              "files?",
                              names_.parameter)
                : "");
  }

  [[nodiscard]] TextTable Table(std::size_t limit) const {
    TextTable table;
    Tabulate(answer_.rows, Columns().all(), 0, 2, table);
    table.blocks = {0};  // predictions are few: -n is for the rows below them
    Sentences said = Said();
    table.head = std::move(said.verdict);
    if (answer_.gate.accepted()) {
      AddLaws(limit, table.foot);
    }
    std::move(said.notes.begin(), said.notes.end(), std::back_inserter(table.foot));
    return table;
  }

  // Without the laws, which data has as rows.
  [[nodiscard]] Sentences Said() const {
    Sentences said{.verdict = {Verdict(), RecordingsText(), GateText()}, .notes = {}};
    if (!names_.card_note.empty()) {
      said.verdict.push_back(names_.card_note);
    }
    if (!answer_.gate.accepted()) {
      return said;
    }
    if (!answer_.scratch.empty()) {
      said.verdict.push_back(ScratchText());
    }
    AddRange(said.notes);
    said.notes.emplace_back(
        "predicted from the same code: another size may take other kernels or other branches, "
        "which no recording of these shows");
    if (answer_.began_late) {
      said.notes.emplace_back(
          "what was there before the recording is laid out anew: RESERVED PEAK is an estimate");
    }
    if (names_.x.size() < 3) {
      said.notes.emplace_back("a third recording would test the prediction");
    }
    return said;
  }

 private:
  // "batch 16".
  [[nodiscard]] std::string At(double x) const {
    return fmt::format("{} {}", names_.parameter, NumberText(x));
  }

  [[nodiscard]] std::string ReasonText() const {
    const whatif::FitGate& gate = answer_.gate;
    const std::string between = fmt::format("the recordings at {} and {}", At(answer_.gate_x),
                                            NumberText(answer_.gate_other_x));
    switch (gate.reason) {
      case whatif::FitGate::Reason::kStructure:
        return fmt::format(
            "{} are not of one program: {}{:.1f}% of {} allocations have a partner, {:.0f}% are "
            "needed",
            between, gate.exact ? "" : "at most ", 100 * gate.paired(),
            FormatCount(static_cast<std::int64_t>(gate.allocations)),
            100 * whatif::FitGate::kMinPaired);
      case whatif::FitGate::Reason::kOtherLaws:
        return fmt::format(
            "{} do not tell how sizes grow: {:.1f}% of the allocations are neither constant nor "
            "linear nor quadratic in {}, {:.1f}% are tolerated",
            between, 100 * gate.outside_share(), names_.parameter,
            100 * whatif::FitGate::kMaxOutside);
      default:
        return between + " have no allocations in common";
    }
  }

  // The sentence on top.
  [[nodiscard]] std::string Verdict() const {
    if (!answer_.gate.accepted()) {
      return "no prediction: " + RefusalText();
    }
    if (!answer_.largest.empty()) {
      const auto best = std::max_element(answer_.largest.begin(), answer_.largest.end(),
                                         [](const FitLargest& a, const FitLargest& b) {
                                           return a.x.value_or(0) < b.x.value_or(0);
                                         });
      const std::string with =
          answer_.largest.size() > 1 ? fmt::format(" with {}", MakeSetting(best->setting)) : "";
      if (!best->x) {
        return fmt::format("not even {} 1 fits in {}{}", names_.parameter,
                           FormatSize(*answer_.limit), with);
      }
      if (best->x_low) {
        return FarText(*best, with);
      }
      return fmt::format("{} {}{} fits in {}{}", names_.parameter, best->bounded ? "up to " : "",
                         FormatCount(*best->x), FormatSize(*answer_.limit), with) +
             (best->bounded ? "" : ", and more than that was not tried");
    }
    const FitRow& last = answer_.rows.back();
    return fmt::format("{} needs {} reserved, {} of it live", At(last.x),
                       FormatSize(last.reserved_peak), FormatSize(last.live_peak));
  }

  // "the most that fits in 22.83 GiB is about ctx 10,000 to 12,000, 20 to 24 times the largest
  // recorded".
  [[nodiscard]] std::string FarText(const FitLargest& best, const std::string& with) const {
    const double most = *std::max_element(names_.x.begin(), names_.x.end());
    const auto range = [](const std::string& low, const std::string& high) {
      return low == high ? high : low + " to " + high;
    };
    const std::int64_t low = Rounded(*best.x_low);
    const std::int64_t high = Rounded(*best.x);
    const auto times = [most](std::int64_t x) {
      return fmt::format("{:.0f}", static_cast<double>(x) / most);
    };
    return fmt::format("the most that fits in {}{} is about {} {}, {} times the largest recorded",
                       FormatSize(*answer_.limit), with, names_.parameter,
                       range(FormatCount(low), FormatCount(high)), range(times(low), times(high))) +
           (best.bounded ? "" : "; more than that was not tried");
  }

  // "softmax model.py (2 at n 150, 2 at n 200, 6.00 MiB at most), …".
  [[nodiscard]] std::string ScratchText() const {
    std::string text = "scratch without a partner, freed at once, is taken as recorded: ";
    for (std::size_t i = 0; i < answer_.scratch.size();) {
      const FitScratchRow& first = answer_.scratch[i];
      const std::string place = PlaceText(first.file, 0);
      text += fmt::format("{}{}{} (", i == 0 ? "" : ", ", NameText(first.name),
                          place.empty() ? "" : " " + place);
      std::int64_t largest = 0;
      for (; i < answer_.scratch.size() && answer_.scratch[i].name == first.name &&
             answer_.scratch[i].file == first.file;
           ++i) {
        const FitScratchRow& row = answer_.scratch[i];
        text +=
            fmt::format("{} at {}, ", FormatCount(static_cast<std::int64_t>(row.count)), At(row.x));
        largest = std::max(largest, row.largest);
      }
      text += FormatSize(largest) + " at most)";
    }
    return text;
  }

  // "recorded: batch 8 (a.pickle), 16 (b.pickle)".
  [[nodiscard]] std::string RecordingsText() const {
    std::string text = "recorded: " + names_.parameter;
    for (std::size_t i = 0; i < names_.x.size(); ++i) {
      text += fmt::format("{} {} ({})", i > 0 ? "," : "", NumberText(names_.x[i]), names_.files[i]);
    }
    return text;
  }

  [[nodiscard]] std::string GateText() const {
    const whatif::FitGate& gate = answer_.gate;
    if (!gate.accepted()) {
      return fmt::format("{} allocations",
                         FormatCount(static_cast<std::int64_t>(gate.allocations)));
    }
    const std::string laws =
        gate.outside == 0
            ? "each is constant, linear or quadratic in " + names_.parameter
            : fmt::format("{} are neither constant nor linear nor quadratic in {}",
                          FormatCount(static_cast<std::int64_t>(gate.outside)), names_.parameter);
    return fmt::format("one program: {} of {} allocations correspond, {}",
                       FormatCount(static_cast<std::int64_t>(gate.pairs)),
                       FormatCount(static_cast<std::int64_t>(gate.allocations)), laws);
  }

  // "what grows, at batch 64: 71.0% 4.00 GiB quadratic  softmax attention.py".
  void AddLaws(std::size_t limit, std::vector<std::string>& foot) const {
    foot.push_back(fmt::format(
        "live at the peak of {}, {}, by how it grows with {} ({} was scaled):", At(answer_.rows_at),
        FormatSize(answer_.rows_peak), names_.parameter, At(answer_.rows_from)));
    std::int64_t shown = 0;
    std::size_t count = 0;
    for (const FitLawRow& row : answer_.law_rows) {
      if (limit != 0 && count == limit) {
        break;
      }
      const std::string place = PlaceText(row.file, row.line);
      foot.push_back(fmt::format("  {:>6} {:>11}  {:<9}  {}{}",
                                 fmt::format("{:.1f}%", 100 * row.share), FormatSize(row.bytes),
                                 whatif::ToName(row.law), NameText(row.name),
                                 place.empty() ? "" : "  " + place));
      shown = SaturatingAdd(shown, row.bytes);
      ++count;
    }
    if (count < answer_.law_rows.size()) {
      foot.push_back(
          fmt::format("  … {} in {} more rows (-n 0 shows all)",
                      FormatSize(SaturatingSubtract(answer_.rows_peak, shown)),
                      FormatCount(static_cast<std::int64_t>(answer_.law_rows.size() - count))));
    }
  }

  // Why the most that fits is a range.
  void AddRange(std::vector<std::string>& foot) const {
    for (const FitLargest& one : answer_.largest) {
      if (one.x_low) {
        foot.push_back(
            fmt::format("{} {} leaves {:.0f}% of {} free: so far from the recordings, a prediction "
                        "may be off by as much",
                        names_.parameter, FormatCount(Rounded(*one.x_low)), 100 * one.doubt,
                        FormatSize(*answer_.limit)));
        return;
      }
    }
  }

  [[nodiscard]] TableColumns<FitRow> Columns() const {
    TableColumns<FitRow> columns(
        kFitFields, true,
        {"x", "live_peak", "reserved_peak", "recorded_reserved", "error", "passes", "setting"});
    columns["x"] = {{.title = names_.parameter, .key = "x"},
                    [](const FitRow& row) -> Cell { return NumberText(row.x); }};
    columns["error"].get = [](const FitRow& row) -> Cell {
      const auto error = row.error();
      return error ? Cell(Percent{.ratio = *error, .sign = true}) : Cell();
    };
    columns["passes"].get = [](const FitRow& row) -> Cell {
      return std::string(row.passes.value_or(false) ? "yes" : "no");
    };
    columns.KeepIf(answer_.limit.has_value(), "passes");
    columns["setting"].get = [](const FitRow& row) -> Cell { return MakeSetting(row.setting); };
    return columns;
  }

  const FitAnswer& answer_;
  const FitNames& names_;
};

}  // namespace

std::string FitRefusal(const FitAnswer& answer, const FitNames& names) {
  return FitWords(answer, names).RefusalText();
}

Sentences FitSentences(const FitAnswer& answer, const FitNames& names) {
  return FitWords(answer, names).Said();
}

TextTable FitTable(const FitAnswer& answer, const FitNames& names, std::size_t limit) {
  return FitWords(answer, names).Table(limit);
}

}  // namespace memtool::commands
