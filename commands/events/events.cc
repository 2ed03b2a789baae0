// memtool events: the events of a history, chosen by what they are.
#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>
#include <memory>

#include "base/command.h"
#include "events/events_story.h"
#include "events/events_summary.h"
#include "events/events_table.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/answerable.h"
#include "options/event_options.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "options/view_options.h"
#include "rows/rows.h"
#include "session/input_reader.h"
#include "words/refusals.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

class EventsCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE]",
            .examples =
                "memtool events --from peak -n 10 --stacks snapshot.pickle\n"
                "memtool events --size 1GiB: --action alloc snapshot.pickle\n"
                "memtool events --id b7f064c000000_0 --stacks snapshot.pickle\n"
                "memtool events --summary --by line snapshot.pickle\n"
                "memtool events --format csv snapshot.pickle > events.csv",
            .often = "summary largest from to size action"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options);
    po::options_description group("Events");
    auto add = group.add_options();
    chosen_.Declare(add);
    add("stacks", po::bool_switch(&stacks_), "the whole stack under each event");
    add("details", po::bool_switch(&details_),
        "also step, phase and layer of each allocation, its category and the word that decides it");
    add("largest", po::value(&largest_)->value_name("N"),
        "instead of all: the N largest allocations that live in the range, also from before it");
    add("summary", po::bool_switch(&summary_),
        "instead of events: what allocates how much, and how long it lives");
    add("short-lived", po::value(&short_text_)->value_name("WITHIN"),
        "what --summary calls short-lived: freed within so many events (default 100), or a time "
        "such as 5ms");
    options.add(group);
    view_.Declare(options,
                  {.help = "rows of --summary: function, filefunction (default), line, file, "
                           "module, stack, label:KEY, bucket or bucket:AXIS",
                   .rows = Rows::kAllocations,
                   .events = true});
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved : {input_.Resolve(), view_.Resolve(), output_.Resolve(input_.rows()),
                          chosen_.Resolve(input_.size_base()), ResolveSummary()}) {
      MEMTOOL_TRY(resolved);
    }
    if (auto code = view_.PrintInstead(streams)) {
      return *std::move(code);
    }
    return OnOneRecording(input_, streams, "events are those of one FILE",
                          [&](const InputReader& input_reader, const auto& recording) {
                            return Show(input_reader, recording, streams);
                          });
  }

 private:
  Result<void> ResolveSummary() {
    auto limit = ParseShortLived(short_text_.empty() ? "100" : short_text_);
    MEMTOOL_TRY(limit);
    short_ = *limit;
    if (summary_ && (stacks_ || details_ || chosen_.id() || chosen_.by_action() || largest_ > 0)) {
      return Fail(ErrorCode::kUsage,
                  "--summary counts allocations: --stacks, --details, --id, --action and "
                  "--largest do not go with it",
                  "--by stack shows stacks");
    }
    if (largest_ > 0 && (chosen_.id() || chosen_.by_action())) {
      return Fail(ErrorCode::kUsage,
                  "--largest lists allocations: --id and --action do not go with it");
    }
    if (!summary_ && !(short_text_.empty() && view_.by_text().empty())) {
      return Fail(ErrorCode::kUsage, "--by and --short-lived are for --summary");
    }
    return {};
  }

  Result<void> Show(const InputReader& input_reader, const std::shared_ptr<const Recording>& shared,
                    Streams& streams) {
    const Recording& recording = *shared;
    if (!CanAnswer(recording, "events")) {
      return Refuse(ErrorCode::kUnsupported, recording, "is one moment and has no events");
    }
    const auto kept = input_reader.IndexOf(shared);
    const HistoryIndex& index = *kept;
    const auto filter = chosen_.FilterFor(recording);
    MEMTOOL_TRY(filter);
    MEMTOOL_TRY(view_.ChooseKeywords(recording));
    const View view(recording, *view_.filter());
    return summary_ ? Summarize(input_reader, index, view, *filter, streams)
                    : List(input_reader, index, view, *filter, streams);
  }

  static void WarnOfUnmatched(const View& view, Streams& streams) {
    for (const std::string_view option : view.Unmatched()) {
      Warn(streams, fmt::format("--{} matched nothing", option));
    }
  }

  Result<void> Summarize(const InputReader& input_reader, const HistoryIndex& index,
                         const View& view, const EventFilter& filter, Streams& streams) const {
    const auto answer = ComputeChurn(index, view,
                                     {.name = input_reader.notes()[0].path,
                                      .range = chosen_.range().range(),
                                      .device = view_.device(),
                                      .filter = filter,
                                      .by = view_.by(),
                                      .limit = short_});
    MEMTOOL_TRY(answer);
    WarnOfUnmatched(view, streams);
    if (answer->total.allocations == 0) {
      Warn(streams, "no allocation matches");
    }
    return output_.Print(
        MakeView(*answer),
        [&] {
          TextTable table = ChurnTable(*answer, output_.limit());
          table.head.insert(table.head.begin(),
                            InputsText(input_reader) + " · " + chosen_.range().Text());
          if (const std::string filters = view_.Describe(); !filters.empty()) {
            table.head.push_back("filters: " + filters);
          }
          return table;
        },
        streams);
  }

  [[nodiscard]] EventDetails DetailsOf(const InputReader& input_reader,
                                       const HistoryIndex& index) const {
    if (!details_) {
      return {};
    }
    // Where no dictionary fits, allocations have no category.
    const auto keywords = keywords_.For(index.recording());
    return {.places = input_reader.PlacesOf(index), .keywords = keywords ? *keywords : nullptr};
  }

  // Without a limit rows are written as they are found; else they are made up to the limit, and the
  // rest is only counted. A header wants the count anyway.
  Result<void> List(const InputReader& input_reader, const HistoryIndex& index, const View& view,
                    const EventFilter& filter, Streams& streams) const {
    const auto answer = ListEvents(index, view,
                                   {.name = input_reader.notes()[0].path,
                                    .range = chosen_.range().range(),
                                    .device = view_.device(),
                                    .filter = filter,
                                    .stacks = stacks_,
                                    .details = DetailsOf(input_reader, index),
                                    .largest = largest_,
                                    .limit = output_.limit(),
                                    .count = output_.is_table()});
    MEMTOOL_TRY(answer);
    WarnOfUnmatched(view, streams);
    const auto& lines = input_reader.moment_lines();
    if (answer->count == 0U && !answer->story) {
      Warn(streams, lines.empty() ? "no event matches" : lines.front());
    }
    return output_.Print(
        MakeView(*answer),
        [&] {
          TextTable table = EventsTable(*answer, largest_ > 0 ? largest_ : output_.limit());
          const auto count = static_cast<std::int64_t>(*answer->count);
          table.head = {largest_ > 0
                            ? fmt::format("{} · the largest of {} allocation{} that live from {}",
                                          InputsText(input_reader), FormatCount(count),
                                          PluralS(count), chosen_.range().Text())
                            : fmt::format("{} · {} event{}, {}", InputsText(input_reader),
                                          FormatCount(count), PluralS(count),
                                          chosen_.range().Text())};
          table.head.insert(table.head.end(), lines.begin(), lines.end());
          if (answer->story) {
            table.head.push_back(StoryText(*answer->story, answer->zero));
          }
          return table;
        },
        streams);
  }

  InputOptions input_;
  ViewOptions view_;
  OutputOptions output_;
  EventOptions chosen_;
  bool stacks_ = false;
  bool details_ = false;
  mutable KeywordsOption keywords_;  // of --details; an input chooses the dictionary
  bool summary_ = false;
  std::size_t largest_ = 0;  // 0 = all events
  std::string short_text_;
  ShortLived short_;
};

}  // namespace

std::unique_ptr<Command> MakeEvents() {
  return std::make_unique<EventsCommand>();
}

}  // namespace memtool::commands
