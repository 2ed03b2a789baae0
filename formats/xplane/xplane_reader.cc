#include "xplane/xplane_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/select/xla_names.h"
#include "support/code_stacks.h"
#include "support/wire.h"
#include "xplane/annotations.h"
#include "xplane/host_events.h"
#include "xplane/memory_history.h"
#include "xplane/read_space.h"
#include "xplane/stats.h"

namespace memtool::formats {

namespace {

using xplane::HostEvents;
using xplane::kNoText;
using xplane::Plane;
using xplane::Space;

// "$train.py:12 step" as the profiler names Python functions, by the line where they begin;
// "$builtins len" and "$<unknown> get" have no file; anything else is a name.
CodePlace GetPlace(std::string_view name) {
  if (!name.starts_with('$')) {
    return {.function = name, .file = {}};
  }
  name.remove_prefix(1);
  const std::size_t space = name.find(' ');
  if (space == std::string_view::npos || space + 1 == name.size()) {
    return {.function = name, .file = {}};
  }
  const std::string_view where = name.substr(0, space);
  CodePlace place{.function = name.substr(space + 1), .file = {}};
  const std::size_t colon = where.rfind(':');
  if (colon != std::string_view::npos && colon > 0) {
    if (const auto number = ParseNumber<std::int64_t>(where.substr(colon + 1))) {
      place.line = *number;
      place.start_line = *number;
      place.file = where.substr(0, colon);
    }
  }
  return place;
}

// What the planes of devices and of the environment say.
struct Surroundings {
  std::int64_t start_ns = 0;
  std::int64_t stop_ns = 0;
  bool gpu = false;
  bool tpu = false;
  std::size_t programs = 0;
};

// The ordinal at the end of "/device:GPU:1".
std::optional<std::int32_t> ParseOrdinal(std::string_view plane) {
  return ParseNumber<std::int32_t>(plane.substr(plane.rfind(':') + 1));
}

void Look(const Plane& plane, RecordingBuilder& builder, Surroundings& around) {
  around.gpu = around.gpu || plane.name.starts_with("/device:GPU:");
  around.tpu = around.tpu || plane.name.starts_with("/device:TPU:");
  around.programs += plane.programs.size();
  const std::optional<std::int32_t> ordinal =
      plane.name.starts_with("/device:") ? ParseOrdinal(plane.name) : std::nullopt;
  for (const xplane::Stat& stat : plane.stats) {
    const auto name = plane.stat_names.find(stat.name);
    if (name == plane.stat_names.end() || stat.kind != xplane::Stat::Kind::kInteger) {
      continue;
    }
    if (name->second == "memory_size" && ordinal && stat.integer > 0) {
      builder.AddCounter(
          {.kind = CounterKind::kDeviceTotal, .device = *ordinal, .value = stat.integer});
    } else if (name->second == "profile_start_time") {
      around.start_ns = stat.integer;
    } else if (name->second == "profile_stop_time") {
      around.stop_ns = stat.integer;
    }
  }
}

// Why a trace has no memory events, and what would record them.
Error WithoutMemory(const Space& space, const Surroundings& around, std::uint64_t bad) {
  std::string hint =
      "XLA's allocator for GPUs writes them where host_tracer_level is 2 or more, which is the "
      "default, and XLA_PYTHON_CLIENT_ALLOCATOR is not platform or cuda_async";
  if (around.tpu) {
    hint =
        "TPUs write them with newer runtimes only: jax.profiler.save_device_memory_profile() says "
        "what "
        "arrays hold, "
        "--xla_dump_to what compiled programs need";
  } else if (!around.gpu) {
    hint = "only allocators of GPUs write them: there is no GPU in this trace";
  }
  const std::uint64_t others = space.events - std::min(space.events, bad);
  std::string message =
      fmt::format("a profiler trace without memory events ({} other event{} of the host", others,
                  others == 1 ? "" : "s");
  if (bad > 0) {
    message += fmt::format("; {} without a usable name, time or size", bad);
  }
  return {.code = ErrorCode::kMalformed, .message = message + ")", .hint = std::move(hint)};
}

// The innermost jitted function, a row of HostEvents::texts, or kNoText.
std::uint32_t JitAround(std::uint32_t node, const CodeStacks& code, const HostEvents& host) {
  for (; node != 0; node = code.nodes()[node].parent) {
    const std::uint32_t name = code.nodes()[node].name;
    if (IsJitName(AsText(host.texts[name]))) {
      return name;
    }
  }
  return kNoText;
}

// How far the allocations are those of the compiled programs in the file.
void AddJoin(RecordingBuilder& builder, const xplane::Join& join,
             const xplane::JoinFigures& figures) {
  if (join.program_count() == 0) {
    return;
  }
  const auto percent = [&figures](std::int64_t part) {
    return figures.allocated > 0 ? 100.0 * Ratio(part, figures.allocated) : 0.0;
  };
  builder.AddSetting("compiled programs", std::to_string(join.program_count()));
  builder.AddSetting("allocated bytes of one program",
                     fmt::format("{:.1f}%", percent(figures.of_program)));
  builder.AddSetting("of several programs of one name",
                     fmt::format("{:.1f}%", percent(figures.of_name)));
  builder.AddSetting("of one of several programs", fmt::format("{:.1f}%", percent(figures.unsure)));
}

// The spans around memory events as stacks. -> per node of the host its own
std::vector<std::uint32_t> MakeNodes(const HostEvents& host, CodeStacks& code) {
  const auto spans = host.spans.nodes();
  std::vector<bool> needed(spans.size(), false);
  for (const xplane::MemoryEvent& event : host.memory) {
    needed[event.node] = true;
  }
  for (std::size_t node = spans.size() - 1; node > 0; --node) {
    needed[spans[node].parent] = needed[spans[node].parent] || needed[node];
  }
  std::vector<std::uint32_t> nodes(spans.size(), 0);
  for (std::size_t node = 1; node < spans.size(); ++node) {
    if (needed[node]) {
      nodes[node] = code.GetNode(nodes[spans[node].parent], spans[node].name);
    }
  }
  return nodes;
}

// "jit(f)" of a module that is called "jit_f"; others keep their names.
std::string ToRow(std::string_view module) {
  constexpr std::string_view kJit = "jit_";
  return module.starts_with(kJit) ? fmt::format("jit({})", module.substr(kJit.size()))
                                  : std::string(module);
}

xplane::Causes FindCauses(HostEvents& host, const xplane::Join& join, CodeStacks& code) {
  const std::vector<std::uint32_t> of_spans = MakeNodes(host, code);
  std::vector<std::uint32_t> nodes;
  nodes.reserve(host.memory.size());
  for (const xplane::MemoryEvent& event : host.memory) {
    nodes.push_back(of_spans[event.node]);
  }
  const std::vector<std::uint32_t> annotations = xplane::MakeAnnotations(code, host);
  xplane::Causes causes;
  causes.annotations.reserve(nodes.size());
  causes.jits.reserve(nodes.size());
  for (const std::uint32_t node : nodes) {
    causes.annotations.push_back(annotations[node]);
    causes.jits.push_back(JitAround(node, code, host));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    // TensorFlow says which operation it was for. Where a runtime has put a word that says nothing,
    // the program does that asks for such a size.
    const std::uint32_t op = host.memory[i].op;
    if (op != kNoText && !IsPlaceholderOp(AsText(host.texts[op]))) {
      nodes[i] = code.GetNode(nodes[i], op);
    } else if (op != kNoText && causes.jits[i] == kNoText) {
      const auto match = join.Find(host.memory[i].requested, {});
      if (match && !match->module.empty()) {
        const std::string row = ToRow(match->module);
        nodes[i] = code.GetNode(nodes[i], host.texts.Intern(std::as_bytes(std::span(row))));
      }
    }
  }
  causes.stacks.reserve(nodes.size());
  for (const std::uint32_t node : nodes) {
    causes.stacks.push_back(code.GetStack(node));
  }
  return causes;
}

void AddNotes(RecordingBuilder& builder, const Space& space, const HostEvents& host,
              std::uint64_t cut) {
  builder.AddDiagnostic(
      Severity::kWarning, "bad_event", "events without a usable name, time or size: left out",
      static_cast<std::uint64_t>(SaturatingAdd(static_cast<std::int64_t>(space.bad_events),
                                               static_cast<std::int64_t>(host.bad_events))));
  builder.AddDiagnostic(
      Severity::kWarning, "late_event",
      "memory events that stand far from their place among others of their thread: without a stack",
      host.late);
  builder.AddDiagnostic(Severity::kNote, "deep_stack",
                        "stacks deeper than --max depth: outermost frames left out", cut);
  for (const std::string& error : space.errors) {
    builder.AddDiagnostic(Severity::kWarning, "profiler_error",
                          "the profiler itself says: " + error, 1);
  }
  builder.AddBlindSpot("the allocator's regions and chunks", "a trace holds only its sums");
  if (!host.python) {
    builder.AddBlindSpot("the Python code that allocated",
                         "the trace was recorded with python_tracer_level=0, or by a server "
                         "without Python");
  } else {
    builder.AddBlindSpot("lines within functions, folders of files",
                         "the profiler writes where a function begins, without its folder");
  }
}

}  // namespace

// An XSpace begins with a plane, and a plane with its name, which begins like a path.
Match XplaneReader::Sniff(std::span<const std::byte> head) const {
  try {
    ByteCursor cursor(head, 0);
    if (cursor.done() || cursor.Byte() != (1U << 3U | wire::kLength)) {
      return Match::kNo;
    }
    const std::uint64_t size = cursor.Varint();
    ByteCursor plane(cursor.rest().first(std::min<std::uint64_t>(size, cursor.left())), 0);
    while (!plane.done()) {
      const wire::Field field = wire::Next(plane);
      if (field.number == 2) {
        const std::string_view name =
            field.type == wire::kLength ? AsText(field.bytes) : std::string_view{};
        return name.starts_with("/host:") || name.starts_with("/device:") ||
                       name == "Task Environment"
                   ? Match::kCertain
                   : Match::kNo;
      }
      if (field.number != 1 || field.type != wire::kVarint) {
        return Match::kNo;
      }
    }
  } catch (const ReadError&) {  // other bytes
  }
  return Match::kNo;
}

Result<Recording> XplaneReader::Read(ByteWindow& in, const Limits& limits) const {
  RecordingBuilder builder;
  builder.metadata().format = name();
  if (auto added = xplane::AddSpace(xplane::ReadSpace(in, limits), limits, builder); !added) {
    return tl::unexpected(std::move(added).error());
  }
  return std::move(builder).Finish();
}

Result<void> xplane::AddSpace(Space space, const Limits& limits, RecordingBuilder& builder) {
  builder.Intern({});
  Metadata& metadata = builder.metadata();
  Surroundings around;
  HostEvents host;
  host.texts = std::move(space.texts);
  for (Plane& plane : space.planes) {
    Look(plane, builder, around);
    xplane::Collect(plane, host);
  }
  xplane::SizeFrees(host);
  if (host.memory.empty()) {
    return tl::unexpected(WithoutMemory(space, around, space.bad_events + host.bad_events));
  }
  metadata.format_display =
      host.jax ? "JAX profiler trace (XSpace)" : "profiler trace of XLA (XSpace)";
  metadata.origin = {.framework = host.jax ? Framework::kJax : Framework::kUnknown,
                     .kind = RecordingKind::kTrace,
                     .platform = around.tpu ? "TPU" : "",
                     .host = space.hosts.empty() ? std::string() : space.hosts.front()};
  metadata.time_nanos = around.start_ns;
  metadata.duration_nanos =
      std::max<std::int64_t>(SaturatingSubtract(around.stop_ns, around.start_ns), 0);
  CodeStacks code(
      builder, std::span<const CodeSpan>{},
      [&host](std::uint32_t name) { return GetPlace(AsText(host.texts[name])); }, limits.depth);
  std::vector<const xplane::Program*> programs;
  for (const Plane& plane : space.planes) {
    for (const xplane::Program& program : plane.programs) {
      programs.push_back(&program);
    }
  }
  const xplane::Join join(programs);
  const xplane::Causes causes = FindCauses(host, join, code);
  xplane::JoinFigures figures;
  builder.SetHistory(xplane::MakeHistory(builder, host, causes, join, around.start_ns, figures));
  AddJoin(builder, join, figures);
  AddNotes(builder, space, host, code.cut());
  return {};
}

}  // namespace memtool::formats
