#include "options/range_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>

#include "memtool/profile/analysis/filter.h"
#include "rows.h"

namespace memtool::commands {

namespace {

// Messages of moments speak of --at.
tl::unexpected<Error> AsOption(Error error, std::string_view option) {
  constexpr std::string_view kAt = "--at";
  if (error.message.starts_with(kAt)) {
    error.message.replace(0, kAt.size(), option);
  }
  return Fail(std::move(error));
}

// A plain number is an event.
Result<MomentSpec> ParseEnd(const std::string& text, std::string_view option) {
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  auto spec = ParseMoment(number ? "event:" + text : text);
  return spec ? std::move(spec) : AsOption(std::move(spec.error()), option);
}

Result<EventRange> RangeIn(const Recording& recording, std::size_t row, const MomentSpec& from,
                           const MomentSpec& to) {
  const Trace& trace = recording.history->traces[row];
  auto first = ResolveMoment(recording, trace, from);
  if (!first) {
    return AsOption(std::move(first.error()), "--from");
  }
  auto last = ResolveMoment(recording, trace, to);
  if (!last) {
    return AsOption(std::move(last.error()), "--to");
  }
  if (*first > *last) {
    return Fail(ErrorCode::kUsage,
                fmt::format("--from {} is event {} of {}, after --to {}, event {}", from.text,
                            *first, TraceText(trace), to.text, *last));
  }
  return EventRange{.trace = row, .first = std::max<std::int64_t>(*first, 0), .last = *last};
}

}  // namespace

void RangeOptions::Declare(po::options_description_easy_init add) {
  add("from", po::value(&from_text_)->value_name("MOMENT"),
      "the first event: its number, or a moment as in --at of memtool top (default start)");
  add("to", po::value(&to_text_)->value_name("MOMENT"), "the last event (default end)");
}

Result<void> RangeOptions::Resolve() {
  auto from = ParseEnd(from_text_, "--from");
  auto to = ParseEnd(to_text_, "--to");
  if (!from || !to) {
    return Fail(std::move(!from ? from.error() : to.error()));
  }
  from_ = *std::move(from);
  to_ = *std::move(to);
  return {};
}

Result<std::vector<EventRange>> RangeOptions::In(const Recording& recording,
                                                 const std::string& device) const {
  const History& history = *recording.history;
  std::vector<EventRange> ranges;
  std::string names;
  bool known = device.empty();
  for (std::size_t i = 0; i < history.traces.size(); ++i) {
    const Trace& trace = history.traces[i];
    names += (names.empty() ? "" : ", ") + trace.name;
    const bool user = history.ledgers[trace.blocks.value()].level == LedgerLevel::kUser;
    const bool chosen =
        user ? trace.name == device : device.empty() || DeviceMatches(trace.name, device);
    known = known || chosen;
    if (!chosen) {
      continue;
    }
    if (trace.event_count == 0) {
      ranges.push_back({.trace = i});
      continue;
    }
    auto range = RangeIn(recording, i, from_, to_);
    if (!range) {
      return Fail(std::move(range.error()));
    }
    ranges.push_back(*range);
  }
  if (!known) {
    return Fail(ErrorCode::kUsage, fmt::format("--device: there is no device '{}'", device),
                "devices: " + names);
  }
  return ranges;
}

}  // namespace memtool::commands
