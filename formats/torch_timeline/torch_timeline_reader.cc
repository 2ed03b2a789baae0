#include "torch_timeline/torch_timeline_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include "memtool/profile/model/label_text.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/byte_cursor.h"
#include "support/json_stream.h"
#include "support/read_error.h"

namespace memtool::formats {

namespace {

// The index is the number in the file.
constexpr std::array<std::string_view, 8> kCategories{
    "Parameter",  "Optimizer state", "Input",           "Temporary",
    "Activation", "Gradient",        "Autograd detail", "Unknown"};
constexpr std::size_t kRawFields = 4;
constexpr std::size_t kSizes = kCategories.size() + 1;  // a leading 0
enum RawAction : std::uint8_t { kPreexisting = 1, kCreate, kIncrementVersion, kDestroy };

// Events in the order of the file. Neither form names allocations.
class EventMaker {
 public:
  explicit EventMaker(RecordingBuilder& builder) {
    for (std::size_t i = 0; i < kCategories.size(); ++i) {
      const StringId name = builder.Intern(kCategories[i]);
      const std::array<Line, 1> line{
          {{.function = builder.AddFunction(
                {.name = name, .system_name = name, .filename = StringId(0U)})}}};
      stacks_[i] = builder.AddStack(std::array{builder.AddLocation({}, line)});
      const std::array<Label, 2> labels{
          {{.key = builder.Intern("category"), .text = name, .unit = StringId(0U)},
           {.key = builder.Intern(kContinues),
            .text = builder.Intern("another version of a tensor"),
            .unit = StringId(0U)}}};
      labels_[i] = builder.InternLabels(std::span(labels).first(1));
      continued_[i] = builder.InternLabels(labels);
    }
  }

  // A free ends the last allocation of its size in its category; sums do not tell which of several
  // it was. `continues`: the change is one of a tensor's version, which is a free and an
  // allocation.
  void Change(std::int64_t time, std::size_t category, std::int64_t bytes, bool continues = false) {
    if (bytes == 0) {
      return;
    }
    if (bytes > 0) {
      live_[{category, bytes}].push_back(++keys_);
      Add(time, category, keys_, bytes, Action::kAlloc);
      event_labels_.back() = continues ? continued_[category] : event_labels_.back();
      return;
    }
    std::vector<std::uint64_t>& same = live_[{category, -bytes}];
    std::uint64_t key = ++keys_;
    if (!same.empty()) {
      key = same.back();
      same.pop_back();
    }
    Add(time, category, key, -bytes, Action::kFreeCompleted);
  }

  // From now on a category holds `bytes`, as one allocation.
  void Become(std::int64_t time, std::size_t category, std::int64_t bytes) {
    std::int64_t& held = held_[category];
    if (held > 0) {
      Add(time, category, category + 1, held, Action::kFreeCompleted);
    }
    held = bytes;
    if (held > 0) {
      Add(time, category, category + 1, held, Action::kAlloc);
    }
  }
  [[nodiscard]] std::int64_t held(std::size_t category) const { return held_[category]; }
  // What the events so far allocated was there before the recording.
  void EndBefore() { before_ = events_.size(); }

  History Finish() && {
    History history;
    history.streams = {0};
    history.clock = Clock::kUnix;
    history.domains.push_back({.name = "tensors", .device = 0});
    // What was there before has no time of its own.
    const auto first = std::find_if(events_.begin(), events_.end(),
                                    [](const Event& event) { return event.time != kNoTime; });
    if (first != events_.end()) {
      for (auto it = events_.begin(); it != first; ++it) {
        it->time = first->time;
      }
    }
    history.traces.push_back({.device = 0,
                              .name = "0",
                              .event_count = events_.size(),
                              .blocks = DomainId(0U),
                              .segments = DomainId(0U),
                              .listed_before = before_});
    history.events = std::move(events_);
    history.labels = std::move(event_labels_);
    return history;
  }

 private:
  void Add(std::int64_t time, std::size_t category, std::uint64_t key, std::int64_t size,
           Action action) {
    events_.push_back(
        {.key = key, .size = size, .time = time, .stack = stacks_[category], .action = action});
    event_labels_.push_back(labels_[category]);
  }

  std::array<StackId, kCategories.size()> stacks_{};
  std::array<LabelSetId, kCategories.size()> labels_{};
  std::array<LabelSetId, kCategories.size()> continued_{};
  RowVector<Event> events_;
  std::vector<LabelSetId> event_labels_;
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<std::uint64_t>> live_;
  std::array<std::int64_t, kCategories.size()> held_{};
  std::uint64_t keys_ = 0;
  std::uint64_t before_ = 0;
};

// RapidJSON's handler; the names are RapidJSON's. A file is [[numbers], ...]: in the raw form every
// list is an event, in the coalesced form the first one holds the times.
class TimelineHandler {
 public:
  TimelineHandler(JsonStream& stream, EventMaker& events, const Limits& limits)
      : stream_(stream), events_(events), max_times_(limits.record_bytes / sizeof(std::int64_t)) {}

  bool Null() { return Refuse("null"); }
  bool Bool(bool /*value*/) { return Refuse("true or false"); }
  bool Int(int value) { return Number(value); }
  bool Uint(unsigned value) { return Number(value); }
  bool Int64(std::int64_t value) { return Number(value); }
  bool Uint64(std::uint64_t value) {
    return value > INT64_MAX ? Refuse("a number over 9223372036854775807")
                             : Number(static_cast<std::int64_t>(value));
  }
  bool Double(double /*value*/) { return Refuse("a fraction"); }
  static bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }
  bool String(const char*, rapidjson::SizeType, bool) { return Refuse("a string"); }
  bool Key(const char*, rapidjson::SizeType, bool) { return Refuse("a key"); }
  bool StartObject() { return Refuse("an object"); }
  bool EndObject(rapidjson::SizeType) { return Refuse("an object"); }
  bool StartArray() {
    stream_.TokenEnded();
    ++depth_;
    const bool sizes = depth_ == 3 && lists_ == 1 && numbers_.empty();
    if (sizes && !coalesced_) {
      coalesced_ = true;
      times_ = std::move(first_);
    }
    if (depth_ > (coalesced_ ? 3U : 2U)) {
      return Refuse("lists in a list of numbers");
    }
    numbers_.clear();
    return true;
  }
  bool EndArray(rapidjson::SizeType) {
    stream_.TokenEnded();
    if (depth_ == 3) {
      EndSizes();
    } else if (depth_ == 2 && !coalesced_) {
      EndList();
    }
    --depth_;
    return true;
  }

  // After the last one. Throws when the file ends as neither form.
  void Finish() {
    if (coalesced_ && rows_ != times_.size()) {
      Refuse(fmt::format("{} times but {} rows of sizes", times_.size(), rows_));
    }
    if (!coalesced_ && lists_ == 1) {
      Event(first_);
    }
  }
  [[nodiscard]] bool coalesced() const { return coalesced_; }

 private:
  [[noreturn]] bool Refuse(std::string what) {
    ThrowRead(ErrorCode::kMalformed, stream_.Offset(), {},
              fmt::format("not a memory timeline: {}", std::move(what)));
  }

  bool Number(std::int64_t value) {
    stream_.TokenEnded();
    if (depth_ < 2 || (coalesced_ && depth_ == 2)) {
      Refuse("a number outside the lists");
    }
    // Only the first list, of times, may be long.
    if (numbers_.size() >= kSizes && lists_ > 0) {
      Refuse("a list of more than nine numbers");
    }
    if (numbers_.size() >= max_times_) {
      ThrowRead(ErrorCode::kLimit, stream_.Offset(), {},
                fmt::format("more than {} times", max_times_),
                "lift it with --max record-bytes=SIZE");
    }
    numbers_.push_back(value);
    return true;
  }

  void EndList() {
    if (lists_++ == 0) {
      first_ = std::move(numbers_);  // an event, or all times
    } else {
      if (lists_ == 2) {
        Event(first_);
      }
      Event(numbers_);
    }
    numbers_ = {};
  }

  void Event(const std::vector<std::int64_t>& fields) {
    if (fields.size() != kRawFields || fields[1] < kPreexisting || fields[1] > kDestroy ||
        fields[3] < 0 || static_cast<std::size_t>(fields[3]) >= kCategories.size() ||
        fields[2] == INT64_MIN) {
      Refuse("an event that is not [time, action 1 to 4, bytes, category 0 to 7]");
    }
    before_ = before_ && fields[1] == kPreexisting && fields[2] >= 0;
    events_.Change(fields[0] < 0 ? kNoTime : fields[0], static_cast<std::size_t>(fields[3]),
                   fields[2], fields[1] == kIncrementVersion);
    if (before_) {
      events_.EndBefore();
    }
  }

  // Categories that shrink come first, so that no intermediate sum is higher than those before and
  // after.
  void EndSizes() {
    if (numbers_.size() != kSizes || rows_ >= times_.size()) {
      Refuse(fmt::format("row {} of sizes does not have nine numbers, or has no time", rows_));
    }
    constexpr std::int64_t kMicro = 1000;
    const std::int64_t micros = times_[rows_++];
    if (micros > INT64_MAX / kMicro || micros < 0) {
      Refuse("a time out of range");
    }
    for (const bool shrinks : {true, false}) {
      for (std::size_t i = 0; i < kCategories.size(); ++i) {
        const std::int64_t bytes = std::max<std::int64_t>(numbers_[i + 1], 0);
        if (bytes != events_.held(i) && (bytes < events_.held(i)) == shrinks) {
          events_.Become(micros * kMicro, i, bytes);
        }
      }
    }
    numbers_.clear();
    // PyTorch begins a row whenever the time changes, and gives preexisting memory, which has no
    // time, that of the first event: only then do the first two rows have the same time.
    if (rows_ == 1 && times_.size() > 1 && times_[0] == times_[1]) {
      events_.EndBefore();
    }
  }

  JsonStream& stream_;
  EventMaker& events_;
  std::size_t max_times_;
  std::size_t depth_ = 0;
  std::uint64_t lists_ = 0;  // that ended, of the raw form's
  bool coalesced_ = false;
  bool before_ = true;  // so far the raw form had only events from before the recording
  std::vector<std::int64_t> first_;
  std::vector<std::int64_t> times_;
  std::size_t rows_ = 0;
  std::vector<std::int64_t> numbers_;
};

// The first list's numbers, as far as the head goes; none when it is not a list of whole numbers.
std::optional<std::vector<std::int64_t>> FirstList(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::size_t at = 0;
  for (int bracket = 0; bracket < 2; ++bracket) {
    at = text.find_first_not_of(kSpace, at);
    if (at == std::string_view::npos || text[at++] != '[') {
      return std::nullopt;
    }
  }
  std::vector<std::int64_t> numbers;
  while (true) {
    at = text.find_first_not_of(kSpace, at);
    if (at == std::string_view::npos) {
      return numbers;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error != std::errc{}) {
      return std::nullopt;
    }
    numbers.push_back(number);
    at = text.find_first_not_of(kSpace, static_cast<std::size_t>(end - text.data()));
    if (at == std::string_view::npos || text[at] == ']') {
      return numbers;
    }
    if (text[at++] != ',') {
      return std::nullopt;
    }
  }
}

}  // namespace

Match TorchTimelineReader::Sniff(std::span<const std::byte> head) const {
  const auto numbers = FirstList(AsText(head));
  if (!numbers || numbers->empty()) {
    return Match::kNo;
  }
  const std::vector<std::int64_t>& first = *numbers;
  const bool raw = first.size() == kRawFields && first[0] >= -1 && first[1] >= kPreexisting &&
                   first[1] <= kDestroy && first[3] >= 0 && first[3] < 8;
  const bool times = first.front() >= -1 && std::is_sorted(first.begin(), first.end());
  return raw || times ? Match::kPossible : Match::kNo;
}

Result<Recording> TorchTimelineReader::Read(ByteWindow& in, const Limits& limits) const {
  RecordingBuilder builder;
  builder.Intern({});
  EventMaker events(builder);
  JsonStream stream(in, limits);
  TimelineHandler handler(stream, events, limits);
  ParseJson(stream, handler);
  handler.Finish();
  builder.metadata().format = name();
  builder.metadata().format_display = handler.coalesced()
                                          ? "PyTorch memory timeline (sums by category)"
                                          : "PyTorch memory timeline (raw events)";
  builder.metadata().origin = {.framework = Framework::kPyTorch, .kind = RecordingKind::kTrace};
  builder.metadata().frames_are_scopes = true;
  builder.AddBlindSpot("which device", "the file holds one and does not name it");
  builder.AddBlindSpot("the code that allocated", "the file holds categories only");
  if (handler.coalesced()) {
    builder.AddBlindSpot("single allocations", "the file holds sums by category");
  }
  builder.SetHistory(std::move(events).Finish());
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
