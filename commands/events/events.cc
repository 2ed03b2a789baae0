// memtool events: the events of a history, chosen by what they are.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <memory>

#include "command.h"
#include "events/events_rows.h"
#include "events/events_story.h"
#include "events/events_summary.h"
#include "options/event_options.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "options/view_options.h"
#include "rows/rows.h"
#include "session/session.h"

namespace memtool::commands {

namespace {

class EventsCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.summary = "the events of a history, and what allocates for a moment only",
            .usage = "[options] [FILE]",
            .examples =
                "memtool events --from peak -n 10 --stacks snapshot.pickle\n"
                "memtool events --size 1GiB: --action alloc snapshot.pickle\n"
                "memtool events --id b7f064c000000_0 --stacks snapshot.pickle\n"
                "memtool events --summary --by line snapshot.pickle\n"
                "memtool events --format csv snapshot.pickle > events.csv"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options);
    po::options_description group("Events");
    auto add = group.add_options();
    chosen_.Declare(add);
    add("stacks", po::bool_switch(&stacks_), "the whole stack under each event");
    add("summary", po::bool_switch(&summary_),
        "instead of events: who allocates how much, and how long it lives");
    add("short-lived", po::value(&short_text_)->value_name("WITHIN"),
        "what --summary calls short-lived: freed within so many events (default 100), or a time "
        "such as 5ms");
    options.add(group);
    view_.DeclareForEvents(options);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved :
         {input_.Resolve(), view_.Resolve(), output_.Resolve(streams, input_.rows()),
          chosen_.Resolve(input_.size_base()), ResolveSummary()}) {
      MEMTOOL_TRY(resolved);
    }
    return OnOneRecording(input_, streams, "events are those of one FILE",
                          [&](const Session& session, const auto& recording) {
                            return Show(session, recording, streams);
                          });
  }

 private:
  Result<void> ResolveSummary() {
    auto limit = ParseShortLived(short_text_.empty() ? "100" : short_text_);
    MEMTOOL_TRY(limit);
    short_ = *limit;
    if (summary_ && (stacks_ || chosen_.id() || chosen_.by_action())) {
      return Fail(ErrorCode::kUsage,
                  "--summary counts allocations: --stacks, --id and --action do not go with it",
                  "--by stack shows stacks");
    }
    if (!summary_ && !(short_text_.empty() && view_.by_text().empty())) {
      return Fail(ErrorCode::kUsage, "--by and --short-lived are for --summary");
    }
    return {};
  }

  Result<void> Show(const Session& session, const std::shared_ptr<const Recording>& shared,
                    Streams& streams) {
    const Recording& recording = *shared;
    if (!recording.history) {
      return Fail(ErrorCode::kUsage, fmt::format("a {} is one moment and has no events",
                                                 recording.metadata.format_display));
    }
    const HistoryIndex index(shared);
    auto ranges = EventsBetween(index, chosen_.range().range(), view_.device());
    auto filter = chosen_.FilterFor(recording);
    if (!ranges || !filter) {
      return Fail(std::move(!ranges ? ranges.error() : filter.error()));
    }
    if (auto keywords = view_.ChooseKeywords(recording); !keywords) {
      return keywords;
    }
    const View view(recording, *view_.filter());
    for (const std::string_view option : view.Unmatched()) {
      Warn(streams, fmt::format("--{} matched nothing", option));
    }
    return summary_ ? Summarize(session, index, view, *ranges, *filter, streams)
                    : List(session, view, *ranges, *filter, streams);
  }

  Result<void> Summarize(const Session& session, const HistoryIndex& index, const View& view,
                         const std::vector<EventRange>& ranges, const EventFilter& filter,
                         Streams& streams) const {
    auto groups = GroupAllocations(view, view_.by());
    MEMTOOL_TRY(groups);
    const ChurnSums sums = SumChurn(index, view, ranges, filter, *groups, short_);
    Report report = Begin(session, SummaryColumns());
    AddSummary(sums, *groups, short_, report);
    report.head.insert(report.head.begin(), InputsText(session) + " · " + chosen_.range().Text());
    if (const std::string filters = view_.Describe(); !filters.empty()) {
      report.head.push_back("filters: " + filters);
    }
    if (sums.total.allocations == 0) {
      Warn(streams, "no allocation matches");
    }
    return output_.Print(report, streams);
  }

  // Without a limit rows are written as they are found; else they are made up to the limit, and
  // what lies beyond is only counted.
  Result<void> List(const Session& session, const View& view, const std::vector<EventRange>& ranges,
                    const EventFilter& filter, Streams& streams) {
    EventNames names(view);
    const bool text = output_.format() == Format::kTable || output_.format() == Format::kMarkdown;
    EventRows rows(view, names, stacks_, text);
    Report report = Begin(session, rows.Columns());
    if (output_.limit() == 0) {
      report.further = [&]() -> NextCells {
        auto cursor = std::make_shared<EventCursor>(view, ranges, filter);
        return [cursor, &rows](std::vector<Cell>& row) {
          ListedEvent event;
          const bool found = cursor->Next(event);
          if (found) {
            rows.Make(event, row);
          }
          return found;
        };
      };
      if (!text) {
        return output_.Print(report, streams);
      }
    }
    std::size_t found = 0;
    std::vector<ListedEvent> about;  // of one block, for its story
    ListedEvent event;
    for (EventCursor cursor(view, ranges, filter); cursor.Next(event); ++found) {
      if (chosen_.id()) {
        about.push_back(event);
      }
      if (found < output_.limit()) {
        rows.Make(event, report.rows.emplace_back());
      } else if (output_.limit() > 0) {
        ++report.unmade_rows;
      }
    }
    const auto count = static_cast<std::int64_t>(found);
    report.head = {fmt::format("{} · {} event{}, {}", InputsText(session), FormatCount(count),
                               count == 1 ? "" : "s", chosen_.range().Text())};
    if (chosen_.id()) {
      report.head.push_back(StoryOf(view, names, rows, *chosen_.id(), about));
    } else if (count == 0) {
      Warn(streams, "no event matches");
    }
    return output_.Print(report, streams);
  }

  [[nodiscard]] Report Begin(const Session& session, std::vector<Column> columns) const {
    Report report{.command = "events"};
    session.Describe(report);
    report.sample_type = "space";
    report.unit = "bytes";
    report.inputs[0].moment = chosen_.range().Text();
    report.columns = std::move(columns);
    return report;
  }

  InputOptions input_;
  ViewOptions view_;
  OutputOptions output_;
  EventOptions chosen_;
  bool stacks_ = false;
  bool summary_ = false;
  std::string short_text_;
  ShortLived short_;
};

}  // namespace

std::unique_ptr<Command> MakeEvents() {
  return std::make_unique<EventsCommand>();
}

}  // namespace memtool::commands
