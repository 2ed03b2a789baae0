#include "rocprof/rocprof_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "memtool/profile/base/numbers.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/byte_cursor.h"
#include "support/history/address_events.h"
#include "support/history/rocm_memory.h"
#include "support/read_error.h"
#include "support/text/csv_fields.h"
#include "support/text/lines.h"

namespace memtool::formats {

namespace {

using rocm::Level;

enum TraceColumn : std::size_t { kOperation, kAgent, kSize, kAddress, kStart, kEnd, kColumns };
constexpr std::array<std::string_view, kColumns> kTraceColumns{
    "Operation", "Agent_Id", "Allocation_Size", "Address", "Start_Timestamp", "End_Timestamp"};

struct AllocationOperation {
  std::string_view name;
  Level level;
  bool frees;
};
constexpr std::array<AllocationOperation, 4> kOperations{
    {{"MEMORY_ALLOCATION_ALLOCATE", Level::kReal, false},
     {"MEMORY_ALLOCATION_VMEM_ALLOCATE", Level::kVirtual, false},
     {"MEMORY_ALLOCATION_FREE", Level::kReal, true},
     {"MEMORY_ALLOCATION_VMEM_FREE", Level::kVirtual, true}}};

std::optional<CsvColumns<kColumns>> FindColumns(std::string_view line) {
  CsvFields fields;
  return fields.Split(line) ? CsvColumns<kColumns>::Find(kTraceColumns, fields) : std::nullopt;
}

std::optional<std::uint64_t> ParseAddress(std::string_view text) {
  return text.starts_with("0x") ? ParseNumber<std::uint64_t>(text.substr(2), 16)
                                : ParseNumber<std::uint64_t>(text);
}

// A row, in the order of time. Frees have no agent.
struct AllocationRow {
  std::int64_t time = 0;
  std::uint64_t address = 0;
  std::int64_t size = 0;
  std::uint32_t agent = 0;
  Level level = Level::kReal;
  bool frees = false;
};

class AllocationTrace {
 public:
  AllocationTrace(ByteWindow& in, const Limits& limits) : lines_(in, limits) {}

  void Read() {
    std::string_view line;
    if (lines_.Next(line)) {
      columns_ = FindColumns(line);
    }
    if (!columns_) {
      ThrowRead(ErrorCode::kMalformed, 0, "line 1",
                "not the columns of a memory allocation trace of rocprofv3");
    }
    CsvFields fields;
    while (lines_.Next(line)) {
      const bool whole = fields.Split(line);
      // Traces of several processes may have been put together.
      if (line.empty() ||
          (whole && columns_->Get(fields, kOperation) == kTraceColumns[kOperation])) {
        continue;
      }
      if (!whole || !Take(fields)) {
        ++damaged_;
      }
      lines_.CheckRows(rows_.size());
    }
    if (rows_.empty() && damaged_ > 0) {
      ThrowRead(ErrorCode::kMalformed, lines_.offset(), fmt::format("line {}", lines_.number()),
                "none of its rows up to here has an operation, an address and times");
    }
    const auto earlier = [](const AllocationRow& a, const AllocationRow& b) {
      return a.time < b.time;
    };
    if (!std::is_sorted(rows_.begin(), rows_.end(), earlier)) {
      std::stable_sort(rows_.begin(), rows_.end(), earlier);
    }
  }

  void Fill(RecordingBuilder& builder) {
    AddressEvents events;
    rocm::Labels labels(builder);
    for (const AllocationRow& row : rows_) {
      Event event{.key = row.address, .size = row.size, .time = row.time};
      const auto space = static_cast<std::uint64_t>(row.level);
      if (row.frees) {
        unknown_frees_ += events.Free(space, event, {}, {}, labels.Of(row.level)) ? 0 : 1;
        continue;
      }
      const auto place = PlaceOf(row, events);
      if (!place) {
        ++left_out_;
        continue;
      }
      event.domain = *place;
      event.action = Action::kAlloc;
      events.Allocate(space, event, labels.Of(row.level));
    }
    rows_ = {};
    rocm::AddNotes(builder, {.damaged = damaged_,
                             .unknown_frees = unknown_frees_,
                             .reopened = events.reopened(),
                             .left_out = left_out_,
                             .null_frees = null_frees_,
                             .other_operations = other_operations_});
    builder.SetHistory(std::move(events).Finish(Clock::kRelative));
  }

  [[nodiscard]] bool has_unknown_agents() const {
    return std::any_of(agents_.begin(), agents_.end(),
                       [](const rocm::Agent& agent) { return agent.device >= 0 && !agent.gpu; });
  }

 private:
  // False for a row that says nothing.
  bool Take(const CsvFields& fields) {
    const std::string_view name = columns_->Get(fields, kOperation);
    const auto* operation =
        std::find_if(kOperations.begin(), kOperations.end(),
                     [&](const AllocationOperation& o) { return o.name == name; });
    if (operation == kOperations.end()) {
      const bool known = name.starts_with("MEMORY_ALLOCATION_");
      other_operations_ += known ? 1 : 0;
      return known;
    }
    const auto address = ParseAddress(columns_->Get(fields, kAddress));
    const auto size = ParseNumber<std::int64_t>(columns_->Get(fields, kSize));
    const auto time =
        ParseNumber<std::int64_t>(columns_->Get(fields, operation->frees ? kStart : kEnd));
    if (!address || !time || *time < 0 || (!operation->frees && (!size || *size < 0))) {
      return false;
    }
    if (operation->frees && *address == 0) {
      ++null_frees_;
      return true;
    }
    rows_.push_back({.time = *time,
                     .address = *address,
                     .size = size.value_or(0),
                     .agent = operation->frees ? 0 : AgentOf(columns_->Get(fields, kAgent)),
                     .level = operation->level,
                     .frees = operation->frees});
    return true;
  }

  std::uint32_t AgentOf(std::string_view text) {
    const auto known = agent_index_.find(text);
    if (known != agent_index_.end()) {
      return known->second;
    }
    agents_.push_back(rocm::ParseAgent(text));
    return agent_index_.emplace(text, static_cast<std::uint32_t>(agents_.size() - 1)).first->second;
  }

  std::optional<std::uint8_t> PlaceOf(const AllocationRow& row, AddressEvents& events) {
    const auto [known, added] = places_.try_emplace({row.agent, row.level});
    if (added) {
      known->second = events.AddPlace(rocm::MakePlace(agents_[row.agent], row.level, {}));
    }
    return known->second;
  }

  Lines lines_;
  std::optional<CsvColumns<kColumns>> columns_;
  RowVector<AllocationRow> rows_;
  std::vector<rocm::Agent> agents_;
  KeyMap<std::string, std::uint32_t> agent_index_;
  KeyMap<std::pair<std::uint32_t, Level>, std::optional<std::uint8_t>> places_;
  std::uint64_t damaged_ = 0;
  std::uint64_t null_frees_ = 0;
  std::uint64_t other_operations_ = 0;
  std::uint64_t unknown_frees_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace

Match RocprofReader::Sniff(std::span<const std::byte> head) const {
  std::string_view line = AsText(head);
  line = line.substr(0, line.find_first_of("\r\n"));
  return FindColumns(line) ? Match::kCertain : Match::kNo;
}

Result<Recording> RocprofReader::Read(ByteWindow& in, const Limits& limits) const {
  AllocationTrace trace(in, limits);
  trace.Read();
  RecordingBuilder builder;
  builder.Intern({});
  builder.metadata().format_display = "rocprofv3 memory allocation trace";
  builder.metadata().origin = {.framework = Framework::kDriver, .kind = RecordingKind::kDriverLog};
  builder.metadata().default_by = "size";  // there is nothing else to tell rows apart
  trace.Fill(builder);
  builder.AddBlindSpot("the code that allocated",
                       "rocprofv3 --output-format rocpd writes a database, which has the calls and "
                       "roctx ranges around each");
  if (trace.has_unknown_agents()) {
    builder.AddBlindSpot("which agents are GPUs",
                         "\"Agent 2\" is a number among CPUs and GPUs: *_agent_info.csv beside "
                         "the trace says which it is");
  }
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
