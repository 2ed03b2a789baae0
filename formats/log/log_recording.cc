#include "log/log_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "log/place_events.h"
#include "memtool/profile/account/oom_message.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::log {

namespace {

constexpr std::size_t kMaxPlaces = 250;  // an event names its domain with one byte
constexpr std::size_t kMaxMarks = 10'000;

// Whose memory on which device a statement is about.
struct Place {
  bool host = false;
  std::int32_t device = -1;
  std::int32_t rank = -1;
  std::string_view process;  // its name, without the number that changes with each start
  friend bool operator<(const Place& a, const Place& b) {
    return std::tie(a.host, a.device, a.rank, a.process) <
           std::tie(b.host, b.device, b.rank, b.process);
  }
};

Place PlaceOf(const Statement& statement, const StringTable& strings) {
  const std::string_view device = statement.device.valid() ? strings[statement.device] : "";
  const std::string_view process = statement.process.valid() ? strings[statement.process] : "";
  return {
      .host = statement.host,
      .device = statement.host ? -1 : DeviceNumber(device).value_or(std::max(statement.rank, 0)),
      .rank = statement.rank,
      .process = process.substr(0, process.find(" pid="))};
}

std::string NameOf(const Place& place) {
  std::string name(place.process);
  if (place.rank >= 0) {
    name += fmt::format("{}rank {}", name.empty() ? "" : " ", place.rank);
  }
  if (name.empty()) {
    name = place.host ? "host" : std::to_string(place.device);
  }
  return name;
}

class Maker {
 public:
  Maker(const Statements& statements, std::span<const LogFailure> failures, const LogForm& form)
      : statements_(statements), failures_(failures), form_(form) {}

  Result<Recording> Make() {
    builder_.Intern({});
    for (const Statement& statement : statements_.list) {
      if (statement.what().role == AmountRole::kCount ||
          statement.kind != StatementKind::kMeasured) {
        continue;
      }
      if (PlaceEvents* events = EventsOf(statement)) {
        events->Expect(statement);
      }
    }
    const auto& list = statements_.list;
    auto failure = failures_.begin();
    for (std::size_t first = 0; first < list.size();) {
      std::size_t end = first;
      for (; end < list.size() && list[end].line == list[first].line; ++end) {
        Keep(list[end]);
      }
      for (; failure != failures_.end() && failure->line < list[first].line; ++failure) {
        TakeFailure(*failure);
      }
      TakeLine(std::span(list).subspan(first, end - first));
      first = end;
    }
    for (; failure != failures_.end(); ++failure) {
      TakeFailure(*failure);
    }
    Describe();
    SetHistory();
    return std::move(builder_).Finish();
  }

 private:
  PlaceEvents* EventsOf(const Statement& statement) {
    const Place place = PlaceOf(statement, statements_.strings);
    const auto at = places_.find(place);
    if (at != places_.end()) {
      return &at->second;
    }
    if (places_.size() >= kMaxPlaces) {
      ++left_out_;
      return nullptr;
    }
    return &places_.try_emplace(place, builder_, statements_.strings, form_.rows_by_stage)
                .first->second;
  }

  // What was taken from the driver comes before what it is for.
  void TakeLine(std::span<const Statement> line) {
    for (const bool parts : {false, true}) {
      for (const Statement& statement : line) {
        const AmountRole role = statement.what().role;
        if (role == AmountRole::kCount || (role == AmountRole::kPart) != parts) {
          continue;
        }
        if (PlaceEvents* events = EventsOf(statement)) {
          events->Take(statement);
        }
      }
    }
  }

  // How well a failure fits a place: by the process that its line names, its rank, or its device.
  int FitOf(const LogFailure& failure, const Place& place, const PlaceEvents& events) const {
    const std::string_view process =
        events.process().valid() ? statements_.strings[events.process()] : std::string_view();
    return !process.empty() && failure.prefix.find(process) != std::string::npos ? 4
           : failure.rank && place.rank == *failure.rank                         ? 3
           : failure.device && place.device == *failure.device                   ? 2
                                                                                 : 1;
  }

  // Where it is known of which place it is, or where there is only one.
  void TakeFailure(const LogFailure& failure) {
    PlaceEvents* best = nullptr;
    int best_fit = 0;
    for (auto& [place, events] : places_) {
      const int fit = place.host ? 0 : FitOf(failure, place, events);
      if (fit > best_fit) {
        best = &events;
        best_fit = fit;
      } else if (fit == best_fit && fit == 1) {
        best = nullptr;
      }
    }
    if (best != nullptr) {
      best->Fail(failure.requested, failure.free, failure.time);
    }
  }

  StringId Copied(StringId id) {
    return id.valid() ? builder_.Intern(statements_.strings[id]) : StringId();
  }

  // The statement itself stays in the recording, and its stage is a mark.
  void Keep(Statement statement) {
    statement.producer = Copied(statement.producer);
    statement.process = Copied(statement.process);
    statement.device = Copied(statement.device);
    statement.stage = Copied(statement.stage);
    builder_.AddStatement(statement);
  }

  void Describe() {
    std::vector<std::string_view> producers;
    for (const Statement& statement : statements_.list) {
      const std::string_view producer = statements_.strings[statement.producer];
      if (std::find(producers.begin(), producers.end(), producer) == producers.end()) {
        producers.push_back(producer);
      }
    }
    Metadata& metadata = builder_.metadata();
    metadata.format = "log";
    metadata.format_display = fmt::format("{} of {}", form_.display, fmt::join(producers, ", "));
    metadata.origin = {.framework = Framework::kUnknown, .kind = RecordingKind::kLog};
    metadata.frames_are_scopes = true;
    builder_.AddBlindSpot("single allocations", fmt::format("{} gives sums", form_.noun));
    builder_.AddBlindSpot("the code that allocated",
                          fmt::format("{} names purposes and stages", form_.noun));
    builder_.AddDiagnostic(Severity::kWarning, "statements_left_out",
                           fmt::format("amounts beyond the most that are kept of {}", form_.noun),
                           statements_.found - statements_.list.size());
    builder_.AddDiagnostic(Severity::kWarning, "places_left_out",
                           "amounts of processes beyond the most that are kept", left_out_);
    for (const UnreadLine& line : statements_.unread) {
      builder_.AddUnreadLine(line);
    }
  }

  void SetHistory() {
    History history;
    history.streams = {0};
    const bool years = std::any_of(statements_.list.begin(), statements_.list.end(),
                                   [](const Statement& statement) {
                                     return statement.time != kNoTime && HasYear(statement.time);
                                   });
    const bool times =
        std::any_of(statements_.list.begin(), statements_.list.end(),
                    [](const Statement& statement) { return statement.time != kNoTime; });
    history.clock = years ? Clock::kUnix : times ? Clock::kRelative : Clock::kAbsent;
    for (auto& [place, events] : places_) {
      if (events.events().empty()) {
        continue;
      }
      const DomainId domain(history.domains.size());
      const std::string_view figure = events.driver_figure();
      history.domains.push_back(
          {.name = figure.empty() ? "blocks" : std::string(figure),
           .device = place.device,
           .kind = place.host ? DomainKind::kCpu : DomainKind::kDevice,
           .level = figure.empty() ? DomainLevel::kAllocator : DomainLevel::kDriver,
           .capacity = events.total()});
      history.traces.push_back({.device = place.device,
                                .name = NameOf(place),
                                .first_event = history.events.size(),
                                .event_count = events.events().size(),
                                .blocks = domain,
                                .segments = domain});
      for (Event event : events.events()) {
        event.domain = static_cast<std::uint8_t>(domain.value());
        history.events.push_back(event);
      }
      history.labels.insert(history.labels.end(), events.labels().begin(), events.labels().end());
    }
    AddMarks(history);
    builder_.SetHistory(std::move(history));
  }

  void AddMarks(History& history) const {
    const Statement* last = nullptr;
    for (const Statement& statement : statements_.list) {
      const bool again = last != nullptr && last->line == statement.line;
      if (!statement.stage.valid() || statement.time == kNoTime || again ||
          history.marks.size() >= kMaxMarks) {
        continue;
      }
      last = &statement;
      const Place place = PlaceOf(statement, statements_.strings);
      history.marks.push_back({.name = std::string(statements_.strings[statement.stage]),
                               .device = place.device,
                               .begin = statement.time,
                               .end = statement.time});
    }
  }

  const Statements& statements_;
  std::span<const LogFailure> failures_;
  LogForm form_;
  RecordingBuilder builder_;
  std::map<Place, PlaceEvents> places_;
  std::uint64_t left_out_ = 0;
};

}  // namespace

Result<Recording> ToRecording(const Statements& statements, std::span<const LogFailure> failures,
                              const LogForm& form) {
  return Maker(statements, failures, form).Make();
}

}  // namespace memtool::formats::log
