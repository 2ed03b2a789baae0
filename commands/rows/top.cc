// memtool top: what holds the memory.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>

#include "command.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/rows/diff.h"
#include "memtool/profile/rows/saves.h"
#include "memtool/profile/select/at_moment.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

double Ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

class TopCommand final : public RowsCommand {
 public:
  TopCommand() : RowsCommand(kByRows) {}

  [[nodiscard]] Doc doc() const override {
    return {.summary = "what holds the memory",
            .usage = "[options] [FILE...]",
            .examples =
                "memtool top memory9.prof\n"
                "memtool top --by line --focus train memory9.prof\n"
                "memtool top --by label:device *.prof\n"
                "memtool top --frames all --cum -n 50 memory9.prof\n"
                "memtool top --format json -n 0 memory9.prof | jq '.rows[0]'"};
  }

 private:
  void DeclareMore(po::options_description& options) override {
    po::options_description group("Comparison");
    group.add_options()("diff-base", po::value(&bases_)->value_name("FILE"),
                        "subtract this input; rows show what is more (see also memtool diff)");
    options.add(group);
  }

  Result<Report> MakeReport(Session& session, const std::vector<std::string>& names) override {
    NodeSpace space;
    Tabulator table(view().by(), space);
    auto done = ForEachInput(session, names, [&](Selection loaded) {
      table.Add(InputOf(loaded));
      if (loaded.recording().history) {
        histories_.push_back(std::move(loaded));  // for what rows are worth at the peak
      }
    });
    MEMTOOL_TRY(done);
    return bases_.empty() ? Describe(session, table, space)
                          : DescribeAgainstBase(session, table, space);
  }

  // Subtracts the bases: flat and cum become differences, percentages are of the base.
  Result<Report> DescribeAgainstBase(Session& session, const Tabulator& table, NodeSpace& space) {
    Tabulator base(view().by(), space);
    const std::size_t news = session.notes().size();
    auto done = ForEachInput(session, bases_, [&](Selection loaded) { base.Add(InputOf(loaded)); });
    MEMTOOL_TRY(done);
    std::vector<DiffRow> differences =
        DiffRows(base.Rows(view().sort()), table.Rows(view().sort()), view().sort());
    std::vector<Row> rows;
    for (DiffRow& row : differences) {
      if (row.delta() != 0 || row.delta_cum() != 0) {
        rows.push_back({.name = std::move(row.name),
                        .file = std::move(row.file),
                        .line = row.line,
                        .via = std::move(row.via),
                        .value = {.flat = row.delta(), .cum = row.delta_cum()}});
      }
    }
    Report report = Fill(session, rows, table.by(), base.unfiltered(), true);
    const std::int64_t total = SaturatingSubtract(table.total(), base.total());
    report.totals = {{"total", total}, {"total_base", base.total()}};
    report.head.push_back(fmt::format("{} {} minus base {} {}: {}", session.notes()[0].path,
                                      AmountText(session, table.total()),
                                      session.notes()[news].path, AmountText(session, base.total()),
                                      AmountText(session, total, true)));
    return report;
  }

  // At the peak of a history: what the peak would be without each row, for the rows printed.
  std::vector<std::int64_t> PeakWithout(const std::vector<Row>& rows, NodeSpace& space) const {
    const bool at_peak = view().moment().kind == MomentSpec::Kind::kPeak;
    if (!at_peak || histories_.empty() || view().by().kind != By::Kind::kFrame ||
        histories_.front().view().has_label_frames()) {
      return {};
    }
    const std::size_t shown =
        output().limit() == 0 ? rows.size() : std::min(output().limit(), rows.size());
    std::vector<std::int64_t> peaks(shown, 0);
    for (const auto& loaded : histories_) {
      const auto without =
          PeakWithoutRows(*loaded.history(), loaded.view(), loaded.moments(),
                          std::span(rows).first(shown), view().by().granularity, space);
      for (std::size_t i = 0; i < shown; ++i) {
        peaks[i] = SaturatingAdd(peaks[i], without[i]);
      }
    }
    return peaks;
  }

  Result<Report> Describe(const Session& session, const Tabulator& table, NodeSpace& space) {
    const std::vector<Row> rows = table.Rows(view().sort());
    Report report = Fill(session, rows, table.by(), table.unfiltered(), false);
    AddSaves(session, PeakWithout(rows, space), report);
    report.totals = {{"total", table.total()},
                     {"total_unfiltered", table.unfiltered()},
                     {"total_abs", table.total_abs()},
                     {"unknown", table.unknown()}};
    std::string head =
        fmt::format("{} · {} {}", InputsText(session, table.by().kind == By::Kind::kInput),
                    session.choice().name, AmountText(session, table.total()));
    if (table.total() != table.unfiltered()) {
      head += fmt::format(" of {} ({:.1f}%)", AmountText(session, table.unfiltered()),
                          100.0 * Ratio(table.total(), table.unfiltered()));
    }
    report.head = Head(session, std::move(head));
    const auto notes = FootNotes(table.unknown(), table.saturated());
    report.foot.insert(report.foot.end(), notes.begin(), notes.end());
    return report;
  }

  void AddSaves(const Session& session, const std::vector<std::int64_t>& without,
                Report& report) const {
    std::int64_t peak = 0;
    for (const auto& loaded : histories_) {
      for (const MomentOfTrace& moment : loaded.moments()) {
        peak = SaturatingAdd(peak, moment.summary.peak_bytes);
      }
    }
    if (without.empty()) {
      return;
    }
    report.columns.insert(report.columns.begin() + 2, {{"peak_without", ""}, {"", "SAVES"}});
    for (std::size_t i = 0; i < report.rows.size(); ++i) {
      auto& row = report.rows[i];
      Cell without_cell;
      Cell saves_cell;
      if (i < without.size()) {
        without_cell = without[i];
        saves_cell = MakeAmount(session, SaturatingAdd(peak, -without[i]));
      }
      row.insert(row.begin() + 2, {without_cell, saves_cell});
    }
    report.foot.emplace_back("SAVES: how much the whole run's peak would fall without the row");
  }

  Report Fill(const Session& session, const std::vector<Row>& rows, const By& by,
              std::int64_t whole, bool sign) {
    const bool frames = by.kind == By::Kind::kFrame;
    Report report{.command = "top"};
    session.Describe(report);
    report.columns = {{"flat", "FLAT"},
                      {.key = "", .title = "FLAT%", .drop = 2},
                      {"cum", frames ? "CUM" : ""},
                      {.key = "", .title = frames ? "CUM%" : "", .drop = 3},
                      {"name", ""},
                      {"", "WHERE", true, true},
                      {"", "PLACE", true, true},
                      {"file", ""},
                      {"line", ""},
                      {"via", ""},
                      {"", "VIA", true, true},
                      {"unknown", ""},
                      {"unknown_cum", ""}};
    report.measure = 0;
    for (const Row& row : rows) {
      report.rows.push_back(
          {MakeAmount(session, row.value.flat, sign), Percent{Ratio(row.value.flat, whole), sign},
           MakeAmount(session, row.value.cum, sign), Percent{Ratio(row.value.cum, whole), sign},
           row.name, frames ? NameText(row.name) : row.name, PlaceText(row.file, row.line),
           row.file, LineCell(row.line), row.via, NameText(row.via), row.value.unknown,
           row.value.unknown_cum});
    }
    return report;
  }

  std::vector<std::string> bases_;
  std::vector<Selection> histories_;
};

}  // namespace

std::unique_ptr<Command> MakeTop() {
  return std::make_unique<TopCommand>();
}

}  // namespace memtool::commands
