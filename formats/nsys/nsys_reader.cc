#include "nsys/nsys_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording_builder.h"
#include "nsys/export.h"
#include "sqlite/database_file.h"
#include "support/byte_cursor.h"
#include "support/history/address_events.h"

namespace memtool::formats {

namespace {

using nsys::Export;
using nsys::MemKind;
using nsys::MemoryRow;
using nsys::RangeRow;

struct KindFacts {
  std::string_view name;
  DomainKind domain;
  bool host;  // on no device
};
// By the number of the kind.
constexpr std::array<KindFacts, 8> kKinds{{{"pageable", DomainKind::kHost, true},
                                           {"pinned", DomainKind::kPinned, true},
                                           {"device", DomainKind::kDevice, false},
                                           {"array", DomainKind::kDevice, false},
                                           {"managed", DomainKind::kManaged, false},
                                           {"static", DomainKind::kDevice, false},
                                           {"managed static", DomainKind::kManaged, false},
                                           {"unknown", DomainKind::kDevice, false}}};

const KindFacts& MakeFacts(MemKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

// The innermost pushed range of a thread at each time asked for; times must not step back.
class OpenRanges {
 public:
  explicit OpenRanges(const std::vector<RangeRow>& ranges) : ranges_(ranges) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (ranges[i].nests) {
        threads_[ranges[i].thread].rows.push_back(i);
      }
    }
  }

  // None outside of all.
  const RangeRow* At(std::int64_t thread, std::int64_t time) {
    const auto found = threads_.find(thread);
    if (found == threads_.end()) {
      return nullptr;
    }
    Thread& one = found->second;
    for (; one.next < one.rows.size() && ranges_[one.rows[one.next]].begin <= time; ++one.next) {
      one.open.push_back(one.rows[one.next]);
    }
    while (!one.open.empty() && ranges_[one.open.back()].end.value_or(INT64_MAX) < time) {
      one.open.pop_back();
    }
    return one.open.empty() ? nullptr : &ranges_[one.open.back()];
  }

 private:
  struct Thread {
    std::vector<std::size_t> rows;  // by begin
    std::size_t next = 0;
    std::vector<std::size_t> open;  // outermost first
  };
  const std::vector<RangeRow>& ranges_;
  KeyMap<std::int64_t, Thread> threads_;
};

// Call chains as stacks, each once.
class Stacks {
 public:
  Stacks(RecordingBuilder& builder, const Export& input) : builder_(builder), input_(input) {}

  // Without a chain the call itself is the only frame; none when that is unknown too.
  StackId Of(const MemoryRow& row) {
    const auto chain = input_.chains.find(row.chain);
    if (chain != input_.chains.end() && !chain->second.empty()) {
      const auto [known, added] = of_chain_.try_emplace(row.chain);
      if (added) {
        std::vector<LocationId> locations;
        locations.reserve(chain->second.size());
        for (const nsys::ChainFrame& frame : chain->second) {
          locations.push_back(Location(frame));
        }
        known->second = builder_.AddStack(locations);
      }
      return known->second;
    }
    const std::string_view call = Text(row.call_name);
    if (call.empty()) {
      return {};
    }
    const auto [known, added] = of_call_.try_emplace(row.call_name);
    if (added) {
      known->second = builder_.AddStack(std::array{Location({.symbol = row.call_name})});
    }
    return known->second;
  }

  [[nodiscard]] std::string_view Text(std::int64_t id) const {
    const auto found = input_.strings.find(id);
    return found == input_.strings.end() ? std::string_view() : std::string_view(found->second);
  }

 private:
  LocationId Location(const nsys::ChainFrame& frame) {
    const auto [known, added] = locations_.try_emplace({frame.symbol, frame.module, frame.address});
    if (!added) {
      return known->second;
    }
    memtool::Location location{.mapping = GetMapping(frame.module), .address = frame.address};
    const std::string_view symbol = Text(frame.symbol);
    // An address for a name is none.
    if (symbol.empty() || symbol.starts_with("0x")) {
      known->second = builder_.AddLocation(location, {});
      return known->second;
    }
    const auto [at, is_new] = names_.try_emplace(frame.symbol);
    if (is_new) {
      at->second = builder_.Intern(symbol);
    }
    const StringId name = at->second;
    const std::array<Line, 1> line{
        {{.function = builder_.AddFunction(
              {.name = name, .system_name = name, .filename = StringId(0U)})}}};
    known->second = builder_.AddLocation(location, line);
    return known->second;
  }

  MappingId GetMapping(std::int64_t module) {
    const std::string_view path = Text(module);
    if (path.empty()) {
      return {};
    }
    const auto [known, added] = mappings_.try_emplace(module);
    if (added) {
      known->second =
          builder_.AddMapping({.filename = builder_.Intern(path), .build_id = StringId(0U)});
    }
    return known->second;
  }

  RecordingBuilder& builder_;
  const Export& input_;
  KeyMap<std::int64_t, StackId> of_chain_;
  KeyMap<std::int64_t, StackId> of_call_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::uint64_t>, LocationId> locations_;
  KeyMap<std::int64_t, StringId> names_;  // by symbol
  KeyMap<std::int64_t, MappingId> mappings_;
};

// A list of events for each process, device and kind of memory.
class ExportHistory {
 public:
  ExportHistory(RecordingBuilder& builder, const Export& input)
      : builder_(builder), input_(input), stacks_(builder, input), open_(input.ranges) {}

  History Make() {
    for (const MemoryRow& row : input_.memory) {
      Add(row);
    }
    History history = std::move(events_).Finish(input_.utc ? Clock::kUnix : Clock::kRelative);
    AddMarks(history);
    return history;
  }

  [[nodiscard]] std::uint64_t unknown_frees() const { return unknown_frees_; }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  [[nodiscard]] bool has_chains() const { return !input_.chains.empty(); }

 private:
  [[nodiscard]] std::int64_t GetTime(std::int64_t time) const {
    return SaturatingAdd(time, input_.utc.value_or(0));
  }

  // What a free says of device, kind and size is only needed where its allocation is unknown.
  void Add(const MemoryRow& row) {
    const auto place = GetPlace(row);
    Event event{.key = row.address,
                .size = row.bytes.value_or(0),
                .time = GetTime(row.time),
                .stack = stacks_.Of(row),
                .stream = events_.StreamOf(row.stream),
                .domain = place.value_or(0),
                .action = Action::kAlloc};
    const LabelSetId labels = MakeLabels(row);
    const auto space = static_cast<std::uint64_t>(row.process);
    if (row.frees) {
      const bool known = events_.Free(space, event, row.bytes, place, labels);
      unknown_frees_ += known || row.bytes ? 0 : 1;
      left_out_ += !known && row.bytes ? 1 : 0;
    } else if (place) {
      events_.Allocate(space, event, labels);
    } else {
      ++left_out_;
    }
  }

  // None for what is beyond the most that a history has.
  std::optional<std::uint8_t> GetPlace(const MemoryRow& row) {
    const KindFacts& facts = MakeFacts(row.kind);
    const auto device = static_cast<std::int32_t>(facts.host ? -1 : row.device);
    const auto [known, added] = places_.try_emplace({row.process, device, row.kind});
    if (added) {
      const auto gpu = input_.gpus.find(device);
      const bool bounded = facts.domain == DomainKind::kDevice && gpu != input_.gpus.end();
      known->second = events_.AddPlace({.trace = ToName(row.process, device, row.kind),
                                        .domain = std::string(facts.name),
                                        .device = device,
                                        .kind = facts.domain,
                                        .capacity = bounded ? gpu->second.memory : std::nullopt,
                                        .process = row.process,
                                        .rank = static_cast<std::int64_t>(row.kind)});
    }
    return known->second;
  }

  [[nodiscard]] std::string_view ToText(const RangeRow& range) const {
    return range.text_id < 0 ? std::string_view(input_.names[range.text])
                             : stacks_.Text(range.text_id);
  }

  LabelSetId MakeLabels(const MemoryRow& row) {
    std::vector<Label> labels;
    const auto add = [&](std::string_view key, std::string_view text) {
      if (!text.empty()) {
        labels.push_back(
            {.key = builder_.Intern(key), .text = builder_.Intern(text), .unit = StringId(0U)});
      }
    };
    add("ledger", MakeFacts(row.kind).name);
    if (input_.processes.size() > 1) {
      add("process", ProcessText(row.process));
    }
    if (const RangeRow* range = open_.At(row.thread, row.time)) {
      add("nvtx", ToText(*range));
    }
    add("variable", input_.names[row.name]);
    if (row.pool != 0) {
      add("pool", fmt::format("{:#x}", row.pool));
    }
    return builder_.InternLabels(labels);
  }

  [[nodiscard]] std::string ProcessText(std::int64_t process) const {
    const std::string& name = input_.processes.at(process);
    return name.empty() ? fmt::format("{}", nsys::ToPid(process))
                        : fmt::format("{} {}", nsys::ToPid(process), name);
  }

  [[nodiscard]] std::string ToName(std::int64_t process, std::int32_t device, MemKind kind) const {
    const bool several = input_.processes.size() > 1;
    const bool plain = kind == MemKind::kDevice;
    if (plain && !several && device >= 0) {
      return fmt::format("{}", device);
    }
    const bool host = MakeFacts(kind).host;
    std::string name = host ? "host" : device >= 0 ? fmt::format("cuda:{}", device) : "no device";
    name += plain ? "" : fmt::format(" {}", MakeFacts(kind).name);
    return several ? fmt::format("{} (pid {})", name, nsys::ToPid(process)) : name;
  }

  void AddMarks(History& history) const {
    history.marks.reserve(input_.ranges.size());
    for (const RangeRow& range : input_.ranges) {
      history.marks.push_back({.name = std::string(ToText(range)),
                               .begin = GetTime(range.begin),
                               .end = range.end ? GetTime(*range.end) : kNoTime});
    }
  }

  RecordingBuilder& builder_;
  const Export& input_;
  Stacks stacks_;
  OpenRanges open_;
  AddressEvents events_;
  KeyMap<std::tuple<std::int64_t, std::int32_t, MemKind>, std::optional<std::uint8_t>> places_;
  std::uint64_t unknown_frees_ = 0;
  std::uint64_t left_out_ = 0;
};

void Describe(const Export& input, RecordingBuilder& builder) {
  Metadata& metadata = builder.metadata();
  metadata.format_display = input.product.empty()
                                ? "Nsight Systems export"
                                : fmt::format("Nsight Systems {} export", input.product);
  metadata.origin = {
      .framework = Framework::kDriver, .kind = RecordingKind::kDriverLog, .schema = input.version};
  metadata.time_nanos = input.utc.value_or(0);
  if (input.processes.size() == 1) {
    metadata.origin.process = nsys::ToPid(input.processes.begin()->first);
  }
  for (const auto& [ordinal, gpu] : input.gpus) {
    if (static_cast<std::size_t>(ordinal) == metadata.origin.device_names.size()) {
      metadata.origin.device_names.push_back(gpu.name);
    }
  }
}

void AddNotes(const Export& input, const ExportHistory& maker, RecordingBuilder& builder) {
  builder.AddDiagnostic(Severity::kDamage, "skipped_row",
                        "memory events without a time, an address, an operation or a size",
                        input.damaged_rows);
  builder.AddDiagnostic(Severity::kWarning, "unknown_free",
                        "frees without a size whose allocation the export does not hold",
                        maker.unknown_frees());
  builder.AddDiagnostic(
      Severity::kDamage, "skipped_row",
      "memory events beyond 250 combinations of process, device and kind of memory",
      maker.left_out());
  builder.AddDiagnostic(Severity::kWarning, "skipped_mark", "NVTX ranges beyond the first 200,000",
                        input.ranges_left_out);
  if (!maker.has_chains()) {
    builder.AddBlindSpot("the code that allocated",
                         "recorded without --cudabacktrace=memory: no call stacks, at most the "
                         "name of the CUDA call");
  }
  builder.AddBlindSpot("what a caching allocator hands out",
                       "Nsight Systems sees the memory that PyTorch, JAX or TensorFlow take from "
                       "the driver, not their tensors in it");
}

}  // namespace

Match NsysReader::Sniff(std::span<const std::byte> head) const {
  return sqlite::IsDatabase(head) ? Match::kCertain : Match::kNo;
}

Result<Recording> NsysReader::Read(ByteWindow& in, const Limits& limits) const {
  auto file = sqlite::DatabaseFile::Open(in, limits);
  MEMTOOL_TRY(file);
  const auto input = nsys::ReadExport(*file, limits);
  MEMTOOL_TRY(input);
  RecordingBuilder builder;
  builder.Intern({});
  Describe(*input, builder);
  ExportHistory maker(builder, *input);
  builder.SetHistory(maker.Make());
  AddNotes(*input, maker, builder);
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
