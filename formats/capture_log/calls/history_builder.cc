#include "capture_log/calls/history_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "capture_log/stacks/stack_maker.h"
#include "memtool/profile/base/arithmetic.h"
#include "support/read_error.h"

namespace memtool::formats::capture_log {

namespace {

constexpr std::size_t kMaxLedgers = 250;  // an event names its domain with one byte
constexpr std::size_t kMaxStreams = 65000;

DomainKind GetKind(wire::Kind kind) {
  switch (kind) {
    case wire::Kind::kManaged:
      return DomainKind::kManaged;
    case wire::Kind::kPinned:
      return DomainKind::kPinned;
    case wire::Kind::kHost:
      return DomainKind::kHost;
    case wire::Kind::kVmm:
      return DomainKind::kVmm;
    default:
      return DomainKind::kDevice;
  }
}

DomainLevel ToLevel(wire::Level level) {
  return level == wire::Level::kDriver ? DomainLevel::kDriver
         : level == wire::Level::kUser ? DomainLevel::kUser
                                       : DomainLevel::kAllocator;
}

Label TextLabel(RecordingBuilder& builder, std::string_view key, std::string_view text) {
  return {.key = builder.Intern(key), .text = builder.Intern(text), .unit = StringId(0U)};
}

}  // namespace

std::int64_t HistoryBuilder::GetTime(const Call& call) const {
  constexpr std::uint64_t kMaxTime = std::uint64_t{1} << 61U;
  return SaturatingAdd(start_unix_, static_cast<std::int64_t>(std::min(call.time, kMaxTime)));
}

std::uint32_t HistoryBuilder::GetTrace(const DomainRow& domain) {
  const bool user = domain.level == wire::Level::kUser;
  std::string name = domain.device < 0 ? "host" : std::to_string(domain.device);
  if (user) {
    name = fmt::format("{}@{}", domain.name, name);
  }
  const auto [found, added] =
      trace_index_.emplace(name, static_cast<std::uint32_t>(traces_.size()));
  if (added) {
    traces_.push_back({.name = name, .device = domain.device, .level = ToLevel(domain.level)});
  }
  return found->second;
}

std::uint8_t HistoryBuilder::DomainIndex(const DomainRow& domain, std::uint32_t trace) {
  const auto [found, added] = domain_index_.emplace(std::pair(trace, domain.name),
                                                    static_cast<std::uint8_t>(domains_.size()));
  if (added) {
    if (domains_.size() >= kMaxLedgers) {
      ThrowRead(ErrorCode::kLimit, 0, {}, "more than 250 ledgers");
    }
    domains_.push_back({.name = domain.name,
                        .device = domain.device,
                        .kind = GetKind(domain.kind),
                        .level = ToLevel(domain.level)});
    if (!traces_[trace].first_domain.valid()) {
      traces_[trace].first_domain = DomainId(std::uint32_t{found->second});
    }
  }
  return found->second;
}

std::uint16_t HistoryBuilder::StreamIndex(std::uint64_t stream) {
  const auto [found, added] =
      stream_index_.emplace(stream, static_cast<std::uint16_t>(streams_.size()));
  if (added) {
    if (streams_.size() >= kMaxStreams) {
      ThrowRead(ErrorCode::kLimit, 0, {}, "more than 65,000 streams");
    }
    streams_.push_back(stream);
  }
  return found->second;
}

LabelSetId HistoryBuilder::Labels(const Call& call, const AttributesRow& attributes,
                                  const DomainRow& domain, std::uint8_t index) {
  KnownLabels& known = label_index_[call.attributes];
  if (known.labels.valid() && known.domain == index) {
    return known.labels;
  }
  std::vector<Label> labels{TextLabel(builder_, "ledger", domain.name)};
  if (const ThreadRow* thread = definitions_.threads.Find(attributes.thread); thread != nullptr) {
    labels.push_back(
        TextLabel(builder_, "thread", fmt::format("{} {}", attributes.thread, thread->name)));
  }
  if (const std::string* tag = definitions_.tags.Find(attributes.tag); tag != nullptr) {
    labels.push_back(TextLabel(builder_, "tag", *tag));
  }
  if (attributes.pool != 0) {
    labels.push_back(TextLabel(builder_, "pool", fmt::format("{:#x}", attributes.pool)));
  }
  known = {.labels = builder_.InternLabels(labels), .domain = index};
  return known.labels;
}

EventPlace HistoryBuilder::Append(std::uint32_t trace, const Row& row) {
  std::vector<Row>& rows = traces_[trace].rows;
  if (rows.size() >= std::numeric_limits<std::uint32_t>::max()) {
    ThrowRead(ErrorCode::kLimit, 0, {}, "more than 4,294,967,295 events");
  }
  rows.push_back(row);
  return {trace, static_cast<std::uint32_t>(rows.size() - 1)};
}

EventPlace HistoryBuilder::Add(const Call& call, const AttributesRow& attributes,
                               const DomainRow& domain, Action action) {
  const std::uint32_t trace = GetTrace(domain);
  const std::uint8_t index = DomainIndex(domain, trace);
  const EventPlace place = Append(trace, {.event = {.key = call.key,
                                                    .size = call.size,
                                                    .time = GetTime(call),
                                                    .stream = StreamIndex(attributes.stream),
                                                    .domain = index,
                                                    .action = action},
                                          .stack = call.stack,
                                          .labels = Labels(call, attributes, domain, index)});
  if (action == Action::kAlloc) {
    CountBytes(call, &attributes, place);
  }
  return place;
}

void HistoryBuilder::CountBytes(const Call& call, const AttributesRow* attributes,
                                EventPlace place) {
  if (attributes == nullptr) {
    return;
  }
  ThreadCall& known = traces_[place.trace].calls[attributes->thread];
  // The end of a context frees all that was allocated in it.
  const std::int64_t before = known.time == call.time ? known.bytes : 0;
  known.time = call.time;
  known.bytes = SaturatingAdd(before, At(place).event.size);
  known.largest = std::max(known.largest, known.bytes);
}

HistoryBuilder::InFlight HistoryBuilder::GetInFlight() const {
  InFlight most;
  for (const TraceRows& trace : traces_) {
    InFlight here{.threads = trace.calls.size()};
    for (const auto& [thread, call] : trace.calls) {
      here.bytes = SaturatingAdd(here.bytes, call.largest);
    }
    if (here.threads > 1 && here.bytes > most.bytes) {
      most = here;
    }
  }
  return most;
}

EventPlace HistoryBuilder::AddEnd(const Call& call, EventPlace opened, Action action) {
  Row row = At(opened);
  row.event.time = GetTime(call);
  row.event.action = action;
  row.stack = 0;
  const EventPlace place = Append(opened.trace, row);
  CountBytes(call, definitions_.attribute_sets.Find(call.attributes), place);
  return place;
}

void HistoryBuilder::AddMark(const Call& call, const std::string& name, std::int64_t value) {
  marks_.push_back(
      {.name = value == 0 ? name : fmt::format("{}#{}", name, value), .begin = GetTime(call)});
}

std::size_t HistoryBuilder::OpenRange(const Call& call, EventPlace allocated, std::uint64_t address,
                                      std::uint64_t size) {
  constexpr std::uint64_t kMaxSize = std::numeric_limits<std::int64_t>::max();
  ranges_.push_back({.allocated = allocated,
                     .range = {.address = address,
                               .size = static_cast<std::int64_t>(std::min(size, kMaxSize)),
                               .begin = GetTime(call)}});
  return ranges_.size() - 1;
}

void HistoryBuilder::CloseRange(const Call& call, std::size_t range) {
  ranges_[range].range.end = GetTime(call);
}

void HistoryBuilder::ReopenRange(std::size_t range) {
  ranges_[range].range.end = kNoTime;
}

History HistoryBuilder::Finish(StackMaker& stacks) {
  History history;
  history.clock = Clock::kUnix;
  history.domains = std::move(domains_);
  history.streams = std::move(streams_);
  history.marks = std::move(marks_);
  // By level, then device; the host last.
  std::map<std::pair<int, std::pair<std::int64_t, std::string>>, TraceRows*> order;
  for (TraceRows& trace : traces_) {
    const std::int64_t device = trace.device < 0 ? INT64_MAX : trace.device;
    order[{static_cast<int>(trace.level), {device, trace.name}}] = &trace;
  }
  std::vector<std::uint64_t> first_event(traces_.size());
  for (auto& [key, trace] : order) {
    first_event[static_cast<std::size_t>(trace - traces_.data())] = history.events.size();
    history.traces.push_back({.device = trace->device,
                              .name = trace->name,
                              .first_event = history.events.size(),
                              .event_count = trace->rows.size(),
                              .blocks = trace->first_domain,
                              .segments = trace->first_domain});
    for (const Row& row : trace->rows) {
      history.events.push_back(row.event);
      history.events.back().stack = stacks.Of(row.stack);
      history.labels.push_back(row.labels);
    }
    trace->rows = {};
  }
  for (const Range& range : ranges_) {
    history.mapped.push_back(range.range);
    history.mapped.back().event = first_event[range.allocated.trace] + range.allocated.row;
  }
  return history;
}

}  // namespace memtool::formats::capture_log
