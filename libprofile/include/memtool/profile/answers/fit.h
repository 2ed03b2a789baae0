// Will it fit: what a program needs at another size x, from recordings of it at two or three, and
// which of its rows grow how. Recordings that are not of one program get a refusal, not a figure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/selection.h"
#include "memtool/profile/whatif/allocator_settings.h"
#include "memtool/profile/whatif/fit.h"

namespace memtool {

// Targets that are looked at when a card's largest x is wanted: up to this many times the largest
// recorded one.
inline constexpr double kMaxFactor = 1024;
// Beyond this many times the largest recorded one, the largest x is a range.
inline constexpr double kFarFactor = 2;

struct FitQuery {
  std::vector<double> x;  // of the inputs, in their order
  std::vector<double>
      at;  // to predict; none: the recorded ones, and twice and four times the largest
  std::vector<whatif::AllocatorSettings> settings;  // none: those of the recording that is scaled
  std::optional<std::int64_t> limit{};  // bytes that the process may get: also the largest x, whole
  By by{};                              // what rows are
};

// What the program needs at x under a setting. Bytes.
struct FitRow {
  double x = 0;
  std::int64_t live_peak = 0;  // requested
  std::int64_t reserved_peak = 0;
  std::string setting;  // as PYTORCH_CUDA_ALLOC_CONF says it; empty = PyTorch's defaults
  // Where x was recorded: the recording's own figures, of its own settings.
  std::optional<std::int64_t> recorded_live{};
  std::optional<std::int64_t> recorded_reserved{};
  // Of three or more recordings: this one was predicted from the others.
  bool tested = false;
  std::optional<bool> passes{};  // where there is a limit
  double from = 0;               // the recorded x that was scaled

  // Predicted less recorded, as a share of recorded; none where they cannot be compared.
  [[nodiscard]] std::optional<double> error() const {
    return tested && recorded_reserved.value_or(0) > 0
               ? std::optional(static_cast<double>(reserved_peak - *recorded_reserved) /
                               static_cast<double>(*recorded_reserved))
               : std::nullopt;
  }
};

// A row of the peak at `FitAnswer::rows_at`, by law.
struct FitLawRow {
  SharedText name;
  SharedText file;
  std::int64_t line = 0;  // 0 = none
  whatif::Law law = whatif::Law::kConstant;
  std::int64_t bytes = 0;
  double share = 0;           // of the peak
  std::int64_t recorded = 0;  // of the same allocations in the recording that was scaled
};

struct FitLargest {
  std::string setting;
  std::optional<std::int64_t> x;  // none: not even 1
  bool bounded = true;            // false: it passes at all that were tried
  // Far outside of what was recorded, x is the upper end of a range, and this the lower one.
  std::optional<std::int64_t> x_low{};
  double doubt = 0;  // the share of the limit that x_low leaves, since predictions may be off
};

// Scratch without a partner that was tolerated, by row and recording.
struct FitScratchRow {
  SharedText name;
  SharedText file;
  double x = 0;
  std::uint64_t count = 0;
  std::int64_t largest = 0;  // bytes of one
};

struct FitAnswer {
  AnswerHead head{.question = "fit"};
  whatif::FitGate gate;  // the worst over the pairs of inputs that are used
  double gate_x = 0;     // between which
  double gate_other_x = 0;
  std::int32_t device = -1;
  bool peaks_fall = false;  // from the recording with the smallest x to that with the largest
  bool began_late = false;  // something was there before a recording: its layout is a guess
  std::vector<FitScratchRow> scratch;  // by name, then x
  std::vector<FitRow> rows;            // by x, then setting; none where the gate refuses
  std::vector<FitLargest> largest;
  std::optional<std::int64_t> limit{};
  double rows_at = 0;  // of law_rows: the largest x that was asked for
  std::int64_t rows_peak = 0;
  double rows_from = 0;             // the recorded x whose requests were scaled
  std::vector<FitLawRow> law_rows;  // largest first
};

inline constexpr auto kFitFields = Fields<FitRow>({
    {"x", "X", Unit::kText, &FitRow::x, "the parameter", kPlain, "number"},
    {"live_peak", "LIVE PEAK", Unit::kBytes, &FitRow::live_peak, "the most that is in blocks",
     kPlain, "natural"},
    {"reserved_peak", "RESERVED PEAK", Unit::kBytes, &FitRow::reserved_peak,
     "the most that the allocator holds", kPlain, "natural"},
    {"setting", "SETTING", Unit::kText, &FitRow::setting, "the settings of the allocator"},
    {"recorded_live", "", Unit::kBytes, &FitRow::recorded_live,
     "LIVE PEAK of a recording with this parameter"},
    {"recorded_reserved", "RECORDED", Unit::kBytes, &FitRow::recorded_reserved,
     "RESERVED PEAK of such a recording", Drop(2)},
    {"error", "OFF BY", Unit::kRatio, [](const FitRow& row) { return Value(row.error()); },
     "RESERVED PEAK minus RECORDED, as a share of RECORDED", Drop(3), "number|null"},
    {"passes", "FITS", Unit::kText, [](const FitRow& row) { return Value(row.passes); },
     "whether it fits into the limit", kFixed, "boolean|null"},
    {"from", "", Unit::kText, &FitRow::from,
     "the parameter of the recording that it was worked out from", kPlain, "number"},
});

// Takes inputs one after the other, in the order of FitQuery::x, each above 0 and no two equal.
class FitMaker {
 public:
  explicit FitMaker(FitQuery query) : query_(std::move(query)) {}
  // Errors: kUnsupported for an input whose allocator cannot be replayed; kUsage for several
  // devices of which none was chosen; those of GroupAllocations for the names of rows.
  Result<void> Add(Selection selection);
  // Requires two inputs at least.
  Result<FitAnswer> Make() &&;

 private:
  std::vector<whatif::FitInput> inputs_;
  std::vector<Selection> selections_;
  FitQuery query_;
  FitAnswer answer_;
};

// The figures besides the rows: gate, laws, the largest x.
std::vector<NamedValue> MakeFigures(const FitAnswer& answer);
AnswerView MakeView(const FitAnswer& answer);

}  // namespace memtool
