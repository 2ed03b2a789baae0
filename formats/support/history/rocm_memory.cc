#include "support/history/rocm_memory.h"

#include <fmt/format.h>

#include <vector>

#include "memtool/profile/base/numbers.h"

namespace memtool::formats::rocm {

namespace {

struct LevelFacts {
  std::string_view name;
  DomainKind kind;
};
// By the number of the level.
constexpr std::array<LevelFacts, 3> kLevels{{{"real", DomainKind::kDevice},
                                             {"virtual", DomainKind::kVmm},
                                             {"scratch", DomainKind::kDevice}}};

const LevelFacts& FactsOf(Level level) {
  return kLevels[static_cast<std::size_t>(level)];
}

}  // namespace

Agent ParseAgent(std::string_view text) {
  Agent agent{.name = std::string(text.empty() ? "no agent" : text)};
  const std::size_t space = text.find_last_of(" -");
  const std::string_view kind = text.substr(0, space == std::string_view::npos ? 0 : space);
  const auto number = ParseNumber<std::int32_t>(text.substr(kind.empty() ? 0 : space + 1));
  if (number && kind == "CPU") {
    agent.name = fmt::format("CPU-{}", *number);  // no device of that number, see DeviceMatches
  } else if (number && *number >= 0) {
    agent.device = *number;
    agent.gpu = kind == "GPU";
  }
  return agent;
}

MemoryPlace MakePlace(const Agent& agent, Level level, std::optional<std::int64_t> process) {
  const bool plain = level == Level::kReal && agent.gpu && !process;
  std::string name = plain ? fmt::format("{}", agent.device) : agent.name;
  name += level == Level::kReal ? "" : fmt::format(" {}", FactsOf(level).name);
  const DomainKind kind =
      agent.device < 0 && level == Level::kReal ? DomainKind::kPinned : FactsOf(level).kind;
  return {.trace = process ? fmt::format("{} (pid {})", name, *process) : name,
          .domain = std::string(FactsOf(level).name),
          .device = agent.device,
          .kind = kind,
          .process = process.value_or(0),
          .rank = static_cast<std::int64_t>(level)};
}

LabelSetId Labels::Of(Level level, std::string_view process, std::string_view range) {
  LabelSetId& plain = plain_[static_cast<std::size_t>(level)];
  const bool is_plain = process.empty() && range.empty();
  if (is_plain && plain.valid()) {
    return plain;
  }
  std::vector<Label> labels;
  const auto add = [&](std::string_view key, std::string_view text) {
    if (!text.empty()) {
      labels.push_back(
          {.key = builder_.Intern(key), .text = builder_.Intern(text), .unit = StringId(0U)});
    }
  };
  add("ledger", FactsOf(level).name);
  add("process", process);
  add("roctx", range);
  const LabelSetId made = builder_.InternLabels(labels);
  plain = is_plain ? made : plain;
  return made;
}

void AddNotes(RecordingBuilder& builder, const Counts& counts) {
  builder.AddDiagnostic(Severity::kDamage, "skipped_row",
                        "rows of memory without an operation, an address, a time or a size",
                        counts.damaged);
  builder.AddDiagnostic(Severity::kDamage, "skipped_row",
                        "rows beyond 250 combinations of process, agent and level of memory",
                        counts.left_out);
  builder.AddDiagnostic(Severity::kWarning, "unknown_free",
                        "frees, which have no size, of memory whose allocation was not recorded",
                        counts.unknown_frees);
  builder.AddDiagnostic(Severity::kNote, "reused_addresses",
                        "allocations at an address whose free was not recorded", counts.reopened);
  builder.AddDiagnostic(Severity::kNote, "null_frees", "frees of address 0, which do nothing",
                        counts.null_frees);
  builder.AddDiagnostic(Severity::kWarning, "other_operations",
                        "rows of operations that this version does not know: left out",
                        counts.other_operations);
  builder.AddBlindSpot("what a caching allocator hands out",
                       "rocprofv3 sees the memory that PyTorch or JAX take from the runtime, not "
                       "their tensors in it");
  builder.AddBlindSpot("where virtual memory is mapped", "only its handles are recorded");
}

}  // namespace memtool::formats::rocm
