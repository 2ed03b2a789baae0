#include "rmm/raft_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/numbers.h"
#include "rmm/raft_resources.h"
#include "support/history/address_events.h"
#include "support/read_error.h"
#include "support/text/csv_fields.h"
#include "support/text/lines.h"

namespace memtool::formats::raft {

namespace {

constexpr std::array<std::string_view, 4> kCounters = {"_current", "_peak", "_total_alloc",
                                                       "_total_freed"};
constexpr std::array<std::string_view, 2> kRange = {"nvtx_depth", "nvtx_range"};
constexpr std::array<std::string_view, 3> kSourced = {"event_source", "event_bytes", "alloc_range"};

struct Form {
  std::vector<std::string> names;
  bool sourced = false;  // rows say what their event was
};

// Whether the fields from `at` on begin with these.
bool Are(const CsvFields& fields, std::size_t at, std::span<const std::string_view> names) {
  bool same = fields.size() >= at + names.size();
  for (std::size_t i = 0; same && i < names.size(); ++i) {
    same = fields[at + i] == names[i];
  }
  return same;
}

std::optional<Form> ParseHeader(std::string_view line) {
  CsvFields fields;
  if (!fields.Split(line) || fields.size() < 1 + kCounters.size() || fields[0] != "timestamp_us") {
    return std::nullopt;
  }
  Form form;
  std::size_t at = 1;
  while (!Are(fields, at, kRange)) {
    if (fields.size() < at + kCounters.size() || !fields[at].ends_with(kCounters[0])) {
      return std::nullopt;
    }
    const std::string_view name = fields[at].substr(0, fields[at].size() - kCounters[0].size());
    for (const std::string_view counter : kCounters) {
      if (fields[at++] != std::string(name).append(counter)) {
        return std::nullopt;
      }
    }
    form.names.emplace_back(name);
  }
  at += kRange.size();
  form.sourced = Are(fields, at, kSourced);
  at += form.sourced ? kSourced.size() : 0;
  return !form.names.empty() && fields.size() == at ? std::optional(std::move(form)) : std::nullopt;
}

struct Counters {
  std::int64_t current = 0;
  std::int64_t allocated = 0;  // in all
  std::int64_t freed = 0;
};

// Ranges are quoted and not escaped.
struct EventRow {
  std::int64_t time = 0;  // ns
  std::vector<Counters> counters;
  std::string_view range;
  std::size_t source = 0;  // of sourced rows
  std::int64_t bytes = 0;  // allocated, or freed when below 0
  std::string_view path;   // of ranges, outermost first: "fit#1 > search#7"

  bool Parse(std::string_view line, const Form& form) {
    counters.resize(form.names.size());
    const auto micros = TakeNumber<std::int64_t>(line);
    constexpr std::int64_t kMicro = 1000;
    time = SaturatingMultiply(micros.value_or(-1), kMicro);
    for (Counters& each : counters) {
      std::int64_t peak = 0;
      for (std::int64_t* value : {&each.current, &peak, &each.allocated, &each.freed}) {
        if (!TakeNext(line, *value) || *value < 0) {
          return false;
        }
      }
    }
    std::int64_t depth = 0;
    if (time < 0 || !TakeNext(line, depth) || !line.starts_with(",\"") || !line.ends_with('"') ||
        line.size() < 3) {
      return false;
    }
    range = line.substr(2, line.size() - 3);
    return !form.sourced || TakeSource(form);
  }

 private:
  static bool TakeNext(std::string_view& line, std::int64_t& value) {
    if (!line.starts_with(',')) {
      return false;
    }
    line.remove_prefix(1);
    const auto number = TakeNumber<std::int64_t>(line);
    value = number.value_or(-1);
    return number.has_value();
  }

  // RANGE","device",-512,"PATH
  bool TakeSource(const Form& form) {
    const std::string_view whole = range;
    for (std::size_t quote = whole.find("\","); quote != std::string_view::npos;
         quote = whole.find("\",", quote + 1)) {
      std::string_view rest = whole.substr(quote + 2);
      const std::size_t comma = rest.find(',');
      const auto known = std::find(form.names.begin(), form.names.end(), rest.substr(0, comma));
      if (comma == std::string_view::npos || known == form.names.end()) {
        continue;
      }
      rest.remove_prefix(comma);
      if (TakeNext(rest, bytes) && rest.starts_with(",\"")) {
        source = static_cast<std::size_t>(known - form.names.begin());
        range = whole.substr(0, quote);
        path = rest.substr(2);
        return bytes != INT64_MIN;
      }
    }
    return false;
  }
};

struct Resource {
  std::string name;
  ResourceFacts facts;
  std::uint8_t place = 0;
  LocationId location;
  Counters last;
  std::int64_t live = 0;  // by its events
  std::uint64_t checked = 0;
  std::uint64_t agreeing = 0;
};

class EventLog {
 public:
  EventLog(ByteWindow& in, const Limits& limits, RecordingBuilder& builder)
      : lines_(in, limits), limits_(limits), builder_(builder) {}

  void Read() {
    std::string_view line;
    auto form = lines_.Next(line) ? ParseHeader(line) : std::nullopt;
    if (!form || form->names.size() > kMaxResources) {
      ThrowRead(ErrorCode::kMalformed, 0, "line 1", "not the header of RAFT's events");
    }
    AddResources(form->names);
    EventRow row;
    while (lines_.Next(line)) {
      if (line.empty() || IsEventHeader(line)) {
        continue;
      }
      if (!row.Parse(line, *form)) {
        ++damaged_;
        continue;
      }
      lines_.CheckRows(++rows_);
      Take(row, form->sourced);
    }
    if (rows_ == 0) {
      ThrowRead(ErrorCode::kMalformed, 0, {}, "there is no event in it");
    }
  }

  void Finish() {
    builder_.AddDiagnostic(Severity::kDamage, "skipped_row", "rows that are cut short or not whole",
                           damaged_);
    builder_.AddDiagnostic(Severity::kNote, "unknown_frees",
                           "frees of a size that nothing live has in their range: of what was "
                           "there before the log",
                           unknown_);
    History history = std::move(events_).Finish(Clock::kRelative);
    for (const Resource& resource : resources_) {
      AddChecks(history, resource.facts, resource.checked, resource.agreeing);
    }
    builder_.SetHistory(std::move(history));
  }

 private:
  void AddResources(const std::vector<std::string>& names) {
    Places places;
    resources_.reserve(names.size());  // facts of unknown ones refer to their names
    for (const std::string& name : names) {
      Resource& resource = resources_.emplace_back(Resource{.name = name});
      resource.facts = FactsOf(resource.name);
      resource.place = places.Of(resource.facts, events_);
      resource.location = LocationOf(name);
    }
  }

  void Take(const EventRow& row, bool sourced) {
    last_ = std::max(last_, row.time);
    for (std::size_t i = 0; i < resources_.size(); ++i) {
      const Counters& now = row.counters[i];
      Resource& resource = resources_[i];
      if (sourced && i != row.source) {
        continue;
      }
      // Threads write rows a little out of order: a total that falls is older than the last one.
      const std::int64_t allocated =
          sourced ? std::max<std::int64_t>(row.bytes, 0)
                  : SaturatingSubtract(now.allocated, resource.last.allocated);
      const std::int64_t freed = sourced
                                     ? std::max<std::int64_t>(SaturatingSubtract(0, row.bytes), 0)
                                     : SaturatingSubtract(now.freed, resource.last.freed);
      if (allocated > 0) {
        Allocate(i, allocated, row);
      }
      if (freed > 0) {
        Free(i, freed, row);
      }
      if (allocated > 0 || freed > 0) {
        ++resource.checked;
        resource.agreeing += resource.live == now.current ? 1 : 0;
      }
      resource.last.allocated = std::max(resource.last.allocated, now.allocated);
      resource.last.freed = std::max(resource.last.freed, now.freed);
    }
  }

  void Allocate(std::size_t at, std::int64_t size, const EventRow& row) {
    Resource& resource = resources_[at];
    resource.live = SaturatingAdd(resource.live, size);
    const std::uint64_t key = ++keys_;
    live_[{at, IdOf(row.path), size}].push_back(key);
    events_.Allocate(0, EventOf(at, key, size, row), LabelsOf(row.range));
  }

  // What is freed is the newest of its size; in rows that say so, of those of its range.
  void Free(std::size_t at, std::int64_t size, const EventRow& row) {
    Resource& resource = resources_[at];
    resource.live = SaturatingSubtract(resource.live, size);
    const auto known = live_.find({at, IdOf(row.path), size});
    std::uint64_t key = ++keys_;
    if (known != live_.end()) {
      key = known->second.back();
      known->second.pop_back();
      if (known->second.empty()) {
        live_.erase(known);
      }
    } else {
      ++unknown_;
    }
    events_.Free(0, EventOf(at, key, size, row), size, resource.place, LabelsOf(row.range));
  }

  Event EventOf(std::size_t at, std::uint64_t key, std::int64_t size, const EventRow& row) {
    return {.key = key,
            .size = size,
            .time = last_,
            .stack = StackOf(at, row.path),
            .domain = resources_[at].place,
            .action = Action::kAlloc};
  }

  std::uint32_t IdOf(std::string_view text) { return builder_.Intern(text).value(); }

  LocationId LocationOf(std::string_view name) {
    LocationId& location = locations_[IdOf(name)];
    if (!location.valid()) {
      const StringId function = builder_.Intern(name);
      const std::array<Line, 1> line{
          {{.function = builder_.AddFunction(
                {.name = function, .system_name = function, .filename = StringId(0U)})}}};
      location = builder_.AddLocation({}, line);
    }
    return location;
  }

  // The resource within the ranges around it: "search#7" is one of many calls of search.
  StackId StackOf(std::size_t at, std::string_view path) {
    const auto [known, added] = stacks_.try_emplace({at, IdOf(path)});
    if (added) {
      constexpr std::string_view kWithin = " > ";
      std::vector<LocationId> stack{resources_[at].location};
      while (!path.empty() && stack.size() < limits_.depth) {
        const std::size_t arrow = path.rfind(kWithin);
        const std::string_view name =
            arrow == std::string_view::npos ? path : path.substr(arrow + kWithin.size());
        stack.push_back(LocationOf(name.substr(0, name.rfind('#'))));
        path = path.substr(0, arrow == std::string_view::npos ? 0 : arrow);
      }
      known->second = builder_.AddStack(stack);
    }
    return known->second;
  }

  LabelSetId LabelsOf(std::string_view range) {
    if (range.empty()) {
      return LabelSetId(0U);
    }
    const auto [known, added] = labels_.try_emplace(IdOf(range));
    if (added) {
      const Label label{
          .key = builder_.Intern("nvtx"), .text = builder_.Intern(range), .unit = StringId(0U)};
      known->second = builder_.InternLabels({&label, 1});
    }
    return known->second;
  }

  Lines lines_;
  const Limits& limits_;
  RecordingBuilder& builder_;
  AddressEvents events_;
  std::vector<Resource> resources_;
  // Keys of what is live, by resource, path and size; the newest last.
  KeyMap<std::tuple<std::size_t, std::uint32_t, std::int64_t>, std::vector<std::uint64_t>> live_;
  KeyMap<std::pair<std::size_t, std::uint32_t>, StackId> stacks_;  // by resource and path
  KeyMap<std::uint32_t, LocationId> locations_;                    // by name
  KeyMap<std::uint32_t, LabelSetId> labels_;                       // by range
  std::uint64_t keys_ = 0;
  std::int64_t last_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t damaged_ = 0;
  std::uint64_t unknown_ = 0;
};

}  // namespace

bool IsEventHeader(std::string_view line) {
  return line.starts_with("timestamp_us,") && ParseHeader(line).has_value();
}

void ReadEvents(ByteWindow& in, const Limits& limits, RecordingBuilder& builder) {
  EventLog log(in, limits, builder);
  log.Read();
  log.Finish();
}

}  // namespace memtool::formats::raft
