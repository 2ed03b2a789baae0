// memtool top: what holds the memory.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>

#include "command.h"
#include "memtool/profile/analysis/diff.h"
#include "memtool/profile/analysis/saves.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "options/view_options.h"
#include "rows.h"
#include "session.h"

namespace memtool::commands {

namespace {

double Ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

class TopCommand final : public Command {
 public:
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

  void Declare(po::options_description& options) override {
    input_.Declare(options);
    view_.Declare(options, true);
    po::options_description group("Comparison");
    group.add_options()("diff-base", po::value(&bases_)->value_name("FILE"),
                        "subtract this input; rows show what is more (see also memtool diff)");
    options.add(group);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved :
         {input_.Resolve(), view_.Resolve(), output_.Resolve(streams, input_.rows())}) {
      if (!resolved) {
        return Fail(std::move(resolved.error()));
      }
    }
    auto names = input_.Names(streams);
    if (!names) {
      return Fail(std::move(names.error()));
    }
    Session session(input_, streams);
    NodeSpace space;
    Tabulator table(view_.by(), space);
    auto done = session.ForEach(*names, view_, [&](std::unique_ptr<Loaded> loaded) -> Result<void> {
      table.Add(loaded->AsInput());
      if (loaded->recording.history) {
        histories_.push_back(std::move(loaded));  // for what rows are worth at the peak
      }
      return {};
    });
    if (!done) {
      return Fail(std::move(done.error()));
    }
    auto report = bases_.empty() ? Describe(session, table, space)
                                 : DescribeAgainstBase(session, table, space);
    if (!report) {
      return Fail(std::move(report.error()));
    }
    session.Finish();
    if (auto printed = output_.Print(*report, streams); !printed) {
      return Fail(std::move(printed.error()));
    }
    return session.exit_code();
  }

 private:
  // Subtracts the bases: flat and cum become differences, percentages are of the base.
  Result<Report> DescribeAgainstBase(Session& session, const Tabulator& table, NodeSpace& space) {
    Tabulator base(view_.by(), space);
    const std::size_t news = session.notes().size();
    auto done = session.ForEach(bases_, view_, [&](std::unique_ptr<Loaded> loaded) -> Result<void> {
      base.Add(loaded->AsInput());
      return {};
    });
    if (!done) {
      return Fail(std::move(done.error()));
    }
    std::vector<DiffRow> differences =
        DiffRows(base.Rows(view_.sort()), table.Rows(view_.sort()), view_.sort());
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
    Report report = Fill(session, rows, base.unfiltered(), true);
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
    const bool at_peak = view_.moment().kind == MomentSpec::Kind::kPeak;
    if (!at_peak || histories_.empty() || view_.by().kind != By::Kind::kFrame ||
        histories_.front()->view->has_label_frames()) {
      return {};
    }
    const std::size_t shown =
        output_.limit() == 0 ? rows.size() : std::min(output_.limit(), rows.size());
    std::vector<std::int64_t> peaks(shown, 0);
    for (const auto& loaded : histories_) {
      const auto without =
          PeakWithoutRows(*loaded->view, loaded->moments, std::span(rows).first(shown),
                          view_.by().granularity, space);
      for (std::size_t i = 0; i < shown; ++i) {
        peaks[i] = SaturatingAdd(peaks[i], without[i]);
      }
    }
    return peaks;
  }

  Result<Report> Describe(const Session& session, const Tabulator& table, NodeSpace& space) {
    const std::vector<Row> rows = table.Rows(view_.sort());
    Report report = Fill(session, rows, table.unfiltered(), false);
    AddSaves(session, PeakWithout(rows, space), report);
    report.totals = {{"total", table.total()},
                     {"total_unfiltered", table.unfiltered()},
                     {"total_abs", table.total_abs()},
                     {"unknown", table.unknown()}};
    std::string head =
        fmt::format("{} · {} {}", InputsText(session, view_.by().kind == By::Kind::kInput),
                    session.choice().name, AmountText(session, table.total()));
    if (table.total() != table.unfiltered()) {
      head += fmt::format(" of {} ({:.1f}%)", AmountText(session, table.unfiltered()),
                          100.0 * Ratio(table.total(), table.unfiltered()));
    }
    report.head.push_back(std::move(head));
    const auto& moments = session.moment_lines();
    report.head.insert(report.head.end(), moments.begin(), moments.end());
    if (const std::string filters = view_.Describe(); !filters.empty()) {
      report.head.push_back("filters: " + filters);
    }
    const auto notes = FootNotes(table.unknown(), table.saturated());
    report.foot.insert(report.foot.end(), notes.begin(), notes.end());
    return report;
  }

  void AddSaves(const Session& session, const std::vector<std::int64_t>& without,
                Report& report) const {
    std::int64_t peak = 0;
    for (const auto& loaded : histories_) {
      for (const MomentOfTrace& moment : loaded->moments) {
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

  Report Fill(const Session& session, const std::vector<Row>& rows, std::int64_t whole, bool sign) {
    const bool frames = view_.by().kind == By::Kind::kFrame;
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

  InputOptions input_;
  ViewOptions view_;
  OutputOptions output_;
  std::vector<std::string> bases_;
  std::vector<std::unique_ptr<Loaded>> histories_;
};

}  // namespace

std::unique_ptr<Command> MakeTop() {
  return std::make_unique<TopCommand>();
}

}  // namespace memtool::commands
