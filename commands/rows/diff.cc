// memtool diff: what grew between a base and a new profile.
#include "memtool/profile/rows/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <cmath>
#include <optional>

#include "command.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/select/stack_sums.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "options/view_options.h"
#include "rows/rows.h"
#include "session/session.h"

namespace memtool::commands {

namespace {

using LoadedList = std::vector<Selection>;

// "5%" or "100MiB".
struct GrowthGate {
  std::optional<double> ratio;
  std::optional<std::int64_t> bytes;
};

Result<GrowthGate> ParseGate(const std::string& text, SizeBase base) {
  GrowthGate gate;
  if (text.empty()) {
    return gate;
  }
  if (text.back() == '%') {
    auto percent = ParseSize(std::string_view(text).substr(0, text.size() - 1));
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!percent || *end != '%') {
      return Fail(ErrorCode::kUsage, "--fail-on-growth: '" + text + "' is not a percentage",
                  "give 5% or 100MiB");
    }
    gate.ratio = value / 100.0;
    return gate;
  }
  auto bytes = ParseSize(text, base);
  if (!bytes) {
    return Fail(ErrorCode::kUsage, "--fail-on-growth: " + bytes.error().message,
                "give 5% or 100MiB");
  }
  gate.bytes = *bytes;
  return gate;
}

std::vector<Input> Inputs(const LoadedList& list) {
  std::vector<Input> inputs;
  for (const auto& loaded : list) {
    inputs.push_back(InputOf(loaded));
  }
  return inputs;
}

const char* StatusName(DiffStatus status) {
  switch (status) {
    case DiffStatus::kNew:
      return "new";
    case DiffStatus::kGone:
      return "gone";
    case DiffStatus::kChanged:
      return "changed";
    case DiffStatus::kUnchanged:
      return "unchanged";
  }
  return "";
}

double Growth(std::int64_t base, std::int64_t delta) {
  return base == 0 ? HUGE_VAL : static_cast<double>(delta) / std::abs(static_cast<double>(base));
}

class DiffCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.summary = "what grew between two profiles",
            .usage = "[options] BASE NEW...",
            .examples =
                "memtool diff memory1.prof memory9.prof\n"
                "memtool diff --by line --frames all memory1.prof memory9.prof\n"
                "memtool diff --by label:device old.prof new.prof\n"
                "memtool diff --base-at start --at peak snapshot.pickle\n"
                "memtool diff --fail-on-growth 5% base.prof new.prof"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options);
    view_.Declare(options, kByRows);
    po::options_description group("Comparison");
    auto add = group.add_options();
    add("diff-base", po::value(&bases_)->value_name("FILE"),
        "the base; every plain FILE is then new (repeat to merge bases)");
    view_.DeclareBase(group);
    add("normalize", po::bool_switch(&normalize_), "scale the new inputs to the base's total");
    add("fail-on-growth", po::value(&gate_text_)->value_name("AMOUNT"),
        "exit 1 when the total grew by more than AMOUNT: 5% or 100MiB");
    options.add(group);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved :
         {input_.Resolve(), view_.Resolve(), output_.Resolve(streams, input_.rows())}) {
      MEMTOOL_TRY(resolved);
    }
    auto gate = ParseGate(gate_text_, input_.size_base());
    MEMTOOL_TRY(gate);
    MEMTOOL_TRY(SplitSides());
    // All inputs in one go, so that they are read at the same time.
    std::vector<std::string> names = bases_;
    names.insert(names.end(), news_.begin(), news_.end());
    Session session(input_, streams);
    auto loaded = SelectAll(session, names, view_, bases_.size());
    MEMTOOL_TRY(loaded);
    if (loaded->size() != names.size()) {
      return Fail(ErrorCode::kIo, "a comparison needs both sides; an input was left out");
    }
    LoadedList& now = *loaded;
    LoadedList base;
    const auto middle = now.begin() + static_cast<std::ptrdiff_t>(bases_.size());
    std::move(now.begin(), middle, std::back_inserter(base));
    now.erase(now.begin(), middle);
    if (normalize_) {
      Normalize(base, now);
    }
    return Compare(session, base, now, *gate, streams);
  }

 private:
  // BASE NEW..., or --diff-base BASE NEW...
  Result<void> SplitSides() {
    news_ = input_.files();
    if (bases_.empty() && news_.size() == 1 && view_.has_base_moment()) {
      bases_ = news_;  // two moments of one file
      return {};
    }
    if (bases_.empty() && !news_.empty()) {
      bases_.push_back(news_.front());
      news_.erase(news_.begin());
    }
    if (news_.empty()) {
      return Fail(ErrorCode::kUsage, "a comparison needs two inputs",
                  "memtool diff memory1.prof memory9.prof, or two moments of one: "
                  "memtool diff --base-at start --at peak snapshot.pickle");
    }
    return {};
  }

  static void Normalize(const LoadedList& base, LoadedList& now) {
    std::int64_t base_total = 0;
    std::int64_t now_total = 0;
    for (const auto& loaded : base) {
      base_total = SaturatingAdd(base_total, loaded.sums().total);
    }
    for (const auto& loaded : now) {
      now_total = SaturatingAdd(now_total, loaded.sums().total);
    }
    if (now_total == 0) {
      return;
    }
    for (Selection& loaded : now) {
      loaded = loaded.ScaledBy(Ratio(base_total, now_total));
    }
  }

  Result<ExitCode> Compare(Session& session, const LoadedList& base, const LoadedList& now,
                           const GrowthGate& gate, Streams& streams) {
    NodeSpace space;
    Tabulator base_table(view_.by(), space);
    Tabulator now_table(view_.by(), space);
    const std::vector<Input> base_inputs = Inputs(base);
    const std::vector<Input> now_inputs = Inputs(now);
    for (const Input& input : base_inputs) {
      base_table.Add(input);
    }
    for (const Input& input : now_inputs) {
      now_table.Add(input);
    }
    std::vector<DiffRow> all =
        DiffRows(base_table.Rows(view_.sort()), now_table.Rows(view_.sort()), view_.sort());
    const bool by_cum = view_.sort() == SortBy::kCum;
    const auto moved = [by_cum](const DiffRow& row) {
      return row.delta() != 0 || (by_cum && row.delta_cum() != 0);
    };
    const auto split = std::stable_partition(all.begin(), all.end(), moved);
    const std::span<DiffRow> changed(all.begin(), split);
    const std::size_t shown =
        output_.limit() == 0 ? changed.size() : std::min(output_.limit(), changed.size());
    if (view_.by().kind == By::Kind::kFrame) {
      FillThrough(changed.first(shown), base_inputs, now_inputs, view_.by().granularity, space);
    }
    const std::int64_t delta = SaturatingSubtract(now_table.total(), base_table.total());
    Report report = Describe(session, changed, {split, all.end()}, base_table, now_table);
    session.Finish();
    MEMTOOL_TRY(output_.Print(report, streams));
    const bool hit = (gate.ratio && Growth(base_table.total(), delta) > *gate.ratio && delta > 0) ||
                     (gate.bytes && delta > *gate.bytes);
    if (hit) {
      Warn(streams, fmt::format("the total grew by {} ({:+.1f}%), more than --fail-on-growth {}",
                                AmountText(session, delta),
                                100.0 * Growth(base_table.total(), delta), gate_text_));
      return ExitCode::kGate;
    }
    return session.exit_code();
  }

  Report Describe(const Session& session, std::span<const DiffRow> changed,
                  std::span<const DiffRow> same, const Tabulator& base,
                  const Tabulator& now) const {
    const bool by_cum = view_.sort() == SortBy::kCum;
    Report report{.command = "diff"};
    session.Describe(report);
    report.row_unit = true;
    report.columns = {
        {"base", by_cum ? "" : "BASE"},
        {"new", by_cum ? "" : "NEW"},
        {"delta", by_cum ? "" : "DELTA"},
        {.key = "", .title = by_cum ? "" : "DELTA%", .drop = 2},
        {"base_cum", by_cum ? "BASE CUM" : ""},
        {"new_cum", by_cum ? "NEW CUM" : ""},
        {"delta_cum", by_cum ? "DELTA CUM" : ""},
        {"name", ""},
        {"", "WHERE", true, true},
        {"", "PLACE", true, true},
        {"file", ""},
        {"line", ""},
        {"via", ""},
        {"", "VIA", true, true},
        {"through", "THROUGH", true, true},
        {.key = "status", .title = "STATUS", .left = true, .shrink = true, .drop = 3}};
    report.measure = 2;
    for (const DiffRow& row : changed) {
      report.rows.push_back({MakeAmount(session, row.base.flat), MakeAmount(session, row.now.flat),
                             MakeAmount(session, row.delta(), true),
                             Percent{Growth(row.base.flat, row.delta()), true},
                             MakeAmount(session, row.base.cum), MakeAmount(session, row.now.cum),
                             MakeAmount(session, row.delta_cum(), true), row.name,
                             view_.by().kind == By::Kind::kFrame ? NameText(row.name) : row.name,
                             PlaceText(row.file, row.line), row.file, LineCell(row.line), row.via,
                             NameText(row.via), row.through, std::string(StatusName(row.status))});
    }
    const std::int64_t delta = SaturatingSubtract(now.total(), base.total());
    report.totals = {{"total", delta},
                     {"base_total", base.total()},
                     {"new_total", now.total()},
                     {"unknown_base", base.unknown()},
                     {"unknown_new", now.unknown()}};
    report.head = Head(session, changed, base, now);
    report.foot = Foot(session, same, changed);
    const auto notes = FootNotes(now.unknown(), base.saturated() || now.saturated());
    report.foot.insert(report.foot.end(), notes.begin(), notes.end());
    return report;
  }

  [[nodiscard]] std::vector<std::string> Head(const Session& session,
                                              std::span<const DiffRow> changed,
                                              const Tabulator& base, const Tabulator& now) const {
    const auto grew = std::count_if(changed.begin(), changed.end(),
                                    [](const DiffRow& row) { return row.delta() > 0; });
    const auto shrank = std::count_if(changed.begin(), changed.end(),
                                      [](const DiffRow& row) { return row.delta() < 0; });
    const auto side = [](const std::vector<std::string>& names) {
      return names.size() != 1 ? fmt::format("{} inputs", names.size())
             : names[0] == "-" ? std::string("standard input")
                               : names[0];
    };
    const std::int64_t delta = SaturatingSubtract(now.total(), base.total());
    const double growth = Growth(base.total(), delta);
    const std::string percent =
        std::isfinite(growth) ? fmt::format(" ({:+.1f}%)", 100 * growth) : "";
    std::vector<std::string> head{fmt::format(
        "base {} {} → new {} {}   {}{}   {} row{} grew, {} shrank", side(bases_),
        AmountText(session, base.total()), side(news_), AmountText(session, now.total()),
        AmountText(session, delta, true), percent, grew, grew == 1 ? "" : "s", shrank)};
    const auto& moments = session.moment_lines();
    head.insert(head.end(), moments.begin(), moments.end());
    std::string filters = view_.Describe();
    filters += normalize_ ? (filters.empty() ? "normalize" : " normalize") : "";
    if (!filters.empty()) {
      head.push_back("filters: " + filters);
    }
    return head;
  }

  // What stayed, so that a reader need not wonder: the largest row by name.
  [[nodiscard]] static std::vector<std::string> Foot(const Session& session,
                                                     std::span<const DiffRow> same,
                                                     std::span<const DiffRow> changed) {
    std::int64_t held = 0;
    std::size_t rows = 0;
    const DiffRow* largest = nullptr;
    for (const DiffRow& row : same) {
      if (row.now.flat == 0) {
        continue;
      }
      ++rows;
      held = SaturatingAdd(held, row.now.flat);
      if (largest == nullptr || Magnitude(row.now.flat) > Magnitude(largest->now.flat)) {
        largest = &row;
      }
    }
    const auto with = [&](DiffStatus status) {
      return std::count_if(changed.begin(), changed.end(),
                           [status](const DiffRow& row) { return row.status == status; });
    };
    std::string text = "unchanged: ";
    if (largest == nullptr) {
      text += "nothing";
    } else {
      const std::string place = PlaceText(largest->file, largest->line);
      text += fmt::format(
          "{} in {}{}{}{}", AmountText(session, held), largest->name,
          place.empty() ? "" : " " + place,
          largest->via.empty() ? "" : " via " + NameText(largest->via),
          rows > 1 ? fmt::format(" and {} other row{}", rows - 1, rows == 2 ? "" : "s") : "");
    }
    return {fmt::format("{} · new rows {} · gone rows {}", text, with(DiffStatus::kNew),
                        with(DiffStatus::kGone))};
  }

  InputOptions input_;
  ViewOptions view_;
  OutputOptions output_;
  std::vector<std::string> bases_;
  std::vector<std::string> news_;
  bool normalize_ = false;
  std::string gate_text_;
};

}  // namespace

std::unique_ptr<Command> MakeDiff() {
  return std::make_unique<DiffCommand>();
}

}  // namespace memtool::commands
