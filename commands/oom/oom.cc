// memtool oom: why an allocation failed, from a snapshot or from the message in a log.
#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>

#include "command.h"
#include "memtool/formats/oom_text.h"
#include "memtool/formats/open.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/growth/growth.h"
#include "memtool/profile/select/at_moment.h"
#include "oom/oom_case.h"
#include "oom/oom_log.h"
#include "oom/oom_overview.h"
#include "output/escape.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kHoldersInTable = 5;

struct Holder {
  std::string name;
  std::string where;  // name, place and via, for people
  std::string file;
  std::int64_t line = 0;
  std::int64_t bytes = 0;
};

Cell Optional(const std::optional<Quantity>& quantity) {
  return quantity ? Cell(quantity->bytes) : Cell(std::monostate{});
}

class OomCommand final : public RowsCommand {
 public:
  OomCommand() : RowsCommand(kByRows) {}

  [[nodiscard]] Doc doc() const override {
    return {.summary = "why memory ran out: from a snapshot, or from the message in a log",
            .usage = "[options] [FILE...]",
            .examples =
                "memtool oom train.log\n"
                "memtool oom snapshot.pickle\n"
                "memtool oom rank*.log\n"
                "python train.py 2>&1 | tee train.log | memtool oom"};
  }

 private:
  void DeclareMore(po::options_description& options) override {
    po::options_description group("Out of memory");
    group.add_options()(
        "message",
        po::value<std::int64_t>()->value_name("K")->notifier(
            [this](std::int64_t number) { message_ = number; }),
        "the message of a log, from 1; negative from the end (default: the last that gives "
        "figures)");
    options.add(group);
  }

  Result<Report> MakeReport(Session& session, const std::vector<std::string>& names) override {
    return names.size() == 1 ? Explain(session, names.front()) : Compare(session, names);
  }

  // --- several inputs ---

  Result<Report> Compare(Session& session, std::vector<std::string> names) const {
    if (view().has_moment() || message_) {
      return Fail(ErrorCode::kUsage, "--at and --message are of one input",
                  "several are compared by the last failure of each");
    }
    std::sort(names.begin(), names.end(), NaturalLess);
    std::vector<OomInput> inputs;
    for (const std::string& name : names) {
      auto input = Load(session, name);
      if (!input) {
        input.error().input = input.error().input.empty() ? name : input.error().input;
        if (session.LeavesOut(input.error())) {
          continue;
        }
        return Fail(std::move(input.error()));
      }
      inputs.push_back(*std::move(input));
    }
    Report report = OverviewOf(inputs);
    session.Describe(report);
    report.sample_type = "memory";
    report.unit = "bytes";
    return report;
  }

  [[nodiscard]] formats::OpenOptions RecordingsAndLogs() const {
    formats::OpenOptions options = input().load();
    options.wanted.oom_logs = true;
    return options;
  }

  Result<OomInput> Load(Session& session, const std::string& name) const {
    auto either = formats::Open(name, RecordingsAndLogs());
    MEMTOOL_TRY(either);
    OomInput made{.path = name == "-" ? "standard input" : name};
    if (either->kind() == formats::DocumentKind::kOomLog) {
      const formats::OomLog* log = &either->oom_log();
      session.Note({.path = made.path, .format = "oom-text"}, "text log");
      made.failures = static_cast<std::int64_t>(log->found);
      if (!log->messages.empty()) {
        auto number = ChooseMessage(*log, message_, view().device());
        MEMTOOL_TRY(number);
        const auto last = static_cast<std::int64_t>(log->found);
        made.found = CaseOf(*(log->messages.end() - 1 - (last - *number)));
      }
      return made;
    }
    auto loaded = AtFailure(session, name,
                            std::make_shared<const Recording>((*std::move(either)).recording()));
    MEMTOOL_TRY(loaded);
    made.found = CaseOf(*loaded, "");
    for (const MomentOfTrace& moment : loaded->moments()) {
      made.failures += static_cast<std::int64_t>(moment.summary.ooms.size());
    }
    return made;
  }

  // --- one ---

  Result<Report> Explain(Session& session, const std::string& name) {
    path_ = name;
    auto either = formats::Open(path_, RecordingsAndLogs());
    MEMTOOL_TRY(either);
    const bool is_log = either->kind() == formats::DocumentKind::kOomLog;
    const formats::OomLog* log = is_log ? &either->oom_log() : nullptr;
    if (log != nullptr && log->messages.empty() && name != "-") {
      // Of text that has no message: perhaps a reader knows it.
      if (auto recording = formats::OpenRecording(name, input().load())) {
        either = formats::Document(*std::move(recording));
        log = nullptr;
      }
    }
    auto report = log != nullptr ? FromLog(session, *log)
                                 : FromRecording(session, (*std::move(either)).recording());
    if (!report && report.error().input.empty()) {
      report.error().input = path_;
    }
    return report;
  }

  // --- logs ---

  Result<Report> FromLog(Session& session, const formats::OomLog& log) {
    if (view().has_moment()) {
      return Fail(ErrorCode::kUsage, "--at: a log has no moments", "--message K chooses a message");
    }
    if (view().selects() || !view().by_text().empty()) {
      return Fail(ErrorCode::kUsage,
                  "a log does not tell who allocated: --by and filters are for "
                  "snapshots");
    }
    const std::string size =
        fmt::format("{} lines, {}", FormatCount(static_cast<std::int64_t>(log.lines)),
                    FormatSize(static_cast<std::int64_t>(log.bytes)));
    ReportInput note{.path = path_ == "-" ? "standard input" : path_, .format = "oom-text"};
    if (log.messages.empty()) {
      session.Note(std::move(note), "text log");
      return Empty(session, "NO OUT-OF-MEMORY MESSAGE in " + session.notes().front().path + " (" +
                                size + ")");
    }
    const auto found = static_cast<std::int64_t>(log.found);
    const auto kept = static_cast<std::int64_t>(log.messages.size());
    auto chosen = ChooseMessage(log, message_, view().device());
    MEMTOOL_TRY(chosen);
    const std::int64_t number = *chosen;
    if (number < 1 || number > found) {
      return Fail(ErrorCode::kUsage, fmt::format("--message {}: the log has {} message{}",
                                                 *message_, found, found == 1 ? "" : "s"));
    }
    if (number <= found - kept) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--message {}: of {} messages the last {} can be shown", number,
                              FormatCount(found), FormatCount(kept)));
    }
    const formats::OomMessage& message =
        log.messages[static_cast<std::size_t>(number - 1 - (found - kept))];
    note.moment = fmt::format("line:{}", message.line);
    session.Note(std::move(note), "text log");
    const OomCase found_case = CaseOf(message);
    Report report = Describe(session, found_case, {});
    report.totals.emplace_back("messages", found);
    report.totals.emplace_back("message", number);
    report.totals.emplace_back("line", static_cast<std::int64_t>(message.line));
    report.totals.emplace_back("wording", formats::NameOf(message.wording));
    report.totals.emplace_back("complete", std::int64_t{message.complete ? 1 : 0});
    report.totals.emplace_back("rank", message.rank ? Cell(std::int64_t{*message.rank}) : Cell());
    report.totals.emplace_back("gpu", message.gpu ? Cell(std::int64_t{*message.gpu}) : Cell());
    std::string source =
        fmt::format("{} line {} · {}", session.notes().front().path,
                    FormatCount(static_cast<std::int64_t>(message.line)), DisplayOf(message));
    source += message.complete ? "" : " · the message is cut off";
    source += found > 1
                  ? fmt::format(" · message {} of {}", FormatCount(number), FormatCount(found))
                  : "";
    AddText(report, found_case, std::move(source));
    if (found > 1) {
      report.foot.push_back(OtherMessages(log, number));
    }
    return report;
  }

  // --- recordings ---

  // At its last failure, or at the moment that was asked for; else at its end.
  Result<Selection> AtFailure(Session& session, const std::string& name,
                              std::shared_ptr<const Recording> shared) const {
    const Recording& recording = *shared;
    if (!recording.history || !recording.state) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("a {} does not tell the allocator's state",
                              recording.metadata.format_display),
                  "PyTorch snapshots and logs with the message do: see memtool help recording");
    }
    MomentSpec moment = view().moment();
    std::string device = view().device();
    const bool at_oom = !view().has_moment() || moment.kind == MomentSpec::Kind::kOom;
    if (const auto last = LastOom(recording, device); last && at_oom) {
      device = device.empty() ? *last : device;
      moment = view().has_moment() ? moment : *ParseMoment("oom");
    }
    return session.SelectAt(name, std::move(shared), view(), moment, device);
  }

  Result<Report> FromRecording(Session& session, Recording recording) {
    auto loaded =
        AtFailure(session, path_, std::make_shared<const Recording>(std::move(recording)));
    MEMTOOL_TRY(loaded);
    return FromLoaded(session, *loaded);
  }

  Result<Report> FromLoaded(Session& session, const Selection& loaded) {
    const OomCase found = CaseOf(loaded, view().has_moment() ? view().moment().text : "");
    std::vector<Holder> holders = Holders(loaded, *found.state);
    Report report = Describe(session, found, std::move(holders));
    std::string source = InputsText(session);
    AddText(report, found, std::move(source));
    const auto& lines = session.moment_lines();
    report.foot.insert(report.foot.end(), lines.begin(), lines.end());
    if (const std::string others = OtherFailures(loaded); !others.empty()) {
      report.foot.push_back(others);
    }
    const OomState& state = *found.state;
    if (state.estimated > 0) {
      report.foot.push_back(
          fmt::format("{} of {} segments are estimated: a history tells requested sizes, block "
                      "sizes follow from the allocator's rules",
                      FormatCount(state.estimated), FormatCount(state.segments)));
    }
    for (const Diagnostic& diagnostic : report.diagnostics) {
      if (diagnostic.code == "cut") {
        report.foot.push_back(diagnostic.message);
      }
    }
    if (state.unplaced > 0) {
      report.foot.push_back(fmt::format(
          "{} of live blocks lie in no known segment: this history lacks segment events",
          FormatSize(state.unplaced)));
    }
    return report;
  }

  // Who holds what is live, most first; with the rounding, and what lies in no block, they sum to
  // live, pending and unplaced.
  std::vector<Holder> Holders(const Selection& loaded, const OomState& state) const {
    NodeSpace space;
    Tabulator table(view().by(), space);
    table.Add(InputOf(loaded));
    std::vector<Holder> holders;
    for (const Row& row : table.Rows(view().sort())) {
      if (row.value.flat == 0) {
        continue;
      }
      const bool frames = table.by().kind == By::Kind::kFrame;
      std::string where = frames ? NameText(row.name) : row.name;
      const std::string place = PlaceText(row.file, row.line);
      where += place.empty() ? "" : "  " + place;
      where += row.via.empty() ? "" : "  via " + NameText(row.via);
      holders.push_back({.name = row.name,
                         .where = std::move(where),
                         .file = row.file,
                         .line = row.line,
                         .bytes = row.value.flat});
    }
    const std::int64_t held =
        SaturatingAdd(SaturatingAdd(state.live, state.pending), state.unplaced);
    if (view().selects() || loaded.choice().name != "space") {
      return holders;
    }
    if (state.unlisted > 0) {
      holders.push_back(
          {.name = "(unlisted)",
           .where = "(no block: the file says more of its segments than of its blocks)",
           .file = {},
           .bytes = state.unlisted});
    }
    const std::int64_t rounding =
        SaturatingSubtract(SaturatingSubtract(held, table.total()), state.unlisted);
    if (rounding > 0) {
      holders.push_back({.name = "(rounding)",
                         .where = "(rounding: blocks are larger than what was asked for)",
                         .file = {},
                         .bytes = rounding});
    }
    return holders;
  }

  // --- the report ---

  static Report Empty(const Session& session, std::string head) {
    Report report{.command = "oom"};
    report.head = {std::move(head), "what a snapshot would tell: see memtool help recording"};
    session.Describe(report);
    report.sample_type = "memory";
    report.unit = "bytes";
    report.columns = Columns();
    report.totals = {{"total", std::int64_t{0}},
                     {"verdict", std::string("none")},
                     {"answer", report.head.front()},
                     {"sentences", RawJson{"[]"}},
                     {"messages", std::int64_t{0}}};
    return report;
  }

  static std::vector<Column> Columns() {
    return {{"kind", ""},      {"name", ""},
            {"bytes", "SIZE"}, {.key = "share", .title = "SHARE", .drop = 1},
            {"precision", ""}, {"file", ""},
            {"line", ""},      {.key = "", .title = "WHAT", .left = true, .shrink = true}};
  }

  Report Describe(const Session& session, const OomCase& found, std::vector<Holder> holders) const {
    Report report{.command = "oom"};
    session.Describe(report);
    report.sample_type = "memory";
    report.unit = "bytes";
    report.columns = Columns();
    report.measure = 0;  // rows divide others: no sum of what is cut
    const std::int64_t whole = found.ladder ? found.ladder->whole.bytes : 0;
    const std::vector<OomPart> parts = found.ladder ? found.ladder->parts : std::vector<OomPart>{};
    // Holders stand below what they hold.
    const auto held = std::find_if(parts.rbegin(), parts.rend(), [](const OomPart& part) {
                        return part.key == "live" || part.key == "pending";
                      }).base();
    const auto add_parts = [&](auto from, auto to) {
      std::for_each(from, to, [&](const OomPart& part) {
        AddRow(report, "part", part.key, part.bytes, whole, PartText(found, part));
        report.rows.back()[4] = part.precision;
      });
    };
    add_parts(parts.begin(), held);
    AddHolders(report, std::move(holders), whole);
    add_parts(held, parts.end());
    Totals(report, found, whole);
    return report;
  }

  static void AddRow(Report& report, std::string kind, std::string name, std::int64_t bytes,
                     std::int64_t whole, std::string text) {
    const double share = whole > 0 ? static_cast<double>(bytes) / static_cast<double>(whole) : 0.0;
    report.rows.push_back({std::move(kind), std::move(name), Amount{.value = bytes},
                           Percent{.ratio = share}, std::int64_t{0}, std::monostate{},
                           std::monostate{}, std::move(text)});
  }

  void AddHolders(Report& report, std::vector<Holder> holders, std::int64_t whole) const {
    const bool some = output().format() == Format::kTable && !input().rows() &&
                      holders.size() > kHoldersInTable + 1;
    std::int64_t rest = 0;
    for (std::size_t i = 0; i < holders.size(); ++i) {
      Holder& holder = holders[i];
      if (some && i >= kHoldersInTable) {
        rest = SaturatingAdd(rest, holder.bytes);
        continue;
      }
      AddRow(report, "holder", std::move(holder.name), holder.bytes, whole,
             "  held by " + holder.where);
      auto& row = report.rows.back();
      row[5] = holder.file.empty() ? Cell() : Cell(std::move(holder.file));
      row[6] = LineCell(holder.line);
    }
    if (some) {
      AddRow(report, "holder", "(others)", rest, whole,
             fmt::format("  held by {} others (-n 0 shows all)",
                         FormatCount(static_cast<std::int64_t>(holders.size() - kHoldersInTable))));
    }
  }

  void Totals(Report& report, const OomCase& found, std::int64_t whole) const {
    const OomVerdict& verdict = found.verdict;
    const OomFacts& facts = found.facts;
    const bool judged = verdict.why != OomWhy::kUnknown && found.failed;
    report.totals = {{"total", whole},
                     {"verdict", VerdictName(found)},
                     {"close", std::int64_t{verdict.close ? 1 : 0}},
                     {"asked", Optional(facts.asked)},
                     {"driver_free", Optional(facts.free)},
                     {"capacity", Optional(facts.capacity)},
                     {"limit", Optional(facts.limit)},
                     {"live", Optional(LiveOf(found))},
                     {"cached", Optional(facts.cached)},
                     {"short_of_driver", judged ? Cell(verdict.short_of_driver) : Cell()},
                     {"short_in_all", judged ? Cell(verdict.short_in_all) : Cell()},
                     {"fits_in_one_piece",
                      judged ? Cell(std::int64_t{verdict.short_in_all == 0 ? 1 : 0}) : Cell()}};
    if (found.state) {
      report.totals.emplace_back("reserved", found.state->reserved);
      report.totals.emplace_back("largest_free", found.state->largest_free);
      report.totals.emplace_back("usable_free", found.state->usable_free);
      report.totals.emplace_back("usable_largest", found.state->usable_largest);
      report.totals.emplace_back("estimated_segments", found.state->estimated);
    }
    report.totals.emplace_back("answer", Headline(found));
    report.totals.emplace_back("sentences", RawJson{Sentences(found)});
  }

  [[nodiscard]] std::string Sentences(const OomCase& found) const {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
    const auto put = [&json](std::string_view bytes) {
      const std::string text = ToUtf8(bytes);
      json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
    };
    json.StartArray();
    for (const auto& sentences : {Reasons(found), Advice(found, path_)}) {
      for (const OomSentence& sentence : sentences) {
        json.StartObject();
        put("kind");
        put(sentence.word);
        put("text");
        put(sentence.text);
        json.EndObject();
      }
    }
    json.EndArray();
    return {buffer.GetString(), buffer.GetSize()};
  }

  // The answer above the ladder, what to do below it.
  void AddText(Report& report, const OomCase& found, std::string source) const {
    const auto line = [](const OomSentence& sentence) {
      return fmt::format("{:<6}{}", sentence.word, sentence.text);
    };
    report.head.push_back(Headline(found));
    for (const OomSentence& sentence : Reasons(found)) {
      report.head.push_back(line(sentence));
    }
    report.head.push_back(std::move(source));
    if (const std::string filters = view().Describe(); !filters.empty()) {
      report.head.push_back("filters: " + filters);
    }
    if (found.ladder) {
      report.head.push_back(WholeText(found) + " =");
      if (!found.ladder->adds_up) {
        report.foot.emplace_back("the figures contradict each other by more than their rounding");
      }
      if (found.processes_contradict) {
        report.foot.emplace_back(
            "the processes that the message names hold more than the device has");
      }
      if (found.ladder->process_unusable) {
        report.foot.push_back(
            fmt::format("the driver's figure for this process, {}, is smaller than what PyTorch "
                        "holds: not used",
                        FormatSize(found.facts.process->bytes)));
      }
    }
    for (const OomSentence& sentence : Advice(found, path_)) {
      report.foot.push_back(line(sentence));
    }
  }

  std::optional<std::int64_t> message_;
  std::string path_;
};

}  // namespace

std::unique_ptr<Command> MakeOom() {
  return std::make_unique<OomCommand>();
}

}  // namespace memtool::commands
