#include "xplane/memory_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/model/label_text.h"
#include "support/byte_cursor.h"
#include "support/read_error.h"

namespace memtool::formats::xplane {

namespace {

constexpr std::size_t kMaxAllocators = 250;              // an event names its domain with one byte
constexpr std::int64_t kUnix = 978'307'200'000'000'000;  // 2001: earlier times begin at boot

// The ordinal in "GPU_0_bfc", "TPU_3" or "2"; -1 for memory of the host ("xla_gpu_host_bfc").
std::int32_t GetDevice(std::string_view allocator) {
  if (allocator.find("host") != std::string_view::npos ||
      allocator.find("cpu") != std::string_view::npos) {
    return -1;
  }
  const std::size_t digit = allocator.find_first_of("0123456789");
  if (digit != std::string_view::npos &&
      (digit == 0 || allocator[digit - 1] == '_' || allocator[digit - 1] == ':')) {
    allocator.remove_prefix(digit);
    return TakeNumber<std::int32_t>(allocator).value_or(-1);
  }
  return -1;
}

// TensorFlow's DataType by number (tensorflow/core/framework/types.proto).
std::string_view DataTypeName(std::int64_t type) {
  static constexpr std::pair<std::int64_t, std::string_view> kTypes[]{
      {1, "float32"},   {2, "float64"}, {3, "int32"},       {4, "uint8"},    {5, "int16"},
      {6, "int8"},      {7, "string"},  {8, "complex64"},   {9, "int64"},    {10, "bool"},
      {14, "bfloat16"}, {17, "uint16"}, {18, "complex128"}, {19, "float16"}, {20, "resource"},
      {21, "variant"},  {22, "uint32"}, {23, "uint64"}};
  const auto* it = std::find_if(std::begin(kTypes), std::end(kTypes),
                                [type](const auto& each) { return each.first == type; });
  return it == std::end(kTypes) ? std::string_view{} : it->second;
}

class HistoryMaker {
 public:
  HistoryMaker(RecordingBuilder& builder, const HostEvents& host, const Causes& causes,
               const Join& join, std::int64_t start_ns, JoinFigures& figures)
      : builder_(builder),
        host_(host),
        causes_(causes),
        join_(join),
        figures_(figures),
        // Newer profilers count lines' times from the profile's start.
        zero_ns_(host.base_ns.value_or(0) < kUnix
                     ? SaturatingAdd(host.base_ns.value_or(0), start_ns)
                     : *host.base_ns) {
    history_.streams = {0};
    history_.clock = zero_ns_ > kUnix ? Clock::kUnix : Clock::kRelative;
  }

  History Make() {
    FindMixed();
    for (const auto& [name, rows] : ByAllocator()) {
      AddTrace(name, rows);
    }
    for (const Step& step : host_.steps) {
      history_.marks.push_back(
          {.name = step.name, .begin = GetTime(step.begin_ps), .end = GetTime(step.end_ps)});
    }
    std::stable_sort(history_.marks.begin(), history_.marks.end(),
                     [](const Mark& a, const Mark& b) { return a.begin < b.begin; });
    return std::move(history_);
  }

 private:
  using Rows = std::vector<std::uint32_t>;

  // Stacks and sizes of allocations that are not alike: one is divided by these, and then each kind
  // has a stack of its own.
  void FindMixed() {
    std::map<std::pair<StackId, std::int64_t>, std::pair<std::int64_t, std::uint32_t>> first;
    for (std::uint32_t row = 0; row < host_.memory.size(); ++row) {
      const MemoryEvent& event = host_.memory[row];
      const std::pair key(causes_.stacks[row], event.bytes);
      const std::pair kind(event.requested, causes_.jits[row]);
      if (event.bytes > 0 && first.try_emplace(key, kind).first->second != kind) {
        mixed_.insert(key);
      }
    }
  }

  [[nodiscard]] std::string_view Text(std::uint32_t row) const {
    return row == kNoText ? std::string_view{} : AsText(host_.texts[row]);
  }
  [[nodiscard]] std::int64_t GetTime(std::int64_t ps) const {
    return SaturatingAdd(zero_ns_, ps / 1000);
  }

  // Devices by ordinal, then the host; each allocator's events in the order of their times.
  [[nodiscard]] std::vector<std::pair<std::string, Rows>> ByAllocator() const {
    std::map<std::uint32_t, Rows> rows;
    for (std::uint32_t row = 0; row < host_.memory.size(); ++row) {
      rows[host_.memory[row].allocator].push_back(row);
    }
    if (rows.size() > kMaxAllocators) {
      ThrowRead(ErrorCode::kLimit, 0, {}, fmt::format("events of {} allocators", rows.size()));
    }
    std::vector<std::pair<std::string, Rows>> all;
    for (auto& [name, of_name] : rows) {
      std::stable_sort(of_name.begin(), of_name.end(), [this](auto a, auto b) {
        return host_.memory[a].time_ps < host_.memory[b].time_ps;
      });
      all.emplace_back(name == kNoText ? "(no name)" : std::string(Text(name)), std::move(of_name));
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      const auto key = [](const std::string& name) {
        const std::int32_t device = GetDevice(name);
        return std::tuple(device < 0, device, std::string_view(name));
      };
      return key(a.first) < key(b.first);
    });
    return all;
  }

  void AddTrace(const std::string& name, const Rows& rows) {
    const std::int32_t device = GetDevice(name);
    const DomainId domain(history_.domains.size());
    history_.domains.push_back({.name = name,
                                .device = device,
                                .kind = device < 0 ? DomainKind::kPinned : DomainKind::kDevice,
                                .capacity = GetCapacity(rows)});
    // A runtime that names no allocator counts all that its chip has; other sums are those of a
    // pool.
    if (const auto& capacity = history_.domains.back().capacity;
        capacity && (name == std::to_string(device) || name.find("TPU") != std::string::npos)) {
      builder_.AddCounter(
          {.kind = CounterKind::kDeviceTotal, .device = device, .value = *capacity});
    }
    Trace trace{.device = device,
                .name = name,
                .first_event = history_.events.size(),
                .blocks = domain,
                .segments = domain};
    SetBase(rows, trace);
    Check(rows, trace);
    for (const std::uint32_t row : rows) {
      const MemoryEvent& event = host_.memory[row];
      const Kind& kind = GetKind(row);
      history_.events.push_back(
          {.key = event.address,
           .size = Magnitude(event.bytes),
           .time = GetTime(event.time_ps),
           .stack = kind.stack,
           .domain = static_cast<std::uint8_t>(domain.value()),
           .action = event.bytes < 0 ? Action::kFreeCompleted : Action::kAlloc});
      history_.labels.push_back(MakeLabels(row, kind.match));
    }
    trace.event_count = history_.events.size() - trace.first_event;
    history_.traces.push_back(std::move(trace));
  }

  // What is free and in use after each event, where all agree on the sum.
  [[nodiscard]] std::optional<std::int64_t> GetCapacity(const Rows& rows) const {
    std::optional<std::int64_t> capacity;
    for (const std::uint32_t row : rows) {
      const std::optional<std::int64_t>& stated = host_.memory[row].capacity;
      if (stated && capacity && *stated != *capacity) {
        return std::nullopt;
      }
      capacity = stated ? stated : capacity;
    }
    return capacity;
  }

  // What was there before the trace and outlives it is in no event: the totals tell its sum.
  void SetBase(const Rows& rows, Trace& trace) const {
    KeySet<std::uint64_t> live;
    std::int64_t changed = 0;  // by the events so far
    std::int64_t freed = 0;    // of earlier memory
    std::optional<std::int64_t> base;
    for (const std::uint32_t row : rows) {
      const MemoryEvent& event = host_.memory[row];
      changed = SaturatingAdd(changed, event.bytes);
      if (event.bytes >= 0) {
        live.insert(event.address);
      } else if (live.erase(event.address) == 0) {
        freed = SaturatingSubtract(freed, event.bytes);
      }
      if (!base && event.allocated) {
        base = SaturatingSubtract(*event.allocated, changed);
      }
    }
    trace.preexisting_bytes =
        std::max<std::int64_t>(SaturatingSubtract(base.value_or(0), freed), 0);
  }

  // The allocator counts what is in use itself: where that and the events part, events are missing.
  void Check(const Rows& rows, Trace& trace) const {
    const MemoryEvent* before = nullptr;
    for (const std::uint32_t row : rows) {
      const MemoryEvent& event = host_.memory[row];
      if (before != nullptr && before->allocated && event.allocated) {
        ++trace.checked_changes;
        const bool agrees = SaturatingSubtract(*event.allocated, *before->allocated) == event.bytes;
        trace.agreeing_changes += agrees ? 1 : 0;
      }
      before = &event;
      if (event.peak) {
        trace.lifetime_peak = std::max(trace.lifetime_peak.value_or(0), *event.peak);
      }
    }
  }

  // What is known of allocations that are alike.
  struct Kind {
    std::optional<Match> match;
    StackId stack;  // of their own where they are divided
  };

  // The compiler's allocation that this one is, where it is one, and what it is divided into: the
  // program's buffers, and what the allocator gave beyond what was asked for.
  const Kind& GetKind(std::uint32_t row) {
    const MemoryEvent& event = host_.memory[row];
    const auto [it, added] =
        kinds_.try_emplace(std::tuple(event.bytes > 0 ? event.requested : 0, causes_.jits[row],
                                      causes_.stacks[row], event.bytes));
    Kind& kind = it->second;
    if (added) {
      kind.stack = causes_.stacks[row];
      if (event.bytes > 0) {
        Resolve(event, Text(causes_.jits[row]), kind);
      }
    }
    if (event.bytes > 0 && join_.program_count() > 0) {
      figures_.allocated = SaturatingAdd(figures_.allocated, event.bytes);
    }
    if (kind.match) {
      std::int64_t& sum = kind.match->certainty == Certainty::kProgram ? figures_.of_program
                          : kind.match->certainty == Certainty::kName  ? figures_.of_name
                                                                       : figures_.unsure;
      sum = SaturatingAdd(sum, event.bytes);
    }
    return kind;
  }

  void Resolve(const MemoryEvent& event, std::string_view jit, Kind& kind) {
    const bool rounded = event.requested > 0 && event.requested < event.bytes;
    const std::int64_t asked = rounded ? event.requested : event.bytes;
    std::vector<BreakdownPart> parts;
    if (join_.program_count() > 0) {
      kind.match = join_.Find(event.requested, jit);
      if (kind.match && kind.stack.valid()) {
        join_.Divide(*kind.match, kind.stack, asked, builder_, parts);
      }
    }
    if (parts.empty() && !rounded) {
      return;
    }
    const std::vector<LocationId> caller = Locations(kind.stack);
    if (!kind.stack.valid() || mixed_.contains({kind.stack, event.bytes})) {
      kind.stack = builder_.AddStack(caller);
    }
    if (parts.empty()) {
      parts.push_back({.stack = kind.stack, .labels = LabelSetId(0U), .bytes = asked});
    }
    if (rounded) {
      parts.push_back({.stack = RoundingStack(caller),
                       .labels = rounding_labels_,
                       .bytes = SaturatingSubtract(event.bytes, event.requested)});
    }
    history_.breakdowns.push_back({.stack = kind.stack,
                                   .size = event.bytes,
                                   .first_part = static_cast<std::uint32_t>(history_.parts.size()),
                                   .part_count = static_cast<std::uint32_t>(parts.size())});
    history_.parts.insert(history_.parts.end(), parts.begin(), parts.end());
  }

  [[nodiscard]] std::vector<LocationId> Locations(StackId stack) const {
    if (!stack.valid()) {
      return {};
    }
    const auto locations = builder_.recording().Stack(stack);
    return {locations.begin(), locations.end()};
  }

  StackId RoundingStack(std::vector<LocationId> caller) {
    const auto [at, added] = rounding_.try_emplace(caller);
    if (added) {
      const StringId name = builder_.Intern(kRounding);
      const std::array<Line, 1> line{
          {{.function = builder_.AddFunction(
                {.name = name, .system_name = name, .filename = builder_.Intern("<allocator>")})}}};
      caller.insert(caller.begin(), builder_.AddLocation({}, line));
      at->second = builder_.AddStack(caller);
      const Label label{.key = builder_.Intern("category"),
                        .text = builder_.Intern(kRoundingCategory),
                        .unit = StringId(0U)};
      rounding_labels_ = builder_.InternLabels(std::span(&label, 1));
    }
    return at->second;
  }

  LabelSetId MakeLabels(std::uint32_t row, const std::optional<Match>& match) {
    const MemoryEvent& event = host_.memory[row];
    const std::string_view module = match ? match->module : std::string_view{};
    const std::string_view category =
        match && match->reported ? hlo::CategoryName(match->category) : std::string_view{};
    const auto key = std::tuple(causes_.annotations[row], event.region, event.shape,
                                event.data_type, module, category);
    const auto [it, added] = labels_.try_emplace(key);
    if (added) {
      std::vector<Label> labels;
      const auto add = [&](std::string_view name, std::string_view value) {
        if (!value.empty()) {
          labels.push_back(
              {.key = builder_.Intern(name), .text = builder_.Intern(value), .unit = StringId(0U)});
        }
      };
      add("annotation", Text(causes_.annotations[row]));
      add("region", Text(event.region));
      add("dtype", DataTypeName(event.data_type));
      add("shape", Text(event.shape));
      add("program", match && module.empty() ? "(one of several)" : module);
      add("category", category);
      it->second = builder_.InternLabels(labels);
    }
    return it->second;
  }

  RecordingBuilder& builder_;
  const HostEvents& host_;
  const Causes& causes_;
  const Join& join_;
  JoinFigures& figures_;
  std::int64_t zero_ns_;
  History history_;
  // By annotation, region, shape, data type, program and category.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t, std::string_view,
                      std::string_view>,
           LabelSetId>
      labels_;
  // By requested bytes, jitted function, stack and bytes.
  std::map<std::tuple<std::int64_t, std::uint32_t, StackId, std::int64_t>, Kind> kinds_;
  std::set<std::pair<StackId, std::int64_t>> mixed_;
  std::map<std::vector<LocationId>, StackId> rounding_;  // by what is around it
  LabelSetId rounding_labels_;
};

}  // namespace

History MakeHistory(RecordingBuilder& builder, const HostEvents& host, const Causes& causes,
                    const Join& join, std::int64_t start_ns, JoinFigures& figures) {
  builder.AddDiagnostic(Severity::kDamage, "negative_figure",
                        "figures of memory events (bytes allocated, reserved or requested, peaks) "
                        "below 0: left out",
                        host.bad_figures);
  return HistoryMaker(builder, host, causes, join, start_ns, figures).Make();
}

}  // namespace memtool::formats::xplane
