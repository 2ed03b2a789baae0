#include "oom/oom_overview.h"

#include <fmt/format.h>

#include <map>

#include "memtool/profile/base/sizes.h"

namespace memtool::commands {

namespace {

Cell Bytes(const std::optional<Quantity>& quantity) {
  return quantity ? Cell(Amount{.value = quantity->bytes}) : Cell();
}

template <class Number>
Cell Whole(const std::optional<Number>& number) {
  return number ? Cell(static_cast<std::int64_t>(*number)) : Cell();
}

std::vector<Cell> RowOf(const OomInput& input) {
  const OomCase none;
  const OomCase& found = input.found ? *input.found : none;
  const auto* message = found.message ? &*found.message : nullptr;
  const std::string verdict = VerdictName(found);
  const bool known = found.failed && found.verdict.why != OomWhy::kUnknown;
  return {input.path,
          found.where,
          Bytes(found.facts.asked),
          Bytes(found.facts.free),
          Bytes(LiveOf(found)),
          Bytes(found.facts.cached),
          known ? Cell(Amount{.value = found.verdict.short_in_all}) : Cell(),
          found.failed ? verdict + (found.verdict.close ? " (close)" : "") : std::string("–"),
          verdict,
          std::int64_t{found.verdict.close ? 1 : 0},
          input.failures,
          message != nullptr ? Whole(message->rank) : Cell(),
          message != nullptr ? Cell(static_cast<std::int64_t>(message->line)) : Cell(),
          input.found ? Cell(Headline(found)) : Cell()};
}

}  // namespace

Report OverviewOf(const std::vector<OomInput>& inputs) {
  Report report{.command = "oom-inputs"};
  report.sample_type = "memory";
  report.unit = "bytes";
  report.columns = {{.key = "input", .title = "INPUT", .left = true, .shrink = true},
                    {.key = "device", .title = "DEVICE", .left = true, .drop = 2},
                    {"asked", "ASKED"},
                    {"driver_free", "DRIVER FREE"},
                    {"live", "LIVE"},
                    {.key = "cached", .title = "CACHED", .drop = 1},
                    {"short_in_all", ""},
                    {.key = "", .title = "WHY", .left = true},
                    {"verdict", ""},
                    {"close", ""},
                    {"failures", ""},
                    {"rank", ""},
                    {"line", ""},
                    {"answer", ""}};
  report.measure = 2;
  std::map<std::string, std::size_t> verdicts;
  std::size_t failed = 0;
  for (const OomInput& input : inputs) {
    report.rows.push_back(RowOf(input));
    if (input.found && input.found->failed) {
      ++failed;
      ++verdicts[VerdictName(*input.found)];
    }
  }
  std::string head = fmt::format("{} of {} inputs ran out of memory",
                                 FormatCount(static_cast<std::int64_t>(failed)),
                                 FormatCount(static_cast<std::int64_t>(inputs.size())));
  for (const auto& [verdict, count] : verdicts) {
    head += fmt::format("{} {} {}", head.find(':') == std::string::npos ? ":" : ",",
                        FormatCount(static_cast<std::int64_t>(count)), verdict);
  }
  report.head = {std::move(head)};
  report.foot = {"memtool oom FILE explains one"};
  report.totals = {{"failed", static_cast<std::int64_t>(failed)}};
  return report;
}

}  // namespace memtool::commands
