#include "log/log_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "memtool/profile/account/oom_message.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::log {

namespace {

constexpr std::size_t kMaxPlaces = 250;  // an event names its domain with one byte
constexpr std::size_t kMaxMarks = 10'000;

bool Is(const Statement& statement, std::string_view name) {
  return statement.what().name == name;
}

// llama.cpp's and ollama's names of buffers: "CUDA0", "MTL0_Mapped", "CUDA_Host", "CPU_REPACK".
bool IsHost(std::string_view device) {
  return device.starts_with("CPU") || device.starts_with("AMX") || device.ends_with("_Host");
}

std::optional<std::int32_t> Ordinal(std::string_view device) {
  const std::size_t first = device.find_first_of("0123456789");
  if (first == std::string_view::npos) {
    return std::nullopt;
  }
  device.remove_prefix(first);
  return TakeNumber<std::int32_t>(device);
}

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

// Which amounts of a place make its rows.
enum class Rows : std::uint8_t { kNone, kParts, kLevel };

// What one place held, as events.
class Holder {
 public:
  Holder(RecordingBuilder& builder, const StringTable& strings)
      : builder_(builder), strings_(strings) {}

  // Before any Take: looks at what there will be.
  void Expect(const Statement& statement) {
    if (statement.kind != StatementKind::kMeasured) {
      return;
    }
    static constexpr std::array<std::string_view, 7> kLevels = {
        "allocated", "process", "used", "peak_allocated", "peak_used", "reserved", "peak_reserved"};
    const AmountRole role = statement.what().role;
    if (role == AmountRole::kPart) {
      rows_ = Rows::kParts;
    }
    const auto level = std::find(kLevels.begin(), kLevels.end(), statement.what().name);
    const auto rank = static_cast<std::size_t>(level - kLevels.begin());
    if (level != kLevels.end() && rank < level_rank_) {
      level_rank_ = rank;
      level_ = statement.amount;
      used_is_level_ = *level == "used";
      rows_ = rows_ == Rows::kNone ? Rows::kLevel : rows_;
    }
    // What the driver has free counts where nothing says what was reserved.
    reserved_said_ = reserved_said_ || Is(statement, "reserved");
    free_said_ = free_said_ || Is(statement, "free");
  }

  void Take(const Statement& statement) {
    if (statement.run != run_ || statement.process != process_) {
      EndRun(statement.time);
      run_ = statement.run;
      process_ = statement.process;
    }
    if (Is(statement, "total")) {
      total_ = statement.value;
    }
    if (statement.kind != StatementKind::kMeasured || statement.value < 0) {
      return;
    }
    const AmountRole role = statement.what().role;
    if (role == AmountRole::kPart) {
      TakePart(statement);
    } else if (rows_ == Rows::kLevel && statement.amount == level_) {
      TakeLevel(statement);
    } else if (Is(statement, "reserved") && reserved_said_) {
      Reserve(statement, statement.value);
    } else if (Is(statement, "free") && !reserved_said_ && !used_is_level_) {
      if (!first_free_) {
        first_free_ = SaturatingAdd(statement.value, live_bytes_);
      }
      Reserve(statement, SaturatingSubtract(*first_free_, statement.value));
    }
  }

  void Fail(const LogFailure& failure) {
    Add({.key = failure.free ? static_cast<std::uint64_t>(*failure.free) : kUnknownBytes,
         .size = failure.requested,
         .time = failure.time,
         .stack = {},
         .action = Action::kOom});
  }

  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  [[nodiscard]] const std::vector<LabelSetId>& labels() const { return labels_; }
  [[nodiscard]] StringId process() const { return process_; }
  [[nodiscard]] std::optional<std::int64_t> total() const { return total_; }
  [[nodiscard]] bool knows_reserved() const { return reserved_said_ || free_said_; }

 private:
  struct Live {
    std::uint64_t key = 0;
    std::int64_t size = 0;
    StackId stack;
    LabelSetId labels;
  };
  // What is allocated under one name: an amount, and the buffer where the line names it.
  using LiveKey = std::pair<std::uint8_t, std::uint32_t>;
  static LiveKey KeyOf(const Statement& statement) {
    return {statement.amount, statement.device.valid() ? statement.device.value() + 1 : 0};
  }

  // A part is called by its title, a level by the stage at which it rose.
  StackId StackOf(const Statement& statement) {
    const bool staged = statement.what().role != AmountRole::kPart && statement.stage.valid();
    const std::string_view name = staged ? strings_[statement.stage] : statement.what().title;
    const auto [at, added] = stacks_.try_emplace(name, StackId());
    if (added) {
      const StringId id = builder_.Intern(name);
      const std::array<Line, 1> line{
          {{.function = builder_.AddFunction(
                {.name = id, .system_name = id, .filename = builder_.Intern({})})}}};
      at->second = builder_.AddStack(std::array{builder_.AddLocation({}, line)});
    }
    return at->second;
  }

  // The buffer, and the stage, where the line names them.
  LabelSetId LabelsOf(const Statement& statement) {
    std::vector<Label> labels;
    for (const auto& [key, text] :
         {std::pair("buffer", statement.device), {"stage", statement.stage}}) {
      if (text.valid()) {
        labels.push_back({.key = builder_.Intern(key),
                          .text = builder_.Intern(strings_[text]),
                          .unit = builder_.Intern({})});
      }
    }
    return builder_.InternLabels(labels);
  }

  void Alloc(const Statement& statement, std::int64_t size, StackId stack, LabelSetId labels) {
    if (size <= 0) {
      return;
    }
    live_[KeyOf(statement)].push_back({++keys_, size, stack, labels});
    held_[statement.amount] = SaturatingAdd(held_[statement.amount], size);
    live_bytes_ = SaturatingAdd(live_bytes_, size);
    Add({.key = keys_,
         .size = size,
         .time = statement.time,
         .stack = stack,
         .action = Action::kAlloc},
        labels);
  }

  void Add(const Event& event, LabelSetId labels = LabelSetId(0U)) {
    events_.push_back(event);
    labels_.push_back(labels);
  }

  // The last one under `key`.
  void Free(const LiveKey& key, std::int64_t time) {
    std::vector<Live>& live = live_[key];
    const Live gone = live.back();
    live.pop_back();
    held_[key.first] = SaturatingSubtract(held_[key.first], gone.size);
    live_bytes_ = SaturatingSubtract(live_bytes_, gone.size);
    Add({.key = gone.key,
         .size = gone.size,
         .time = time,
         .stack = gone.stack,
         .action = Action::kFreeCompleted},
        gone.labels);
  }

  void TakePart(const Statement& statement) {
    std::int64_t size = statement.value;
    Statement part = statement;
    if (Is(statement, "consumed")) {
      // Weights and what is outside: the weights stand there already.
      size = SaturatingSubtract(size, held_[*FindAmount("weights")]);
      if (size != statement.value) {
        part.amount = *FindAmount("non_framework");
      }
    }
    if (const LiveKey key = KeyOf(part); !statement.adds) {
      if (live_[key].size() == 1 && live_[key].front().size == size) {
        return;  // said again
      }
      while (!live_[key].empty()) {
        Free(key, statement.time);
      }
    }
    Alloc(part, size, StackOf(part), LabelsOf(part));
  }

  void TakeLevel(const Statement& statement) {
    StackId stack = StackOf(statement);
    LabelSetId labels = LabelsOf(statement);
    const LiveKey key = KeyOf(statement);
    while (!live_[key].empty() && live_bytes_ > statement.value) {
      stack = live_[key].back().stack;  // of the last one freed a part stays
      labels = live_[key].back().labels;
      Free(key, statement.time);
    }
    Alloc(statement, SaturatingSubtract(statement.value, live_bytes_), stack, labels);
  }

  void Reserve(const Statement& statement, std::int64_t bytes) {
    bytes = std::max(bytes, live_bytes_);  // rounding
    const std::int64_t change = SaturatingSubtract(bytes, reserved_);
    if (change != 0) {
      Add({.size = change > 0 ? change : -change,
           .time = statement.time,
           .action = change > 0 ? Action::kSegmentAlloc : Action::kSegmentFree});
    }
    reserved_ = bytes;
  }

  void EndRun(std::int64_t time) {
    for (const auto& [key, live] : live_) {
      while (!live.empty()) {
        Free(key, time);
      }
    }
    if (reserved_ > 0) {
      Add({.size = reserved_, .time = time, .action = Action::kSegmentFree});
    }
    reserved_ = 0;
    first_free_.reset();
  }

  RecordingBuilder& builder_;
  const StringTable& strings_;
  std::map<std::string_view, StackId> stacks_;
  std::vector<Event> events_;
  std::vector<LabelSetId> labels_;
  std::map<LiveKey, std::vector<Live>> live_;
  std::array<std::int64_t, 256> held_{};  // by amount
  std::int64_t live_bytes_ = 0;
  std::int64_t reserved_ = 0;
  std::optional<std::int64_t> first_free_;
  std::optional<std::int64_t> total_;
  std::uint64_t keys_ = 0;
  std::uint32_t run_ = 0;
  StringId process_;
  Rows rows_ = Rows::kNone;
  std::size_t level_rank_ = 100;
  std::optional<std::uint8_t> level_;  // the amount whose changes are rows
  bool used_is_level_ = false;
  bool reserved_said_ = false;
  bool free_said_ = false;
};

Place PlaceOf(const Statement& statement, const StringTable& strings) {
  const std::string_view device = statement.device.valid() ? strings[statement.device] : "";
  const std::string_view process = statement.process.valid() ? strings[statement.process] : "";
  const bool host = statement.host || IsHost(device);
  return {.host = host,
          .device = host ? -1 : Ordinal(device).value_or(std::max(statement.rank, 0)),
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
  Maker(const Statements& statements, std::span<const LogFailure> failures)
      : statements_(statements), failures_(failures) {}

  Result<Recording> Make() {
    builder_.Intern({});
    for (const Statement& statement : statements_.list) {
      if (statement.what().role == AmountRole::kCount ||
          statement.kind != StatementKind::kMeasured) {
        continue;
      }
      if (Holder* holder = HolderOf(statement)) {
        holder->Expect(statement);
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
  Holder* HolderOf(const Statement& statement) {
    const Place place = PlaceOf(statement, statements_.strings);
    const auto at = holders_.find(place);
    if (at != holders_.end()) {
      return &at->second;
    }
    if (holders_.size() >= kMaxPlaces) {
      ++left_out_;
      return nullptr;
    }
    return &holders_.try_emplace(place, builder_, statements_.strings).first->second;
  }

  // What was taken from the driver comes before what it is for.
  void TakeLine(std::span<const Statement> line) {
    for (const bool parts : {false, true}) {
      for (const Statement& statement : line) {
        const AmountRole role = statement.what().role;
        if (role == AmountRole::kCount || (role == AmountRole::kPart) != parts) {
          continue;
        }
        if (Holder* holder = HolderOf(statement)) {
          holder->Take(statement);
        }
      }
    }
  }

  // How well a failure fits a place: by the process that its line names, its rank, or its device.
  int FitOf(const LogFailure& failure, const Place& place, const Holder& holder) const {
    const std::string_view process =
        holder.process().valid() ? statements_.strings[holder.process()] : std::string_view();
    return !process.empty() && failure.prefix.find(process) != std::string::npos ? 4
           : failure.rank && place.rank == *failure.rank                         ? 3
           : failure.device && place.device == *failure.device                   ? 2
                                                                                 : 1;
  }

  // Where it is known of which place it is, or where there is only one.
  void TakeFailure(const LogFailure& failure) {
    Holder* best = nullptr;
    int best_fit = 0;
    for (auto& [place, holder] : holders_) {
      const int fit = place.host ? 0 : FitOf(failure, place, holder);
      if (fit > best_fit) {
        best = &holder;
        best_fit = fit;
      } else if (fit == best_fit && fit == 1) {
        best = nullptr;
      }
    }
    if (best != nullptr) {
      best->Fail(failure);
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
    metadata.format_display = fmt::format("log of {}", fmt::join(producers, ", "));
    metadata.origin = {.framework = Framework::kUnknown, .kind = RecordingKind::kLog};
    metadata.frames_are_scopes = true;
    builder_.AddBlindSpot("single allocations", "a log gives sums");
    builder_.AddBlindSpot("the code that allocated", "a log names purposes and stages");
    builder_.AddDiagnostic(Severity::kWarning, "statements_left_out",
                           "amounts beyond the most that are kept of a log",
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
    for (auto& [place, holder] : holders_) {
      if (holder.events().empty()) {
        continue;
      }
      const DomainId domain(history.domains.size());
      history.domains.push_back({.name = "blocks",
                                 .device = place.device,
                                 .kind = place.host ? DomainKind::kCpu : DomainKind::kDevice,
                                 .capacity = holder.total()});
      history.traces.push_back({.device = place.device,
                                .name = NameOf(place),
                                .first_event = history.events.size(),
                                .event_count = holder.events().size(),
                                .blocks = domain,
                                .segments = domain});
      for (Event event : holder.events()) {
        event.domain = static_cast<std::uint8_t>(domain.value());
        history.events.push_back(event);
      }
      history.labels.insert(history.labels.end(), holder.labels().begin(), holder.labels().end());
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
  RecordingBuilder builder_;
  std::map<Place, Holder> holders_;
  std::uint64_t left_out_ = 0;
};

}  // namespace

Result<Recording> ToRecording(const Statements& statements, std::span<const LogFailure> failures) {
  return Maker(statements, failures).Make();
}

}  // namespace memtool::formats::log
