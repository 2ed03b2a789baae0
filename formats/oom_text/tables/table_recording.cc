#include "oom_text/tables/table_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/recording_builder.h"
#include "xla/op_name.h"

namespace memtool::formats::oom_text {

namespace {

std::int64_t GetBytes(const std::optional<OomNumber>& number) {
  return number ? number->bytes : 0;
}

// Interns stacks of scopes.
class Stacks {
 public:
  explicit Stacks(RecordingBuilder& builder) : builder_(builder) {}

  // `scopes` outermost first; the innermost one lies at `file` and `line`, where they are known.
  StackId Of(std::span<const std::string_view> scopes, std::string_view file, std::int64_t line) {
    std::vector<LocationId> locations;
    locations.reserve(scopes.size());
    for (std::size_t i = scopes.size(); i-- > 0;) {
      const bool innermost = i + 1 == scopes.size();
      locations.push_back(
          GetLocation(scopes[i], innermost ? file : std::string_view(), innermost ? line : 0));
    }
    std::vector<std::uint32_t> key;
    key.reserve(locations.size());
    for (const LocationId location : locations) {
      key.push_back(location.value());
    }
    const auto [at, added] = stacks_.try_emplace(std::move(key));
    if (added) {
      at->second = builder_.AddStack(locations);
    }
    return at->second;
  }
  StackId Of(std::string_view only) { return Of(std::span(&only, 1), {}, 0); }

 private:
  LocationId GetLocation(std::string_view name, std::string_view file, std::int64_t line) {
    const auto [at, added] = locations_.try_emplace({std::string(name), std::string(file), line});
    if (added) {
      const FunctionId function = builder_.AddFunction({.name = builder_.Intern(name),
                                                        .system_name = builder_.Intern(name),
                                                        .filename = builder_.Intern(file)});
      const Line one{.function = function, .line = line};
      at->second = builder_.AddLocation({}, std::span(&one, 1));
    }
    return at->second;
  }

  RecordingBuilder& builder_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, LocationId> locations_;
  std::map<std::vector<std::uint32_t>, StackId> stacks_;
};

Label TextLabel(RecordingBuilder& builder, std::string_view key, std::string_view text) {
  return {.key = builder.Intern(key), .text = builder.Intern(text)};
}

// A program's buffers and what the table counts besides them.
class ProgramSamples {
 public:
  ProgramSamples(RecordingBuilder& builder, const OomProgram& program)
      : builder_(builder), stacks_(builder), program_(program) {}

  void Add() {
    const auto type = [this](std::string_view name, std::string_view unit, memtool::Role role) {
      return SampleType{.type = builder_.Intern(name), .unit = builder_.Intern(unit), .role = role};
    };
    padded_ = std::any_of(program_.buffers.begin(), program_.buffers.end(),
                          [](const OomBuffer& buffer) { return buffer.unpadded.has_value(); });
    std::vector<SampleType> types{type("buffers", "count", memtool::Role::kCount)};
    if (padded_) {
      types.push_back(type("unpadded", "bytes", memtool::Role::kRequestedBytes));
    }
    types.push_back(type("space", "bytes", memtool::Role::kBytes));
    const StringId default_type = types.back().type;
    builder_.StartProfile(std::move(types), default_type);
    builder_.SamplesAreAmounts();
    for (const OomBuffer& buffer : program_.buffers) {
      AddBuffer(buffer);
    }
    AddRests();
  }

 private:
  void AddBuffer(const OomBuffer& buffer) {
    std::vector<Label> labels{TextLabel(builder_, "kind", GetKind(buffer))};
    if (!buffer.shape.empty()) {
      labels.push_back(TextLabel(builder_, "shape", buffer.shape));
      labels.push_back(TextLabel(builder_, "dtype",
                                 std::string_view(buffer.shape).substr(0, buffer.shape.find('['))));
    }
    if (buffer.padding) {
      labels.push_back({.key = builder_.Intern("padding"),
                        .text = {},
                        .number = buffer.padding->bytes,
                        .unit = builder_.Intern("bytes"),
                        .numeric = true});
    }
    AddSample(GetStack(buffer), labels, 1, buffer.size.bytes,
              buffer.unpadded ? buffer.unpadded->bytes : buffer.size.bytes);
    (buffer.argument ? listed_arguments_ : listed_) =
        SaturatingAdd(buffer.argument ? listed_arguments_ : listed_, buffer.size.bytes);
  }

  static std::string GetKind(const OomBuffer& buffer) {
    return buffer.argument                                       ? "argument"
           : buffer.allocation.find("temp") != std::string::npos ? "temporary"
           : buffer.allocation.empty()                           ? "temporary or output"
                                                                 : buffer.allocation;
  }

  StackId GetStack(const OomBuffer& buffer) {
    const auto scopes = xla::SplitOpName(buffer.op_name);
    if (!scopes.empty()) {
      return stacks_.Of(scopes, buffer.file, buffer.line);
    }
    return stacks_.Of(buffer.name);
  }

  void AddSample(StackId stack, std::span<const Label> labels, std::int64_t count,
                 std::int64_t bytes, std::int64_t unpadded) {
    std::vector<std::int64_t> values{count};
    if (padded_) {
      values.push_back(unpadded);
    }
    values.push_back(bytes);
    builder_.AddSample(stack, builder_.InternLabels(labels), values);
  }

  // What the table counts and does not list, so that rows sum to what the program needs.
  void AddRest(std::string_view name, std::string_view kind, std::int64_t bytes) {
    if (bytes > 0) {
      const Label label = TextLabel(builder_, "kind", kind);
      AddSample(stacks_.Of(name), std::span(&label, 1), 0, bytes, bytes);
    }
  }

  void AddRests() {
    const std::int64_t arguments =
        SaturatingSubtract(GetBytes(program_.arguments), listed_arguments_);
    AddRest("(reserved by the system)", "reserved", GetBytes(program_.reserved));
    AddRest("(held by other programs and arrays)", "heap", GetBytes(program_.heap));
    AddRest(listed_arguments_ > 0 ? "(arguments not listed)" : "(arguments)", "argument",
            arguments);
    std::int64_t rest = GetBytes(program_.program);
    if (!program_.program && program_.total) {
      rest = SaturatingSubtract(program_.total->bytes,
                                std::max(GetBytes(program_.arguments), listed_arguments_));
    }
    AddRest("(not listed)", "not listed", SaturatingSubtract(rest, listed_));
  }

  RecordingBuilder& builder_;
  Stacks stacks_;
  const OomProgram& program_;
  bool padded_ = false;
  std::int64_t listed_ = 0;
  std::int64_t listed_arguments_ = 0;
};

bool IsJax(const OomProgram& program) {
  return std::any_of(program.buffers.begin(), program.buffers.end(), [](const OomBuffer& buffer) {
    return buffer.op_name.find("jit(") != std::string::npos || buffer.op_name.starts_with("pmap(");
  });
}

void NoteDamage(RecordingBuilder& builder, std::uint64_t damaged, std::uint64_t left_out,
                std::uint64_t line) {
  builder.AddDiagnostic(Severity::kDamage, "damaged_table",
                        fmt::format("rows of the table at line {} that could not be read", line),
                        damaged);
  builder.AddDiagnostic(
      Severity::kWarning, "table_limit",
      fmt::format("rows of the table at line {} beyond the most that are kept", line), left_out);
}

void NoteOthers(RecordingBuilder& builder, std::uint64_t others, std::string_view what) {
  builder.AddDiagnostic(Severity::kNote, "other_tables",
                        fmt::format("{} in this log, not read", what), others);
}

// What else the log has.
struct Others {
  std::uint64_t tables = 0;  // of the same kind
  bool pool = false;         // beside a program
  std::uint64_t left_out = 0;
};

Result<Recording> OfProgram(const OomProgram& program, const Others& others) {
  RecordingBuilder builder;
  builder.Intern({});
  Metadata& metadata = builder.metadata();
  metadata.format_display =
      fmt::format("list of a program's buffers in an XLA out-of-memory message{}",
                  program.space.empty() ? std::string() : " (" + program.space + ")");
  metadata.origin = {.framework = IsJax(program) ? Framework::kJax : Framework::kUnknown,
                     .kind = RecordingKind::kProfile};
  metadata.frames_are_scopes = true;
  ProgramSamples(builder, program).Add();
  std::int64_t precision = 0;
  for (const OomBuffer& buffer : program.buffers) {
    precision = std::max(precision, buffer.size.precision);
  }
  builder.AddDiagnostic(
      Severity::kNote, "rounded_sizes",
      fmt::format("sizes are rounded as the message prints them: up to {} off, each",
                  FormatSize(precision)),
      precision > 0 ? 1 : 0);
  builder.AddBlindSpot("small buffers",
                       "the message lists the largest ones; the rest is one row, (not listed)");
  builder.AddBlindSpot("what was in memory",
                       "the table is the compiler's plan for one program at its peak");
  NoteDamage(builder, program.damaged, program.left_out, program.first_line);
  NoteOthers(builder, others.tables, "more tables of programs");
  NoteOthers(builder, others.pool ? 1 : 0, "a dump of the allocator (--input-format bfc-dump)");
  NoteOthers(builder, others.left_out, "tables beyond the most that are kept");
  return std::move(builder).Finish();
}

std::int32_t GetDevice(std::string_view allocator) {
  constexpr std::string_view kGpu = "GPU_";
  if (!allocator.starts_with(kGpu)) {
    return 0;  // where the allocator's name does not tell: it has only one
  }
  allocator.remove_prefix(kGpu.size());
  return std::max(TakeNumber<std::int32_t>(allocator).value_or(0), 0);
}

// The chunks of a pool as blocks of segments.
class PoolHistory {
 public:
  PoolHistory(RecordingBuilder& builder, const OomPool& pool)
      : builder_(builder), stacks_(builder), pool_(pool), device_(GetDevice(pool.allocator)) {}

  void Add(const std::optional<OomNumber>& requested_bytes) {
    History history;
    history.streams = {0};
    history.domains.push_back({.name = "segments",
                               .device = device_,
                               .level = DomainLevel::kDriver,
                               .parent = {},
                               .capacity = Capacity()});
    history.domains.push_back({.name = "blocks", .device = device_, .parent = DomainId(0U)});
    AddSegments();
    AddEvents(history);
    if (requested_bytes) {
      history.events.push_back({.key = kUnknownBytes,
                                .size = requested_bytes->bytes,
                                .stack = {},
                                .domain = 1,
                                .action = Action::kOom});
    }
    history.traces.push_back(
        {.device = device_,
         .name = pool_.allocator.empty() ? std::string("bfc") : pool_.allocator,
         .first_event = 0,
         .event_count = history.events.size(),
         .blocks = DomainId(1U),
         .segments = DomainId(0U),
         .listed_before = history.events.size() - (requested_bytes ? 1 : 0)});
    builder_.SetHistory(std::move(history));
    builder_.SetState(std::move(state_));
  }

 private:
  [[nodiscard]] std::optional<std::int64_t> Capacity() const {
    return pool_.limit ? std::optional(pool_.limit->bytes) : std::nullopt;
  }

  StackId GetStack(const OomChunk& chunk) {
    if (!chunk.in_use || chunk.name == 0) {
      return {};
    }
    const auto scopes = xla::SplitOpName(pool_.names[chunk.name]);
    return scopes.empty() ? StackId{} : stacks_.Of(scopes, {}, 0);
  }

  // Chunks of one region that follow each other are a segment; where some are missing in the log,
  // another one begins.
  void AddSegments() {
    state_.blocks.reserve(pool_.chunks.size());
    std::uint32_t region = 0;
    for (const OomChunk& chunk : pool_.chunks) {
      const bool next = state_.segments.empty() || chunk.region != region ||
                        state_.segments.back().address +
                                static_cast<std::uint64_t>(state_.segments.back().size) !=
                            chunk.address;
      region = chunk.region;
      if (next) {
        state_.segments.push_back(
            {.address = chunk.address,
             .allocated = kSumOfBlocks,
             .active = kSumOfBlocks,
             .requested = kSumOfBlocks,
             .device = device_,
             .stack = {},
             .first_block = static_cast<std::uint32_t>(state_.blocks.size())});
      }
      Segment& segment = state_.segments.back();
      segment.size = SaturatingAdd(segment.size, chunk.size);
      ++segment.block_count;
      state_.blocks.push_back(
          {.address = chunk.address,
           .size = chunk.size,
           .requested = chunk.in_use ? chunk.size : 0,
           .stack = GetStack(chunk),
           .state = chunk.in_use ? BlockState::kActive : BlockState::kInactive});
    }
  }

  void AddEvents(History& history) const {
    history.events.reserve(state_.segments.size() + state_.blocks.size() + 1);
    for (const Segment& segment : state_.segments) {
      history.events.push_back({.key = segment.address,
                                .size = segment.size,
                                .stack = {},
                                .domain = 0,
                                .action = Action::kSegmentAlloc});
    }
    for (const Block& block : state_.blocks) {
      if (block.state == BlockState::kActive) {
        history.events.push_back({.key = block.address,
                                  .size = block.size,
                                  .stack = block.stack,
                                  .domain = 1,
                                  .action = Action::kAlloc});
      }
    }
  }

  RecordingBuilder& builder_;
  Stacks stacks_;
  const OomPool& pool_;
  std::int32_t device_;
  AllocatorState state_;
};

Result<Recording> OfPool(const OomMessage& message, const Others& others) {
  const OomPool& pool = *message.pool;
  RecordingBuilder builder;
  builder.Intern({});
  Metadata& metadata = builder.metadata();
  metadata.format_display = "dump of XLA's and TensorFlow's allocator (BFC) in a log";
  metadata.origin = {.framework = Framework::kUnknown, .kind = RecordingKind::kSnapshot};
  metadata.frames_are_scopes = true;
  PoolHistory(builder, pool).Add(message.requested_bytes);
  builder.AddBlindSpot("when each chunk was allocated", "a dump is of one moment");
  if (pool.names.size() == 1) {
    builder.AddBlindSpot("what allocated each chunk",
                         "the allocator names operations only in builds for debugging memory");
  }
  NoteDamage(builder, pool.damaged, pool.left_out, pool.first_line);
  NoteOthers(builder, others.tables, "more dumps of an allocator");
  NoteOthers(builder, others.left_out, "tables beyond the most that are kept");
  return std::move(builder).Finish();
}

}  // namespace

std::optional<Result<Recording>> ToRecording(const OomLog& log, TableKind kind) {
  const OomMessage* program = nullptr;
  const OomMessage* pool = nullptr;
  std::uint64_t programs = 0;
  std::uint64_t pools = 0;
  for (const OomMessage& message : log.messages) {
    if (message.program && !message.program->buffers.empty()) {
      program = programs++ == 0 ? &message : program;
    }
    if (message.pool && !message.pool->chunks.empty()) {
      pool = pools++ == 0 ? &message : pool;
    }
  }
  if (program != nullptr && kind == TableKind::kAny) {
    return OfProgram(
        *program->program,
        {.tables = programs - 1, .pool = pool != nullptr, .left_out = log.tables_left_out});
  }
  if (pool != nullptr) {
    return OfPool(*pool, {.tables = pools - 1, .left_out = log.tables_left_out});
  }
  return std::nullopt;
}

}  // namespace memtool::formats::oom_text
