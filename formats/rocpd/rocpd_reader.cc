#include "rocpd/rocpd_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "memtool/profile/model/recording_builder.h"
#include "rocpd/tables.h"
#include "sqlite/database_file.h"
#include "support/byte_cursor.h"
#include "support/history/address_events.h"

namespace memtool::formats {

namespace {

class DatabaseHistory {
 public:
  DatabaseHistory(RecordingBuilder& builder, rocpd::Tables& input, const Limits& limits)
      : input_(input),
        labels_(builder),
        code_(
            builder, {input.spans.data(), input.spans.size()},
            [&input](std::uint32_t name) {
              return CodePlace{.function = input.names[name], .file = {}};
            },
            limits.depth),
        spaces_(input.sources.size(), 0),
        places_(input.sources.size()) {
    FindProcesses();
    FindAround();
  }

  History Make() {
    constexpr std::size_t kAtOnce = std::size_t{1} << 17U;  // pages go back as rows become events
    for (std::size_t row = 0; row < input_.memory.size(); ++row) {
      Add(input_.memory[row], nodes_.empty() ? 0 : nodes_[row]);
      if (row % kAtOnce == 0 && row > 0) {
        input_.memory.Forget(row - kAtOnce, row);
      }
    }
    input_.memory = {};
    nodes_ = {};
    counts_.damaged = input_.damaged_rows;
    counts_.null_frees = input_.null_frees;
    counts_.reopened = events_.reopened();
    History history = std::move(events_).Finish(Clock::kRelative);
    for (const rocpd::Range& range : input_.ranges) {
      history.marks.push_back(
          {.name = input_.names[range.name], .begin = range.begin, .end = range.end});
    }
    return history;
  }

  [[nodiscard]] const rocm::Counts& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t cut_stacks() const { return code_.cut(); }
  [[nodiscard]] bool has_stacks() const {
    return code_.nodes().size() > 1 || input_.has_call_stacks;
  }
  // Of the only process.
  [[nodiscard]] std::optional<std::int64_t> process() const {
    return several_ ? std::nullopt : std::optional(PidOf(input_.sources.front()));
  }

 private:
  [[nodiscard]] std::int64_t PidOf(const rocpd::Source& source) const {
    const auto known = input_.processes.find(std::pair(source.part, source.process));
    return known == input_.processes.end() ? source.process : known->second.pid;
  }

  // An address means the same within the memory of one level of one process.
  void FindProcesses() {
    KeyMap<std::tuple<std::uint32_t, std::int64_t, rocm::Level>, std::uint64_t> spaces;
    for (std::size_t i = 0; i < input_.sources.size(); ++i) {
      const rocpd::Source& source = input_.sources[i];
      const rocpd::Source& first = input_.sources.front();
      several_ = several_ ||
                 std::pair(source.part, source.process) != std::pair(first.part, first.process);
      spaces_[i] =
          spaces.emplace(std::tuple(source.part, source.process, source.level), spaces.size())
              .first->second;
    }
  }

  // The calls around each row, and of each node the innermost range of roctx in it.
  void FindAround() {
    if (input_.spans.empty()) {
      return;
    }
    nodes_ = code_.Around(input_.memory.size(), [this](std::size_t row) {
      const rocpd::MemoryRow& memory = input_.memory[row];
      return CodeInstant{.time = memory.time, .thread = input_.origins[memory.origin()].thread};
    });
    code_.ForgetSpans();
    input_.spans = {};
    ranges_.assign(code_.nodes().size(), kNoRange);
    for (std::size_t node = 1; node < ranges_.size(); ++node) {
      const CodeStacks::Node& at = code_.nodes()[node];
      ranges_[node] = input_.is_range[at.name] ? at.name : ranges_[at.parent];
    }
  }

  void Add(const rocpd::MemoryRow& row, std::uint32_t node) {
    const rocpd::Origin& origin = input_.origins[row.origin()];
    const rocpd::Type type = row.type();
    Event event{.key = row.address,
                .size = row.size,
                .time = row.time,
                .stack = row.stack.valid() ? row.stack : code_.GetStack(node),
                .stream = events_.StreamOf(origin.stream),
                .action = Action::kAlloc};
    const LabelSetId labels = LabelsOf(origin.source, ranges_.empty() ? kNoRange : ranges_[node]);
    const std::uint64_t space = spaces_[origin.source];
    if (type != rocpd::Type::kAlloc) {
      const auto size =
          type == rocpd::Type::kFree && row.size > 0 ? std::optional(row.size) : std::nullopt;
      const bool known =
          events_.Free(space, event, size, size ? PlaceOf(origin.source) : std::nullopt, labels);
      counts_.unknown_frees += known || type == rocpd::Type::kRealloc ? 0 : 1;
    }
    if (type == rocpd::Type::kAlloc || type == rocpd::Type::kRealloc) {
      const auto place = PlaceOf(origin.source);
      event.domain = place.value_or(0);
      if (place) {
        events_.Allocate(space, event, labels);
      } else {
        ++counts_.left_out;
      }
    }
  }

  std::optional<std::uint8_t> PlaceOf(std::uint32_t row) {
    auto& place = places_[row];
    if (!place) {
      const rocpd::Source& source = input_.sources[row];
      const auto agent = input_.agents.find(std::pair(source.part, source.agent));
      place = events_.AddPlace(
          rocm::MakePlace(agent == input_.agents.end() ? rocm::ParseAgent({}) : agent->second,
                          source.level, several_ ? std::optional(PidOf(source)) : std::nullopt));
    }
    return *place;
  }

  LabelSetId LabelsOf(std::uint32_t row, std::uint32_t range) {
    const auto [known, added] = label_index_.try_emplace({row, range});
    if (added) {
      const rocpd::Source& source = input_.sources[row];
      known->second =
          labels_.Of(source.level, several_ ? fmt::format("{}", PidOf(source)) : std::string(),
                     range == kNoRange ? std::string_view() : input_.names[range]);
    }
    return known->second;
  }

  static constexpr std::uint32_t kNoRange = UINT32_MAX;

  rocpd::Tables& input_;
  rocm::Labels labels_;
  CodeStacks code_;
  AddressEvents events_;
  bool several_ = false;                                            // processes
  std::vector<std::uint64_t> spaces_;                               // per source
  std::vector<std::optional<std::optional<std::uint8_t>>> places_;  // per source, once it is asked
  std::vector<std::uint32_t> nodes_;                                // per row: of code_
  std::vector<std::uint32_t> ranges_;                               // per node: a name
  KeyMap<std::pair<std::uint32_t, std::uint32_t>, LabelSetId> label_index_;
  rocm::Counts counts_;
};

void AddNotes(const rocpd::Tables& input, const DatabaseHistory& maker, RecordingBuilder& builder) {
  rocm::AddNotes(builder, maker.counts());
  builder.AddDiagnostic(Severity::kWarning, "skipped_mark",
                        "ranges of roctx beyond the first 200,000", input.ranges_left_out);
  builder.AddDiagnostic(Severity::kWarning, "deep_stack",
                        "frames deeper than --max depth: left out", input.deep_frames);
  builder.AddDiagnostic(Severity::kDamage, "damaged_stack",
                        "call stacks that are no JSON: left out", input.damaged_stacks);
  builder.AddDiagnostic(Severity::kWarning, "deep_stack",
                        "stacks deeper than --max depth: their outermost frames are left out",
                        maker.cut_stacks());
  if (!maker.has_stacks()) {
    builder.AddBlindSpot("the code that allocated",
                         "recorded without --hip-trace and --marker-trace: no calls and no ranges "
                         "of roctx around the allocations");
  }
}

}  // namespace

Match RocpdReader::Sniff(std::span<const std::byte> head) const {
  // Its tables are the first that are made, so that their names are near the front.
  return sqlite::IsDatabase(head) && AsText(head).find("rocpd_string") != std::string_view::npos
             ? Match::kCertain
             : Match::kNo;
}

Result<Recording> RocpdReader::Read(ByteWindow& in, const Limits& limits) const {
  auto file = sqlite::DatabaseFile::Open(in, limits);
  MEMTOOL_TRY(file);
  RecordingBuilder builder;
  builder.Intern({});
  auto input = rocpd::ReadTables(*file, builder, limits);
  MEMTOOL_TRY(input);
  DatabaseHistory maker(builder, *input, limits);
  builder.SetHistory(maker.Make());
  Metadata& metadata = builder.metadata();
  metadata.format_display = input->version.empty()
                                ? "rocpd database"
                                : fmt::format("rocpd database (schema {})", input->version);
  metadata.origin = {.framework = Framework::kDriver,
                     .kind = RecordingKind::kDriverLog,
                     .schema = input->version,
                     .host = input->host,
                     .process = maker.process()};
  AddNotes(*input, maker, builder);
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
