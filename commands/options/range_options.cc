#include "options/range_options.h"

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>

namespace memtool::commands {

namespace {

// A plain number is an event.
Result<MomentSpec> ParseEnd(const std::string& text, Subject subject) {
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return ParseMoment(number ? "event:" + text : text, subject);
}

}  // namespace

void RangeOptions::Declare(po::options_description_easy_init add, const std::string& of) {
  add("from", po::value(&from_text_)->value_name("MOMENT"),
      (of + "where it begins: an event's number, or a moment as in --at of memtool top (default "
            "start)")
          .c_str());
  add("to", po::value(&to_text_)->value_name("MOMENT"),
      (of + "where it ends (default end)").c_str());
}

Result<void> RangeOptions::Resolve() {
  auto from = ParseEnd(from_text_, Subject::kRangeBegin);
  auto to = ParseEnd(to_text_, Subject::kRangeEnd);
  if (!from || !to) {
    return Fail(std::move(!from ? from.error() : to.error()));
  }
  range_ = {*std::move(from), *std::move(to)};
  return {};
}

Result<std::vector<EventRange>> RangeOptions::In(const HistoryIndex& index,
                                                 const std::string& device) const {
  const Recording& recording = index.recording();
  const auto traces = TracesOf(recording, device);
  MEMTOOL_TRY(traces);
  std::vector<EventRange> ranges;
  for (const std::size_t i : *traces) {
    const Trace& trace = recording.history->traces[i];
    if (trace.event_count == 0) {
      ranges.push_back({.trace = i});
      continue;
    }
    auto span = ResolveRange(index, trace, range_);
    MEMTOOL_TRY(span);
    // The start is a state, after what the first events list of before; all events follow it.
    const bool start = range_.from.kind == MomentSpec::Kind::kStart;
    ranges.push_back({.trace = i,
                      .first = start ? 0 : std::max<std::int64_t>(span->first, 0),
                      .last = span->last});
  }
  return ranges;
}

}  // namespace memtool::commands
