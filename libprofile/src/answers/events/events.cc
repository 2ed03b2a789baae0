#include "memtool/profile/answers/events.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "answers/events/events_story.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/label_text.h"

namespace memtool {

namespace {

const Event& MakeEntry(const Recording& recording, const Trace& trace, std::int64_t number) {
  return recording.history
      ->events[static_cast<std::size_t>(trace.first_event + static_cast<std::uint64_t>(number))];
}

void PutLabels(const View& view, LabelSetId set, std::string& text) {
  text.clear();
  if (set.value() == 0) {
    return;
  }
  const Recording& recording = view.recording();
  for (const Label& label : recording.Labels(set)) {
    if (view.ShowsKey(label.key)) {
      text += (text.empty() ? "" : " ") + LabelText(recording, label);
    }
  }
}

// Holds the first rows and counts all; for a single block, also finds its story.
void Count(const EventsQuery& query, EventsAnswer& answer) {
  EventSource& source = *answer.source;
  std::optional<StoryBuilder> story_builder;
  if (query.filter.id) {
    story_builder.emplace(*query.filter.id, source.names());
  }
  std::uint64_t count = 0;
  EventCursor cursor = source.Events();
  for (ListedEvent event; cursor.Next(event); ++count) {
    if (story_builder) {
      story_builder->Add(event);
    }
    if (count < query.limit) {
      source.Make(event, answer.rows.emplace_back());
    }
  }
  answer.count = count;
  if (story_builder) {
    answer.story = story_builder->BuildStory(source.view().recording());
  }
}

// Of all allocations that are live within a range, the largest.
class Largest {
 public:
  Largest(std::size_t most, const std::vector<EventRange>& ranges) : most_(most) {
    for (const EventRange& range : ranges) {
      first_[range.trace] = range.first;
    }
  }

  void Add(const ListedEvent& event) {
    const std::int64_t first = first_[event.trace];
    if (event.event->action != Action::kAlloc ||
        (event.number < first && event.partner && *event.partner < first)) {
      return;
    }
    ++count_;
    if (kept_.size() == most_ && !Before(event, kept_.front())) {
      return;
    }
    kept_.push_back(event);
    std::push_heap(kept_.begin(), kept_.end(), Before);
    if (kept_.size() > most_) {
      std::pop_heap(kept_.begin(), kept_.end(), Before);
      kept_.pop_back();
    }
  }

  [[nodiscard]] std::vector<ListedEvent> Sorted() && {
    std::sort_heap(kept_.begin(), kept_.end(), Before);
    return std::move(kept_);
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  // The largest, and then the earliest, first.
  static bool Before(const ListedEvent& a, const ListedEvent& b) {
    return std::tuple(b.event->size, a.trace, a.number) <
           std::tuple(a.event->size, b.trace, b.number);
  }

  std::size_t most_;
  std::map<std::size_t, std::int64_t> first_;  // entry of each trace at which its range begins
  std::vector<ListedEvent> kept_;
  std::uint64_t count_ = 0;
};

void ListLargest(const EventsQuery& query, const HistoryIndex& index, const View& view,
                 std::vector<EventRange> ranges, EventsAnswer& answer) {
  Largest largest(query.largest, ranges);
  for (EventRange& range : ranges) {  // what was allocated before it may live in it
    range.first = 0;
  }
  EventCursor cursor(index, view, std::move(ranges), query.filter);
  for (ListedEvent event; cursor.Next(event);) {
    largest.Add(event);
  }
  answer.count = largest.count();
  for (const ListedEvent& event : std::move(largest).Sorted()) {
    answer.source->Make(event, answer.rows.emplace_back());
  }
}

}  // namespace

void EventSource::PutLife(const ListedEvent& listed, EventRow& row) const {
  const Recording& recording = view_.recording();
  const Trace& trace = recording.history->traces[listed.trace];
  const auto [from, to] = std::minmax(listed.number, *listed.partner);
  const std::int64_t begin = MakeEntry(recording, trace, from).time;
  const std::int64_t end = MakeEntry(recording, trace, to).time;
  row.partner = listed.partner;
  row.lived_events = to - from;
  if (begin != kNoTime && end != kNoTime) {
    row.lived_nanos = SaturatingSubtract(end, begin);
  }
}

// Each row is made in place of the last one, so that its texts reuse their memory.
void EventSource::Make(const ListedEvent& listed, EventRow& row) {
  const Event& event = *listed.event;
  const History& history = *view_.recording().history;
  row.trace = listed.trace;
  row.number = listed.number;
  row.time = event.time;
  row.device = history.traces[listed.trace].device;
  row.action = event.action;
  row.size = event.size;
  row.id = listed.id;
  row.allocated = listed.live;
  row.stream = history.streams[event.stream];
  row.partner.reset();
  row.lived_events.reset();
  row.lived_nanos.reset();
  row.device_free.reset();
  if (listed.partner) {
    PutLife(listed, row);
  }
  if (event.action == Action::kOom && event.key != kUnknownBytes) {
    row.device_free = static_cast<std::int64_t>(event.key);
  }
  row.who = &names_.Of(listed.stack);
  PutLabels(view_, listed.labels, row.labels);
  if (details_.places) {
    PutDetails(listed, row);
  }
}

void EventSource::PutDetails(const ListedEvent& listed, EventRow& row) {
  row.place = details_.places->Of(listed.trace, listed.number);
  row.bucket = row.word = row.matched = {};
  const Keywords* keywords = details_.keywords;
  if (keywords == nullptr || keywords->dictionary().axes.empty() ||
      listed.event->action != Action::kAlloc) {
    return;
  }
  if (!matches_) {
    matches_.emplace(*keywords, view_.recording());
  }
  const auto word =
      DecidingWord(*keywords, matches_->Words(matches_->Of(listed.stack, listed.labels)), 0);
  row.bucket = kOthers;
  if (word) {
    row.bucket = keywords->dictionary().axes[0].categories[keywords->places()[*word].category].name;
    row.word = keywords->word(*word).written;
    row.matched = matches_->MatchedText(*word, listed.stack, listed.labels);
  }
}

std::string RepetitionText(const std::optional<StepPlace>& place) {
  if (!place || !place->repetition) {
    return {};
  }
  const StepPlace::Repetition& found = *place->repetition;
  return fmt::format("{} {} of {}", found.kind == LoopKind::kLayers ? "layer" : "parameter",
                     found.number, found.of);
}

RowStream<EventRow> EventSource::Rows() {
  return [this, cursor = std::make_shared<EventCursor>(Events()), row = EventRow{}]() mutable {
    ListedEvent event;
    const bool found = cursor->Next(event);
    if (found) {
      Make(event, row);
    }
    return found ? &row : nullptr;
  };
}

Result<EventsAnswer> ListEvents(const HistoryIndex& index, const View& view,
                                const EventsQuery& query) {
  auto ranges = EventsBetween(index, query.range, query.device);
  MEMTOOL_TRY(ranges);
  EventsAnswer answer{.source = std::make_shared<EventSource>(index, view, *ranges, query),
                      .stacks = query.stacks,
                      .details = query.details.places != nullptr,
                      .largest = query.largest > 0,
                      .streamed = query.limit == 0 && query.largest == 0,
                      .zero = index.first_time()};
  answer.head.Add(index.recording(), query.name, RangeText(query.range), &index);
  answer.head.sample_type = "space";
  answer.head.unit = "bytes";
  if (query.largest > 0) {
    ListLargest(query, index, view, *std::move(ranges), answer);
  } else if (query.limit > 0 || query.count) {
    Count(query, answer);
  }
  return answer;
}

AnswerView MakeView(const EventsAnswer& answer) {
  std::vector<Field<EventRow>> fields(kEventFields.begin(), kEventFields.end());
  std::erase_if(fields, [&answer](const Field<EventRow>& field) {
    const bool of_stack = field.key == "stack" || field.key == "frames";
    return field.type.ends_with("?") && !(of_stack ? answer.stacks : answer.details);
  });
  AnswerView view = answer.streamed
                        ? ViewStream<EventRow>(answer.head, {}, std::move(fields),
                                               [source = answer.source](std::size_t /*limit*/) {
                                                 return source->Rows();
                                               })
                        : ViewRows<EventRow>(answer.head, {}, answer.rows, std::move(fields));
  if (!answer.largest) {  // whose columns are those of its rows
    view.columns = [&answer](std::span<const FieldInfo> requested) {
      return EventColumns(*answer.source, requested,
                          answer.streamed ? std::nullopt : std::optional(answer.rows.size()));
    };
  }
  view.skipped_rows = answer.streamed ? 0 : *answer.count - answer.rows.size();
  return view;
}

}  // namespace memtool
