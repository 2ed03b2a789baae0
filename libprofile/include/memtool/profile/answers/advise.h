// What to change in a program so that it fits: each change tried by editing the recorded requests
// and replaying them, with what it costs and how sure its figure is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/advise/edits.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/answers/whatif.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/replay/history_index.h"

namespace memtool {

// How much each kind of change that is tried is disliked unless told otherwise: {"checkpoint", 4};
// the least first.
std::vector<std::pair<std::string_view, double>> AdviseCosts();

struct AdviseQuery {
  std::optional<std::int64_t> limit{};  // bytes that the process may get; none: what the file shows
  std::optional<std::int64_t> card{};   // all of the card, for the answer
  double headroom = 0.03;               // of the limit, to stay free
  std::string device{};
  // By name of the change's kind ("checkpoint", "accumulate"): how much it is disliked.
  std::vector<std::pair<std::string, double>> costs{};
};

// Why a device has no advice, or less of it.
enum class AdviseObstacle : std::uint8_t {
  kNone,
  kNotReplayed,   // whatif::Obstacle says why
  kInexact,       // the model is too far from the recording
  kNoBackward,    // inference, or a recording that ends before it
  kNoLayers,      // no function whose calls repeat: compiled as a whole, or without Python stacks
  kCheckpointed,  // already
  kFailedEarly,   // out of memory before a step was complete
};
std::string_view ToName(AdviseObstacle obstacle);

// Bytes.
struct AdviseNeeds {
  std::int64_t reserved = 0;
  std::int64_t live = 0;
  // Of the step after the recorded one, where it needs more: state that the recorded one made.
  std::optional<std::int64_t> next_reserved{};
  std::optional<std::int64_t> next_live{};

  [[nodiscard]] std::int64_t highest() const { return next_reserved.value_or(reserved); }
};

// How a figure was obtained.
enum class Evidence : std::uint8_t {
  kExact,       // the recorded requests under other settings
  kMeasured,    // edited requests, compared with recordings of programs so changed
  kArithmetic,  // bytes are taken away and nothing is added that they would bring
};
std::string_view ToName(Evidence evidence);

struct AdviseRow {
  std::int32_t device = -1;
  std::string change;
  std::string_view kind;    // as in AdviseCosts()
  std::uint64_t calls = 0;  // of a checkpoint: how many it covers
  std::int64_t live_peak = 0;
  std::int64_t reserved_low = 0;
  std::int64_t reserved_high = 0;
  std::int64_t saves = 0;  // of what is reserved, at least
  double error = 0;        // of reserved_high, as compared with recordings
  Evidence evidence = Evidence::kMeasured;
  std::optional<bool> fits{};  // with headroom, and room beyond the error; none without a limit
  std::string function;        // of a checkpoint, as the next two
  std::string file;            // of the call
  std::int64_t line = 0;
  // What it costs, where that can be said.
  std::optional<double> computed_again{};        // share of the forward's bytes
  std::optional<std::int64_t> passes{};          // forward and backward, per step
  std::optional<std::int64_t> over_pcie{};       // bytes per step, each way
  std::optional<std::int64_t> on_other_ranks{};  // bytes of state; these send parameters each step
  bool changes_numerics = false;
  double cost = 0;  // the order among those that fit
};

struct AdviseSet {
  std::int32_t device = -1;
  std::vector<std::string> changes;
  std::int64_t live_peak = 0;
  std::int64_t reserved_low = 0;
  std::int64_t reserved_high = 0;
  double error = 0;
  double cost = 0;
};

// One trace.
struct AdviseDevice {
  std::int32_t device = -1;
  AdviseObstacle obstacle = AdviseObstacle::kNone;
  whatif::Fidelity fidelity;
  AdviseNeeds needs;
  std::optional<std::int64_t> limit{};
  bool fits_now = false;
  bool next_step_tried = false;  // changes were tried on the step after the recorded one
  bool names_operators = true;   // its stacks do: else autocast is not tried
  std::vector<AdviseSet> sets;   // that fit, the cheapest first
};

struct AdviseAnswer {
  AnswerHead head{.question = "advise"};
  std::vector<AdviseDevice> devices;
  std::vector<AdviseRow> rows;  // by device; those that fit first, by cost; then by what they save
  std::optional<std::int64_t> card{};
  double headroom = 0;
};

inline constexpr auto kAdviseFields = Fields<AdviseRow>({
    {"device", "DEV", Unit::kOrdinal, &AdviseRow::device, "the device"},
    {"change", "CHANGE", Unit::kText, &AdviseRow::change,
     "the change, as memtool whatif --change takes it", kFixed},
    {"calls", "CALLS", Unit::kCount, &AdviseRow::calls, "how many calls a checkpoint covers",
     kPlain, "natural"},
    {"live_peak", "LIVE", Unit::kBytes, &AdviseRow::live_peak, "the most that is in blocks",
     Drop(4), "natural"},
    {"reserved_low", "LOW", Unit::kBytes, &AdviseRow::reserved_low,
     "the most that the allocator holds, at least", kPlain, "natural"},
    {"reserved_high", "RESERVED", Unit::kBytes, &AdviseRow::reserved_high,
     "the most that the allocator holds", kPlain, "natural"},
    {"saves", "SAVES", Unit::kBytes, &AdviseRow::saves, "how much less that is than now", Drop(2),
     "integer"},
    {"error", "±", Unit::kRatio, &AdviseRow::error,
     "how far such figures were from recordings of changed programs"},
    {"evidence", "EVIDENCE", Unit::kText,
     [](const AdviseRow& row) { return Value(ToName(row.evidence)); },
     "exact, measured against such programs, or arithmetic only", Drop(3) | kFixed,
     R"("exact"|"measured"|"arithmetic")"},
    {"fits", "FITS", Unit::kText, [](const AdviseRow& row) { return Value(row.fits); },
     "whether it fits, with room beyond its error", kFixed, "boolean|null"},
    {"function", "", Unit::kText, &AdviseRow::function, "the function that is checkpointed"},
    {"file", "", Unit::kText, &AdviseRow::file, "the file of the call"},
    {"line", "", Unit::kOrdinal, &AdviseRow::line, "the line of the call"},
    {"cost", "COSTS", Unit::kNested,
     [](const AdviseRow& row) {
       return Value(Value::Object{{"computed_again", row.computed_again},
                                  {"passes", row.passes},
                                  {"over_pcie", row.over_pcie},
                                  {"on_other_ranks", row.on_other_ranks},
                                  {"changes_numerics", row.changes_numerics},
                                  {"rank", row.cost}});
     },
     "what it costs: the share of the forward that is computed again, passes per step, bytes over "
     "PCIe each way and step, state on other ranks, other numerics, and its rank among costs",
     Drop(1) | kWrap,
     "{computed_again: number|null, passes: integer|null, over_pcie: integer|null, on_other_ranks: "
     "integer|null, changes_numerics: boolean, rank: number}"},
});

// Errors: as Whatif().
Result<AdviseAnswer> Advise(const HistoryIndex& index, const AdviseQuery& query);

// One change under the recording's own settings, or those that are part of it.
struct TriedChange {
  advise::Edits edits;
  advise::Changed changed;  // without its programs
  std::int64_t live_peak = 0;
  std::int64_t reserved_low = 0;
  std::int64_t reserved_high = 0;
  whatif::Scenario scenario;  // of its higher peak
};
// `limit`: as in whatif::ScenarioQuery. Errors: those of Editor::Apply.
Result<TriedChange> Try(const advise::Editor& editor, const whatif::Requests& requests,
                        const whatif::AllocatorSettings& own, advise::Edits edits,
                        const whatif::ScenarioQuery& query);

std::vector<NamedValue> MakeFigures(const AdviseAnswer& answer);
AnswerView MakeView(const AdviseAnswer& answer);

}  // namespace memtool
