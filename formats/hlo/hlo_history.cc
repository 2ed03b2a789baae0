#include "hlo/hlo_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "support/read_error.h"
#include "xla/op_name.h"

namespace memtool::formats::hlo {

namespace {

constexpr std::int64_t kHostColor = 5;
constexpr std::int64_t kMaxByteCount = std::int64_t{1} << 62U;
constexpr std::uint64_t kFirstAddress = 4096;  // no address is 0
constexpr std::uint64_t kElsewhere = std::uint64_t{1} << 63U;
constexpr std::size_t kMaxLedgers = 255;

class Maker {
 public:
  Maker(const HloProgram& program, RecordingBuilder& builder)
      : program_(program), builder_(builder), named_(program.buffers.size()) {}

  void Run() {
    Place();
    history_.streams = {0};
    std::vector<std::int64_t> colors = program_.Colors();
    if (colors.size() > kMaxLedgers) {
      ThrowRead(ErrorCode::kMalformed, 0, "color",
                fmt::format("{} kinds of memory", colors.size()));
    }
    for (const std::int64_t color : colors) {
      Memory(color);
    }
    Facts();
    builder_.SetHistory(std::move(history_));
    builder_.SetState(std::move(state_));
  }

 private:
  struct Named {
    StackId stack;
    LabelSetId labels;
  };

  // Allocations one after the other: offsets in them become addresses.
  void Place() {
    if (program_.Total() > kMaxByteCount) {
      ThrowRead(ErrorCode::kMalformed, 0, "buffer_allocations",
                "allocations of more than 2^62 bytes together");
    }
    std::uint64_t at = kFirstAddress;
    bases_.reserve(program_.allocations.size());
    for (const Allocation& allocation : program_.allocations) {
      bases_.push_back(at);
      at += static_cast<std::uint64_t>(allocation.size);
    }
  }

  void Memory(std::int64_t color) {
    const DomainId domain(history_.domains.size());
    const bool host = color == kHostColor;
    const std::string name = ColorName(color);
    const auto device = static_cast<std::int32_t>(host ? -1 : devices_++);
    if (!host) {
      builder_.metadata().origin.device_names.push_back(name);
    }
    history_.domains.push_back({.name = name,
                                .device = device,
                                .kind = host ? DomainKind::kHost : DomainKind::kDevice,
                                .parent = {}});
    const std::uint64_t first = history_.events.size();
    std::size_t heap = GetHeap(color);
    const HeapPeak peak = heap == kNone ? HeapPeak{} : FindPeak(program_, program_.traces[heap]);
    if (heap != kNone && peak.bytes > Room(program_.traces[heap], color)) {
      ++beyond_;
      heap = kNone;
    }
    Whole(domain, color,
          heap == kNone ? std::vector<std::size_t>{} : Arenas(program_.traces[heap]));
    const std::uint64_t before = history_.events.size() - first;
    if (heap != kNone) {
      Heap(domain, program_.traces[heap], peak);
    }
    Segments(color, device, first);
    history_.traces.push_back({.device = device,
                               .name = name,
                               .first_event = first,
                               .event_count = history_.events.size() - first,
                               .blocks = domain,
                               .segments = domain,
                               .listed_before = before});
  }

  // Allocations of a memory other than its heap's `arenas`, whole or divided into their buffers.
  void Whole(DomainId domain, std::int64_t color, const std::vector<std::size_t>& arenas) {
    const bool times =
        std::any_of(program_.traces.begin(), program_.traces.end(),
                    [](const HeapTrace& trace) { return trace.allocations.empty(); });
    auto arena = arenas.begin();
    for (std::size_t i = 0; i < program_.allocations.size(); ++i) {
      const Allocation& allocation = program_.allocations[i];
      if (arena != arenas.end() && *arena == i) {
        ++arena;
      } else if (allocation.color == color && allocation.size > 0) {
        if (!times && !allocation.indefinite() && allocation.buffers.size() > 1 &&
            Divide(domain, i)) {
          continue;
        }
        whole_ += allocation.indefinite() ? 0U : 1U;
        const Named named = allocation.largest == kNone ? Unnamed(allocation)
                                                        : Describe(allocation.largest, allocation);
        Add(domain, bases_[i], allocation.size, Action::kAlloc, named);
      }
    }
  }

  // The allocations, each with the buffers that are left in it when the program ends.
  void Segments(std::int64_t color, std::int32_t device, std::uint64_t first) {
    std::map<std::uint64_t, const Event*> live;
    for (auto i = static_cast<std::size_t>(first); i < history_.events.size(); ++i) {
      const Event& event = history_.events[i];
      if (event.action == Action::kAlloc) {
        live.insert_or_assign(event.key, &event);
      } else {
        live.erase(event.key);
      }
    }
    for (std::size_t i = 0; i < program_.allocations.size(); ++i) {
      const Allocation& allocation = program_.allocations[i];
      if (allocation.color == color && allocation.size > 0) {
        state_.segments.push_back({.address = bases_[i],
                                   .size = allocation.size,
                                   .allocated = kSumOfBlocks,
                                   .active = kSumOfBlocks,
                                   .requested = kSumOfBlocks,
                                   .device = device,
                                   .stack = {},
                                   .first_block = static_cast<std::uint32_t>(state_.blocks.size()),
                                   .host = device < 0});
        Fill(state_.segments.back(), live);
      }
    }
  }

  void Fill(Segment& segment, const std::map<std::uint64_t, const Event*>& live) {
    const std::uint64_t end = segment.address + static_cast<std::uint64_t>(segment.size);
    std::uint64_t from = segment.address;
    const auto add = [&](std::uint64_t until, const Event* event) {
      if (from < until) {
        const auto size = static_cast<std::int64_t>(until - from);
        state_.blocks.push_back(
            {.address = from,
             .size = size,
             .requested = event == nullptr ? 0 : size,
             .stack = event == nullptr ? StackId{} : event->stack,
             .state = event == nullptr ? BlockState::kInactive : BlockState::kActive});
        ++segment.block_count;
      }
      from = std::max(from, until);
    };
    for (auto at = live.lower_bound(segment.address); at != live.end() && at->first < end; ++at) {
      add(at->first, nullptr);
      const auto next = std::next(at);
      const std::uint64_t limit = next == live.end() ? end : std::min(end, next->first);
      add(std::min(limit, at->first + static_cast<std::uint64_t>(at->second->size)), at->second);
    }
    add(end, nullptr);
  }

  // Where a file knows of no heap at all: the largest buffers that lie beside each other in an
  // allocation, and what they leave of it. Buffers at one place share it, so that the sum of all
  // would be more than there is. False where they do not lie within it.
  bool Divide(DomainId domain, std::size_t row) {
    const Allocation& allocation = program_.allocations[row];
    const std::vector<LiveBuffer> beside = BuffersAtPeak(program_, row);
    const bool within = std::all_of(beside.begin(), beside.end(), [&](const LiveBuffer& one) {
      const Buffer& buffer = program_.buffers[one.buffer];
      return SaturatingAdd(buffer.offset, buffer.size) <= allocation.size;
    });
    if (!within) {
      return false;
    }
    ++divided_;
    std::int64_t from = 0;
    const auto rest = [&](std::int64_t until) {
      if (from < until) {
        Add(domain, bases_[row] + static_cast<std::uint64_t>(from), until - from, Action::kAlloc,
            Unnamed(allocation, "the rest of "));
      }
    };
    for (const LiveBuffer& one : beside) {
      const Buffer& buffer = program_.buffers[one.buffer];
      rest(buffer.offset);
      Add(domain, Address(one.buffer), buffer.size, Action::kAlloc, DescribeTemporary(one.buffer));
      from = SaturatingAdd(buffer.offset, buffer.size);
    }
    rest(allocation.size);
    return true;
  }

  // A heap inside of an allocation that counts whole would count twice.
  [[nodiscard]] std::size_t GetHeap(std::int64_t color) const {
    const std::size_t heap = GetTrace(program_, color);
    if (heap == kNone) {
      return kNone;
    }
    const std::size_t arena = program_.traces[heap].allocation;
    return arena != kNone && program_.allocations[arena].indefinite() ? kNone : heap;
  }

  void Heap(DomainId domain, const HeapTrace& trace, const HeapPeak& peak) {
    const HeapReplay replay = Replay(program_, trace);
    const std::string memory = ColorName(trace.color);
    builder_.AddSetting(fmt::format("{} heap peak bytes", memory), fmt::format("{}", peak.bytes));
    builder_.AddSetting(fmt::format("{} heap peak point", memory),
                        fmt::format("{} of {}", peak.point, trace.events.size()));
    unmatched_ += replay.free_without_alloc + replay.taken_twice;
    std::map<std::uint64_t, std::int64_t> live;
    for (const HeapStep& step : replay.steps) {
      const Buffer& buffer = program_.buffers[step.owner];
      if (buffer.size > 0) {
        overlapping_ += Overlaps(live, step) ? 1U : 0U;
        Add(domain, Address(step.owner), buffer.size,
            step.take ? Action::kAlloc : Action::kFreeCompleted, DescribeTemporary(step.owner));
      }
    }
  }

  // Whether a buffer is taken where another lives; `live` are the places and sizes of those.
  [[nodiscard]] bool Overlaps(std::map<std::uint64_t, std::int64_t>& live,
                              const HeapStep& step) const {
    const std::uint64_t begin = Address(step.owner);
    const std::int64_t size = program_.buffers[step.owner].size;
    if (!step.take) {
      live.erase(begin);
      return false;
    }
    const auto after = live.lower_bound(begin);
    const bool overlaps =
        (after != live.end() && after->first - begin < static_cast<std::uint64_t>(size)) ||
        (after != live.begin() &&
         begin - std::prev(after)->first < static_cast<std::uint64_t>(std::prev(after)->second));
    live.insert_or_assign(after, begin, size);
    return overlaps;
  }

  // What a heap can hold: the allocations that do not count whole because of it.
  [[nodiscard]] std::int64_t Room(const HeapTrace& trace, std::int64_t color) const {
    std::int64_t room = 0;
    for (const std::size_t arena : Arenas(trace)) {
      const Allocation& allocation = program_.allocations[arena];
      room = SaturatingAdd(room, allocation.color == color ? allocation.size : 0);
    }
    return room;
  }
  static std::vector<std::size_t> Arenas(const HeapTrace& trace) {
    return !trace.allocations.empty()  ? trace.allocations
           : trace.allocation == kNone ? std::vector<std::size_t>{}
                                       : std::vector{trace.allocation};
  }

  [[nodiscard]] std::uint64_t Address(std::size_t row) const {
    const Buffer& buffer = program_.buffers[row];
    if (buffer.allocation == kNone ||
        buffer.offset > program_.allocations[buffer.allocation].size) {
      return kElsewhere + row;
    }
    return bases_[buffer.allocation] + static_cast<std::uint64_t>(buffer.offset);
  }

  void Add(DomainId domain, std::uint64_t key, std::int64_t size, Action action,
           const Named& named) {
    history_.events.push_back({.key = key,
                               .size = size,
                               .stack = named.stack,
                               .domain = static_cast<std::uint8_t>(domain.value()),
                               .action = action});
    history_.labels.push_back(named.labels);
  }

  Named Unnamed(const Allocation& allocation, std::string_view what = {}) {
    const std::string name = allocation.category == Category::kParameter
                                 ? fmt::format("parameter {}", allocation.parameter)
                                 : fmt::format("{}allocation {}", what, allocation.number);
    const std::array<LocationId, 1> stack{Frame(name, {}, 0)};
    std::vector<Label> labels;
    AddText(labels, "category", CategoryName(allocation.category));
    AddText(labels, "shape", allocation.shape.text);
    AddText(labels, "dtype", allocation.shape.dtype);
    AddText(labels, "memory", ColorName(allocation.color));
    return {Stack(stack), builder_.InternLabels(labels)};
  }

  Named DescribeTemporary(std::size_t row) {
    Named& named = named_[row];
    if (!named.stack.valid()) {
      const Buffer& buffer = program_.buffers[row];
      named = {GetStack(buffer), MakeLabels(buffer, CategoryName(Category::kTemporary))};
    }
    return named;
  }
  Named Describe(std::size_t row, const Allocation& allocation) {
    const Buffer& buffer = program_.buffers[row];
    return {GetStack(buffer), MakeLabels(buffer, CategoryName(allocation.category))};
  }

  // Innermost first: the operation with its source line, the code that called it, then the scopes
  // of its name.
  StackId GetStack(const Buffer& buffer) {
    std::vector<LocationId> stack;
    if (buffer.instruction == kNone) {
      stack.push_back(
          Frame(buffer.shape.empty() ? fmt::format("buffer {}", buffer.id) : buffer.shape, {}, 0));
      return Stack(stack);
    }
    const Instruction& instruction = program_.instructions[buffer.instruction];
    std::vector<std::string_view> scopes = xla::SplitOpName(instruction.op_name);
    if (scopes.empty()) {
      scopes.push_back(instruction.name.empty() ? std::string_view("(no name)")
                                                : std::string_view(instruction.name));
    }
    stack.reserve(scopes.size() + instruction.frames.size());
    const bool code = !instruction.frames.empty();
    stack.push_back(Frame(scopes.back(), code ? instruction.frames.front().file : std::string(),
                          code ? instruction.frames.front().line : 0));
    for (const CodeFrame& frame : instruction.frames) {
      if (!frame.function.empty()) {
        stack.push_back(Frame(frame.function, frame.file, frame.line));
      }
    }
    for (std::size_t i = scopes.size() - 1; i-- > 0;) {
      stack.push_back(Frame(scopes[i], {}, 0));
    }
    return Stack(stack);
  }

  LabelSetId MakeLabels(const Buffer& buffer, std::string_view category) {
    std::vector<Label> labels;
    AddText(labels, "category", category);
    if (buffer.instruction != kNone) {
      AddText(labels, "opcode", program_.instructions[buffer.instruction].opcode);
      AddText(labels, "instruction", program_.instructions[buffer.instruction].name);
    }
    AddText(labels, "shape", buffer.shape);
    AddText(labels, "dtype", buffer.dtype);
    AddText(labels, "memory", ColorName(buffer.color));
    if (buffer.padding() > 0) {
      labels.push_back({.key = builder_.Intern("padding"),
                        .text = StringId(0U),
                        .number = buffer.padding(),
                        .unit = builder_.Intern("bytes"),
                        .numeric = true});
    }
    return builder_.InternLabels(labels);
  }

  void AddText(std::vector<Label>& labels, std::string_view key, std::string_view text) {
    if (!text.empty()) {
      labels.push_back(
          {.key = builder_.Intern(key), .text = builder_.Intern(text), .unit = StringId(0U)});
    }
  }

  LocationId Frame(std::string_view name, const std::string& file, std::int64_t line) {
    const StringId function = builder_.Intern(name);
    const StringId path = builder_.Intern(file);
    const auto [function_at, new_function] = functions_.try_emplace({function, path});
    if (new_function) {
      function_at->second =
          builder_.AddFunction({.name = function, .system_name = function, .filename = path});
    }
    const auto [at, added] = locations_.try_emplace({function_at->second, line});
    if (added) {
      const std::array<Line, 1> lines{{{.function = function_at->second, .line = line}}};
      at->second = builder_.AddLocation({}, lines);
    }
    return at->second;
  }

  StackId Stack(std::span<const LocationId> stack) {
    const auto [at, added] =
        stacks_.try_emplace(std::vector<LocationId>(stack.begin(), stack.end()));
    if (added) {
      at->second = builder_.AddStack(stack);
    }
    return at->second;
  }

  void Facts() {
    builder_.AddSetting("module", program_.module);
    builder_.AddSetting("entry", program_.entry);
    constexpr std::array<Category, 5> kAll{Category::kParameter, Category::kOutput,
                                           Category::kThreadLocal, Category::kConstant,
                                           Category::kTemporary};
    for (const Category category : kAll) {
      builder_.AddSetting(fmt::format("{} bytes", CategoryName(category)),
                          fmt::format("{}", program_.Total(category)));
    }
    builder_.AddSetting("total bytes", fmt::format("{}", program_.Total()));
    builder_.AddBlindSpot("memory at run time",
                          "the file says what the compiler planned for one run of the program");
    Damaged("unknown_buffer", program_.damage.unknown_buffers,
            "allocations or heap events name buffers that the program does not have");
    Damaged("unknown_instruction", program_.damage.unknown_instructions,
            "buffers are of instructions that the program does not have");
    Damaged("outside_allocation", program_.damage.outside,
            "buffers reach beyond their allocation: what lies beyond its end is left out");
    Damaged(
        "heap_beyond_allocations", beyond_,
        "heaps hold more at their peak than the allocations that they lie in: these count whole");
    Damaged("overlapping_heap_buffers", overlapping_,
            "heap events take buffers at places where others live: sizes there count twice");
    Damaged("unmatched_heap_event", unmatched_,
            "heap events free what is not live, or take what is");
    builder_.AddDiagnostic(
        Severity::kNote, "no_heap_trace",
        "temporary allocations whose buffers have no times: the largest that lie beside each other "
        "stand for those that share their places",
        divided_);
    builder_.AddDiagnostic(Severity::kNote, "no_lifetime",
                           "temporary allocations have no heap trace of their own and count whole "
                           "for the whole program",
                           whole_);
  }

  void Damaged(const char* code, std::uint64_t count, const char* message) {
    builder_.AddDiagnostic(Severity::kDamage, code, message, count);
  }

  const HloProgram& program_;
  RecordingBuilder& builder_;
  History history_;
  AllocatorState state_;
  std::vector<Named> named_;          // by buffer, as temporary memory
  std::vector<std::uint64_t> bases_;  // by allocation
  std::map<std::pair<StringId, StringId>, FunctionId> functions_;
  std::map<std::pair<FunctionId, std::int64_t>, LocationId> locations_;
  std::map<std::vector<LocationId>, StackId> stacks_;
  std::int32_t devices_ = 0;
  std::uint64_t unmatched_ = 0;
  std::uint64_t beyond_ = 0;
  std::uint64_t overlapping_ = 0;
  std::uint64_t whole_ = 0;
  std::uint64_t divided_ = 0;
};

}  // namespace

void AddProgram(const HloProgram& program, RecordingBuilder& builder) {
  Maker(program, builder).Run();
}

}  // namespace memtool::formats::hlo
