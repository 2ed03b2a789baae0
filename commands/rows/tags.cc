// memtool tags: bytes per label value.
#include "memtool/profile/rows/tags.h"

#include <fmt/format.h>

#include "command.h"
#include "memtool/profile/base/result.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

class TagsCommand final : public RowsCommand {
 public:
  TagsCommand() : RowsCommand(ByOption{}) {}

  [[nodiscard]] Doc doc() const override {
    return {.summary = "bytes per label: device, kind, ...",
            .usage = "[options] [FILE...]",
            .examples =
                "memtool tags memory9.prof\n"
                "memtool tags --tagshow device --focus train memory9.prof"};
  }

 private:
  Result<Report> MakeReport(Session& session, const std::vector<std::string>& names) override {
    TagTable table;
    auto done = ForEachInput(session, names, [&](Selection loaded) { table.Add(InputOf(loaded)); });
    MEMTOOL_TRY(done);
    return Describe(session, table);
  }

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
    report.head =
        Head(session, fmt::format("{} · {} {}", InputsText(session), session.choice().name,
                                  AmountText(session, table.total())));
    if (report.rows.empty()) {
      report.foot.emplace_back("no labels");
    }
    const auto notes = FootNotes(unknown, false);
    report.foot.insert(report.foot.end(), notes.begin(), notes.end());
    return report;
  }
};

}  // namespace

std::unique_ptr<Command> MakeTags() {
  return std::make_unique<TagsCommand>();
}

}  // namespace memtool::commands
