#include "rmm/raft_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/model/recording_builder.h"
#include "rmm/raft_events.h"
#include "rmm/raft_resources.h"
#include "support/byte_cursor.h"
#include "support/history/address_events.h"
#include "support/read_error.h"
#include "support/text/csv_fields.h"
#include "support/text/lines.h"

namespace memtool::formats {

namespace {

using raft::ResourceFacts;

constexpr std::string_view kRaftHeader = "timestamp_us,nvtx_depth,nvtx_range";
constexpr std::string_view kCurrent = "_current";
constexpr std::string_view kTotal = "_total";
constexpr std::size_t kMaxHeader = std::size_t{64} << 10U;

// The names of resources; none when the line is not a header.
std::optional<std::vector<std::string>> ParseRaftHeader(std::string_view line) {
  CsvFields fields;
  if (!line.starts_with(kRaftHeader) || !fields.Split(line) || fields.size() % 2 == 0) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (std::size_t i = 3; i < fields.size(); i += 2) {
    const std::string_view current = fields[i];
    const std::string_view name =
        current.substr(0, current.size() - std::min(current.size(), kCurrent.size()));
    if (!current.ends_with(kCurrent) || fields[i + 1] != fmt::format("{}{}", name, kTotal)) {
      return std::nullopt;
    }
    names.emplace_back(name);
  }
  return names.empty() ? std::nullopt : std::optional(std::move(names));
}

// Of what was allocated within a range, and of what goes on with a part of it.
struct RangeLabels {
  LabelSetId plain;
  LabelSetId continued;
};

struct Counters {
  std::int64_t current = 0;
  std::int64_t total = 0;
};

// Ranges are quoted and not escaped: a row is split from both ends, and what is left is the range.
struct SampleRow {
  std::int64_t time = 0;  // ns
  std::string_view range;
  std::vector<Counters> counters;

  bool Parse(std::string_view line, std::size_t resources) {
    counters.resize(resources);
    for (std::size_t i = resources; i-- > 0;) {
      if (!TakeLast(line, counters[i].total) || !TakeLast(line, counters[i].current)) {
        return false;
      }
    }
    const auto micros = TakeNumber<std::int64_t>(line);
    if (!micros || *micros < 0 || !line.starts_with(',')) {
      return false;
    }
    line.remove_prefix(1);
    const auto depth = TakeNumber<std::int64_t>(line);
    if (!depth || !line.starts_with(",\"") || !line.ends_with('"') || line.size() < 3) {
      return false;
    }
    constexpr std::int64_t kMicro = 1000;
    time = SaturatingMultiply(*micros, kMicro);
    range = line.substr(2, line.size() - 3);
    return true;
  }

 private:
  static bool TakeLast(std::string_view& line, std::int64_t& value) {
    const std::size_t comma = line.rfind(',');
    if (comma == std::string_view::npos) {
      return false;
    }
    const auto number = ParseNumber<std::int64_t>(line.substr(comma + 1));
    line = line.substr(0, comma);
    value = number.value_or(-1);
    return value >= 0;
  }
};

// What a resource held, as events: growth is an allocation by the range in which it was seen, and
// what is given back is the newest.
class Resource {
 public:
  Resource(RecordingBuilder& builder, AddressEvents& events, std::string name)
      : events_(events), name_(std::move(name)) {
    facts_ = raft::FactsOf(name_);
    const StringId function = builder.Intern(name_);
    const std::array<Line, 1> line{
        {{.function = builder.AddFunction(
              {.name = function, .system_name = function, .filename = StringId(0U)})}}};
    stack_ = builder.AddStack(std::array{builder.AddLocation({}, line)});
  }

  [[nodiscard]] const ResourceFacts& facts() const { return facts_; }
  [[nodiscard]] std::int64_t held() const { return last_.current; }
  void SetPlace(std::uint8_t place) { place_ = place; }

  // Once per sample, before Become(): the total never falls, and grows by at least what the current
  // bytes do.
  void Check(const Counters& now) {
    const std::int64_t grown = SaturatingSubtract(now.current, last_.current);
    const std::int64_t total = SaturatingSubtract(now.total, last_.total);
    grown_ = SaturatingAdd(grown_, std::max<std::int64_t>(grown, 0));
    if (started_) {
      ++checked_;
      agreeing_ += total >= 0 && total >= grown ? 1 : 0;
    }
    started_ = true;
  }

  // `labels`: of the range, and of what goes on with a part of an earlier piece.
  void Become(const Counters& now, std::int64_t time, RangeLabels labels, std::uint64_t& keys) {
    std::int64_t less = SaturatingSubtract(last_.current, now.current);
    if (less < 0) {
      Begin({.key = ++keys, .size = -less, .labels = labels}, time, labels.plain);
    }
    while (less > 0 && !pieces_.empty()) {
      Piece piece = pieces_.back();
      pieces_.pop_back();
      events_.Free(0, EventOf(piece, time), {}, {}, piece.labels.plain);
      less = SaturatingSubtract(less, piece.size);
      if (less < 0) {
        piece.size = -less;
        Begin(piece, time, piece.labels.continued);
      }
    }
    last_ = now;
  }

  // How many samples could be compared with the one before, and how many fit.
  [[nodiscard]] std::uint64_t checked() const { return checked_; }
  [[nodiscard]] std::uint64_t agreeing() const { return agreeing_; }

  // What came and went between two samples; none when no sample shows it.
  [[nodiscard]] std::optional<std::string> Unseen() const {
    const std::int64_t unseen = SaturatingSubtract(last_.total, grown_);
    return unseen <= 0 ? std::nullopt
                       : std::optional(fmt::format(
                             "{} allocated {} in all, {} of it came and went between two samples",
                             name_, FormatSize(last_.total), FormatSize(unseen)));
  }

 private:
  struct Piece {
    std::uint64_t key = 0;
    std::int64_t size = 0;
    RangeLabels labels;
  };

  void Begin(const Piece& piece, std::int64_t time, LabelSetId labels) {
    pieces_.push_back(piece);
    events_.Allocate(0, EventOf(piece, time), labels);
  }
  [[nodiscard]] Event EventOf(const Piece& piece, std::int64_t time) const {
    return {.key = piece.key,
            .size = piece.size,
            .time = time,
            .stack = stack_,
            .domain = place_,
            .action = Action::kAlloc};
  }

  AddressEvents& events_;
  std::string name_;
  ResourceFacts facts_{};
  StackId stack_;
  std::uint8_t place_ = 0;
  bool started_ = false;
  Counters last_;
  std::vector<Piece> pieces_;  // the newest last
  std::int64_t grown_ = 0;
  std::uint64_t checked_ = 0;
  std::uint64_t agreeing_ = 0;
};

class TrackingLog {
 public:
  TrackingLog(ByteWindow& in, const Limits& limits, RecordingBuilder& builder)
      : lines_(in, limits), builder_(builder) {}

  void Read() {
    std::string_view line;
    auto names = lines_.Next(line) ? ParseRaftHeader(line) : std::nullopt;
    if (!names || names->size() > raft::kMaxResources) {
      ThrowRead(ErrorCode::kMalformed, 0, "line 1", "not the header of RAFT's tracking CSV");
    }
    AddResources(*std::move(names));
    SampleRow row;
    while (lines_.Next(line)) {
      if (line.empty() || line.starts_with(kRaftHeader)) {
        continue;
      }
      if (!row.Parse(line, resources_.size())) {
        ++damaged_;
        continue;
      }
      lines_.CheckRows(++rows_);
      Take(row);
    }
    if (rows_ == 0) {
      ThrowRead(ErrorCode::kMalformed, 0, {}, "there is no sample in it");
    }
  }

  void Finish() {
    builder_.AddDiagnostic(Severity::kDamage, "skipped_row",
                           "samples that are cut short or not whole", damaged_);
    for (const Resource& resource : resources_) {
      if (const auto unseen = resource.Unseen()) {
        builder_.AddDiagnostic(
            {.severity = Severity::kNote, .code = "between_samples", .message = *unseen});
      }
    }
    History history = std::move(events_).Finish(Clock::kRelative);
    for (const Resource& resource : resources_) {
      raft::AddChecks(history, resource.facts(), resource.checked(), resource.agreeing());
    }
    builder_.SetHistory(std::move(history));
  }

 private:
  void AddResources(std::vector<std::string> names) {
    raft::Places places;
    resources_.reserve(names.size());  // facts of unknown ones refer to their names
    for (std::string& name : names) {
      Resource& resource = resources_.emplace_back(builder_, events_, std::move(name));
      resource.SetPlace(places.Of(resource.facts(), events_));
    }
  }

  // What shrinks comes first, so that no sum is higher than those before and after.
  void Take(const SampleRow& row) {
    last_ = std::max(last_, row.time);
    const RangeLabels labels = LabelsOf(row.range);
    for (std::size_t i = 0; i < resources_.size(); ++i) {
      resources_[i].Check(row.counters[i]);
      if (row.counters[i].current < resources_[i].held()) {
        resources_[i].Become(row.counters[i], last_, labels, keys_);
      }
    }
    for (std::size_t i = 0; i < resources_.size(); ++i) {
      resources_[i].Become(row.counters[i], last_, labels, keys_);
    }
  }

  RangeLabels LabelsOf(std::string_view range) {
    const auto known = labels_.find(range);
    if (known != labels_.end()) {
      return known->second;
    }
    std::vector<Label> labels;
    const auto add = [&](std::string_view key, std::string_view text) {
      labels.push_back(
          {.key = builder_.Intern(key), .text = builder_.Intern(text), .unit = StringId(0U)});
    };
    if (!range.empty()) {
      add("nvtx", range);
    }
    const LabelSetId plain = builder_.InternLabels(labels);
    add(kContinues, "what is left of a piece");
    const LabelSetId continued = builder_.InternLabels(labels);
    return labels_.emplace(range, RangeLabels{plain, continued}).first->second;
  }

  Lines lines_;
  RecordingBuilder& builder_;
  AddressEvents events_;
  std::vector<Resource> resources_;
  KeyMap<std::string, RangeLabels> labels_;  // by range
  std::uint64_t keys_ = 0;
  std::int64_t last_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace

Match RaftReader::Sniff(std::span<const std::byte> head) const {
  const std::string_view text = AsText(head);
  const std::string_view first = text.substr(0, text.find_first_of("\r\n"));
  return ParseRaftHeader(first) || raft::IsEventHeader(first) ? Match::kCertain : Match::kNo;
}

Result<Recording> RaftReader::Read(ByteWindow& in, const Limits& limits) const {
  RecordingBuilder builder;
  builder.Intern({});
  Metadata& metadata = builder.metadata();
  metadata.format_display = "RAFT tracking CSV";
  metadata.origin = {.framework = Framework::kRapids, .kind = RecordingKind::kTrace};
  metadata.frames_are_scopes = true;
  const std::string_view head = AsText(in.Fill(kMaxHeader));
  if (raft::IsEventHeader(head.substr(0, head.find_first_of("\r\n")))) {
    raft::ReadEvents(in, limits, builder);
    builder.AddBlindSpot("addresses",
                         "rows have sizes: what is freed is taken to be the newest of its size");
  } else {
    TrackingLog log(in, limits, builder);
    log.Read();
    log.Finish();
    builder.AddBlindSpot("single allocations",
                         "the file has samples of counters: growth counts for the range in which "
                         "it was seen, and what is given back is taken to be the newest");
  }
  builder.AddBlindSpot("which device", "the file holds one and does not name it");
  builder.AddBlindSpot("the code that allocated", "rows have an NVTX range");
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
