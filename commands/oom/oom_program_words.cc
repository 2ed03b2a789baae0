#include "oom/oom_program_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "memtool/profile/base/sizes.h"
#include "oom/oom_why.h"
#include "rows/rows.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

// "the program needs 8.50 GiB"
std::string ProgramText(const OomCase& found) {
  const auto& program = found.message->program;
  return (program && program->heap ? "needed, with what was held already, "
                                   : "the program needs ") +
         FormatSize(found.breakdown->whole.bytes);
}

}  // namespace

std::string WholeText(const OomCase& found) {
  const std::string size = FormatTotal(found.breakdown->whole.bytes);
  if (found.snapshot && !found.state) {
    return "live " + size;
  }
  const bool pool = found.message && IsOfPool(*found.message);
  switch (found.breakdown->kind) {
    case BreakdownTotal::kCapacity:
      if (found.message && found.message->wording == OomWording::kTorchMps) {
        return "allowed " + size;
      }
      return (IsPool(found) ? PoolText(found) + " " : "capacity ") + size;
    case BreakdownTotal::kKnown:
      return "known " + size + " (the capacity is not given)";
    case BreakdownTotal::kProgram:
      return ProgramText(found);
    case BreakdownTotal::kReserved:
      break;
  }
  if (pool) {
    return IsPool(found) ? PoolText(found) + " has taken " + size
                         : "known " + size + " (what the pool had is not given)";
  }
  return (found.state && found.state->exceeds() ? "live " : "reserved ") + size;
}

// What is known of a program, where the message does not say what the device had.
std::string ProgramOnly(const OomCase& found) {
  const std::string needs =
      found.breakdown
          ? "the program needs " + FormatSize(found.breakdown->whole.bytes) + " in all, "
          : std::string();
  return fmt::format("unknown: {}{}but the message does not say what was free",
                     found.facts.requested_bytes
                         ? fmt::format("{} was asked for, ", SizeOf(found.facts.requested_bytes))
                         : std::string(),
                     needs);
}

std::string ProgramPartText(std::string_view part) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kTexts{{
      {"arguments", "arguments: what is passed in, such as parameters and optimizer state"},
      {"temporaries", "temporaries: what the program computes with, such as activations"},
      {"outputs", "outputs that do not take the place of arguments"},
      {"constants", "constants of the program"},
      {"heap", "held already by arrays and other programs"},
      {"reserved", "reserved by the system"},
      {"program", "the program itself"},
      {"globals", "globals of the program"},
      {"scoped", "scoped memory of single operations"},
      {"overlays", "overlays: code that is loaded when it runs"},
      {"rest", "what the message does not divide"},
      {"rounding", "rounding of the figures above"},
  }};
  const auto* const known = std::find_if(kTexts.begin(), kTexts.end(),
                                         [part](const auto& each) { return each.first == part; });
  return std::string(known == kTexts.end() ? part : known->second);
}

std::int64_t DamagedRows(const OomCase& found) {
  if (!found.message) {
    return 0;
  }
  const auto& program = found.message->program;
  const auto& pool = found.message->pool;
  return static_cast<std::int64_t>((program ? program->damaged : 0) + (pool ? pool->damaged : 0));
}

void AddKnown(const OomCase& found, std::vector<OomSentence>& sentences) {
  if (!found.message) {
    return;
  }
  const OomMessage& message = *found.message;
  if (found.room && found.conclusion.reason != OomReason::kNoRoom) {
    sentences.push_back(
        {"KNOWN",
         fmt::format("of the {} that line {} says was free, {} had taken {}, and {} should have "
                     "been left: something else took it since",
                     FormatSize(found.room->free),
                     FormatCount(static_cast<std::int64_t>(found.room->line)), found.room->producer,
                     FormatSize(found.room->taken), FormatSize(found.room->left()))});
  }
  if (!found.conclusion.requested_part.empty()) {
    sentences.push_back({"KNOWN", fmt::format("the {} asked for are the program's {}",
                                              SizeOf(found.facts.requested_bytes),
                                              found.conclusion.requested_part)});
  }
  if (!message.op.empty()) {
    // What tables of wordings name may be an array, or the buffer's purpose.
    const bool library = message.wording == OomWording::kLibrary;
    sentences.push_back(
        {"KNOWN", (library ? "it was for " : "the operation that asked is ") + message.op});
  }
  if (!message.shape.empty()) {
    sentences.push_back({"KNOWN", "it is one allocation of shape " + message.shape});
  }
  if (message.pool && message.pool->largest_free && found.facts.cached &&
      found.conclusion.reason != OomReason::kFragmentation) {
    sentences.push_back({"KNOWN", fmt::format("the largest free piece of the pool is {}",
                                              FormatSize(message.pool->largest_free->bytes))});
  }
}

std::string BuffersText(const OomCase& found, const OomRow& row) {
  if (row.kind == OomRow::Kind::kRest) {
    return "  held by buffers that the message does not list";
  }
  const bool chunks = found.breakdown->kind != BreakdownTotal::kProgram;
  const auto count = static_cast<std::int64_t>(row.count);
  if (row.name == kUnnamedChunks) {
    return fmt::format("  held by {} of {}", Counted(count, "chunk"),
                       FormatSize(count > 0 ? row.bytes / count : 0));
  }
  const std::string place = PlaceText(row.file, row.line);
  std::string text = "  held by " + row.name.str() + (place.empty() ? "" : "  " + place) +
                     (row.shape.empty() ? "" : "  " + row.shape);
  return count > 1 ? text + "  " + Counted(count, chunks ? "chunk" : "buffer") : text;
}

}  // namespace memtool::commands
