// memtool tags: bytes per label value.
#include "memtool/profile/analysis/tags.h"

#include <fmt/format.h>

#include "command.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "options/view_options.h"
#include "rows.h"
#include "session.h"

namespace memtool::commands {

namespace {

class TagsCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.summary = "bytes per label: device, kind, ...",
            .usage = "[options] [FILE...]",
            .examples =
                "memtool tags memory9.prof\n"
                "memtool tags --tagshow device --focus train memory9.prof"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options);
    view_.Declare(options, false);
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
    TagTable table;
    auto done = session.ForEach(*names, view_, [&](std::unique_ptr<Loaded> loaded) -> Result<void> {
      table.Add(loaded->AsInput());
      return {};
    });
    if (!done) {
      return Fail(std::move(done.error()));
    }
    session.Finish();
    const Report report = Describe(session, table);
    if (auto printed = output_.Print(report, streams); !printed) {
      return Fail(std::move(printed.error()));
    }
    return session.exit_code();
  }

 private:
  [[nodiscard]] Report Describe(const Session& session, const TagTable& table) const {
    Report report{.command = "tags"};
    session.Describe(report);
    report.columns = {{"bytes", "AMOUNT"},
                      {"", "OF TOTAL"},
                      {"count", "COUNT"},
                      {"key", "KEY", true},
                      {"value", "VALUE", true, true},
                      {"unknown", ""}};
    std::int64_t unknown = 0;
    for (const TagRow& row : table.Rows()) {
      const double share = static_cast<double>(row.bytes) / static_cast<double>(table.total());
      report.rows.push_back({MakeAmount(session, row.bytes), Percent{share}, row.count, row.key,
                             row.value, row.unknown});
      unknown = std::max(unknown, row.unknown);
    }
    report.totals = {{"total", table.total()}};
    report.head.push_back(fmt::format("{} · {} {}", InputsText(session), session.choice().name,
                                      AmountText(session, table.total())));
    const auto& moments = session.moment_lines();
    report.head.insert(report.head.end(), moments.begin(), moments.end());
    if (report.rows.empty()) {
      report.foot.emplace_back("no labels");
    }
    const auto notes = FootNotes(unknown, false);
    report.foot.insert(report.foot.end(), notes.begin(), notes.end());
    return report;
  }

  InputOptions input_;
  ViewOptions view_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> MakeTags() {
  return std::make_unique<TagsCommand>();
}

}  // namespace memtool::commands
