#include "events/events_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "events/events_words.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/view.h"
#include "output/escape.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

// Where the columns stand in a row; Columns() has the same order.
enum Place : std::size_t {
  kEvent,
  kWhen,
  kDevice,
  kAction,
  kSize,
  kId,
  kLived,
  kLive,
  kBy,
  kTime,
  kAddress,
  kStream,
  kPartner,
  kLivedEvents,
  kLivedTime,
  kDeviceFree,
  kName,
  kFile,
  kLine,
  kVia,
  kLabels,
  kStack,  // with whole stacks only
};

std::string PlaceAfter(const EventNames::Name& name) {
  const std::string place = PlaceText(name.file, name.line);
  return NameText(name.name) + (place.empty() ? "" : "  " + place);
}

}  // namespace

const EventNames::Name& EventNames::Of(StackId stack) {
  if (!stack.valid()) {
    return none_;
  }
  std::optional<Name>& name = names_[stack.value()];
  if (name) {
    return *name;
  }
  if (!walker_.Expand({.stack = stack}, nodes_) || nodes_.nodes.empty()) {
    return *(name = none_);
  }
  name.emplace();
  const NodeId leaf = nodes_.nodes.front();
  name->name = space_.Name(leaf);
  name->file = space_.File(leaf);
  name->line = space_[leaf].line;
  name->via = nodes_.via.valid() ? space_.Name(nodes_.via) : std::string_view{};
  for (std::size_t i = nodes_.nodes.size(); i-- > 0;) {
    name->stack += std::string(space_.Name(nodes_.nodes[i])) + (i > 0 ? ";" : "");
  }
  for (const NodeId node : nodes_.nodes) {
    const std::string place = PlaceText(space_.File(node), space_[node].line);
    name->lines += (name->lines.empty() ? "" : "\n") +
                   EscapeText(NameText(space_.Name(node)) + (place.empty() ? "" : "  " + place));
  }
  return *name;
}

std::string EventNames::Short(StackId stack) {
  return PlaceAfter(Of(stack));
}

EventRows::EventRows(const View& view, EventNames& names, bool stacks, bool text)
    : view_(view), recording_(view.recording()), names_(names), stacks_(stacks), text_(text) {
  zero_ = FirstTimeOf(*recording_.history);
}

std::vector<Column> EventRows::Columns() const {
  std::vector<Column> columns{
      {"event", "EVENT"},
      {.key = "", .title = "TIME", .drop = 2},
      {.key = "device", .title = "DEV", .drop = 1},
      {.key = "action", .title = "ACTION", .left = true},
      {"size", "SIZE"},
      {.key = "id", .title = "BLOCK", .left = true, .drop = 4},
      {.key = "", .title = "LIVED", .drop = 3},
      {"allocated", "LIVE"},
      {.key = "", .title = "BY", .left = true, .shrink = !stacks_, .lines = stacks_},
      {"time_us", ""},
      {"address", ""},
      {"stream", ""},
      {"partner", ""},
      {"lived_events", ""},
      {"lived_us", ""},
      {"device_free", ""},
      {"name", ""},
      {"file", ""},
      {"line", ""},
      {"via", ""},
      {"labels", ""}};
  if (stacks_) {
    columns.push_back({"stack", ""});
  }
  return columns;
}

const Event& EventRows::At(const Trace& trace, std::int64_t number) const {
  return recording_.history->events[trace.first_event + static_cast<std::uint64_t>(number)];
}

std::string EventRows::When(std::int64_t time) const {
  return time == kNoTime ? std::string{} : SinceText(time, zero_);
}

std::string EventRows::Lived(const Trace& trace, std::int64_t from, std::int64_t to) const {
  const std::int64_t begin = At(trace, from).time;
  const std::int64_t end = At(trace, to).time;
  std::string text = fmt::format("{} event{}", FormatCount(to - from), to - from == 1 ? "" : "s");
  return begin == kNoTime || end == kNoTime
             ? text
             : text + ", " + DurationText(SaturatingSubtract(end, begin));
}

std::string EventRows::Labels(LabelSetId set) const {
  std::string text;
  for (const Label& label : recording_.Labels(set)) {
    if (view_.ShowsKey(label.key)) {
      text += (text.empty() ? "" : " ") + LabelText(recording_, label);
    }
  }
  return text;
}

void EventRows::Make(const ListedEvent& listed, std::vector<Cell>& row) {
  const Event& event = *listed.event;
  const EventNames::Name& name = names_.Of(listed.stack);
  row.assign(stacks_ ? kStack + 1 : kStack, Cell());
  row[kEvent] = listed.number;
  row[kDevice] = std::int64_t{recording_.history->traces[listed.trace].device};
  row[kAction] = std::string(ActionName(event.action));
  row[kSize] = Amount{.value = event.size};
  row[kLive] = Amount{.value = listed.live};
  if (event.time != kNoTime) {
    row[kTime] = event.time / 1000;
  }
  if (listed.id) {
    row[kId] = ToString(*listed.id);
    row[kAddress] = fmt::format("0x{:x}", event.key);
  }
  row[kStream] = fmt::format("0x{:x}", recording_.history->streams[event.stream]);
  if (event.action == Action::kOom && event.key != kNotTold) {
    row[kDeviceFree] = static_cast<std::int64_t>(event.key);
  }
  row[kName] = name.name;
  row[kFile] = name.file;
  row[kLine] = LineCell(name.line);
  if (!name.via.empty()) {
    row[kVia] = name.via;
  }
  row[kLabels] = listed.labels.value() == 0 ? std::string{} : Labels(listed.labels);
  if (stacks_) {
    row[kStack] = name.stack;
  }
  if (listed.partner) {
    PutLife(listed, row);
  }
  if (text_) {
    PutText(listed, name, row);
  }
}

void EventRows::PutLife(const ListedEvent& listed, std::vector<Cell>& row) const {
  const Trace& trace = recording_.history->traces[listed.trace];
  const std::int64_t from = std::min(listed.number, *listed.partner);
  const std::int64_t to = std::max(listed.number, *listed.partner);
  const std::int64_t begin = At(trace, from).time;
  const std::int64_t end = At(trace, to).time;
  row[kPartner] = *listed.partner;
  row[kLivedEvents] = to - from;
  if (begin != kNoTime && end != kNoTime) {
    row[kLivedTime] = SaturatingSubtract(end, begin) / 1000;
  }
}

void EventRows::PutText(const ListedEvent& listed, const EventNames::Name& name,
                        std::vector<Cell>& row) const {
  const Action action = listed.event->action;
  row[kWhen] = When(listed.event->time);
  row[kBy] = stacks_ ? name.lines : PlaceAfter(name);
  if (listed.partner) {
    const auto [from, to] = std::minmax(listed.number, *listed.partner);
    row[kLived] = Lived(recording_.history->traces[listed.trace], from, to);
  } else if (action == Action::kAlloc || action == Action::kSegmentAlloc) {
    row[kLived] = std::string("to the end");
  } else if (action == Action::kFreeCompleted) {
    row[kLived] = std::string("from before");
  }
}

}  // namespace memtool::commands
