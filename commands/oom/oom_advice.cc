// What `memtool oom` advises, in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/extent.h"
#include "oom/oom_words.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

std::string Changed(const OomAdvice& advice, const OomCase& /*found*/) {
  std::string text;
  for (const Setting& setting : advice.settings) {
    text += (text.empty() ? "" : " · ") + setting.name + " " + setting.value;
  }
  return text;
}

std::string Expandable(const OomAdvice& advice, const OomCase& /*found*/) {
  std::string setting =
      fmt::format("{}=expandable_segments:True, so that the {} cached can serve large blocks",
                  advice.variable, FormatSize(advice.bytes));
  switch (advice.when) {
    case OomSettingState::kOff:
      return setting + " (it is off)";
    case OomSettingState::kUnknown:
      return setting + ", where this PyTorch has it";
    case OomSettingState::kPerhapsOn:
      return setting + " (a snapshot says whether it is already on)";
    case OomSettingState::kOfNewer:
      return "PyTorch 2.1 or later, with " + setting;
    case OomSettingState::kPlatformMay:
      return setting + ", where this build supports it (others warn and go on without it)";
    default:
      return setting;
  }
}

std::string MaxSplit(const OomAdvice& advice, const OomCase& /*found*/) {
  const std::string range =
      fmt::format("above {} and below the {} asked for", kMinSplitMiB, FormatSize(advice.bytes));
  return advice.when == OomSettingState::kNamed
             ? "what the message suggests, max_split_size_mb, " + range
             : fmt::format("else max_split_size_mb {}: it is not set", range);
}

std::string TrialText(const OomTrial& trial) {
  if (!trial.passes) {
    return trial.setting + " does not";
  }
  const std::string how =
      trial.spare > 0     ? fmt::format(" with {} to spare", FormatSize(trial.spare))
      : trial.retries > 0 ? fmt::format(", after giving everything back {}",
                                        trial.retries == 1 ? std::string("once")
                                                           : FormatCount(trial.retries) + " times")
                          : "";
  return fmt::format("{} {}{}", trial.setting, trial.unsure ? "may pass" : "passes", how);
}

bool NonePasses(const OomAdvice& advice) {
  return std::none_of(advice.trials.begin(), advice.trials.end(),
                      [](const OomTrial& trial) { return trial.passes; });
}

// "expandable_segments:True passes with 1.90 GiB to spare, max_split_size_mb:128 does not".
std::string Trials(const OomAdvice& advice, const OomCase& /*found*/) {
  const bool none = NonePasses(advice);
  std::string text;
  for (const OomTrial& trial : advice.trials) {
    text += (text.empty() ? "" : none ? " and " : ", ") + (none ? trial.setting : TrialText(trial));
  }
  return none ? fmt::format("other allocator settings: replayed exactly, {} {} too", text,
                            advice.trials.size() == 1 ? "fails" : "fail")
              : "replayed exactly: " + text;
}

// "checkpoint:model.py:68 with 1.90 GiB to spare, accumulate=2 with 200.00 MiB"
std::string Changes(const OomAdvice& advice, const OomCase& /*found*/) {
  std::string text;
  for (const OomTrial& change : advice.trials) {
    text += fmt::format("{}{} with {}{}", text.empty() ? "" : ", ", change.setting,
                        FormatSize(change.spare), text.empty() ? " to spare" : "");
  }
  return "a step, edited and replayed, fits: " + text;
}

std::string NotReplayed(const OomAdvice& advice, const OomCase& /*found*/) {
  const std::string_view why =
      advice.variable == "outside" ? "its addresses lie in no segment that the file tells of"
      : advice.variable == "passes"
          ? "the model of the allocator does not fail where the program did"
          : "the model of the allocator differs from the recording";
  return fmt::format("what other settings would have done cannot be told: {} (memtool whatif)",
                     why);
}

std::string RaiseLimit(const OomAdvice& advice, const OomCase& found) {
  if (advice.bytes == 0) {
    return fmt::format(
        "a higher set_per_process_memory_fraction, or none, wherever the program or its launcher "
        "sets it: the device had {} free",
        SizeOf(found.facts.free));
  }
  if (!found.facts.free) {
    return fmt::format("a higher limit than the {} set", FormatSize(advice.bytes));
  }
  return fmt::format(
      "a higher set_per_process_memory_fraction: the limit is {} of {}, the device had {} free",
      FormatSize(advice.bytes), SizeOf(found.facts.capacity), SizeOf(found.facts.free));
}

std::string ExpandableIsOn(const OomAdvice& advice, const OomCase& found) {
  if (advice.when == OomSettingState::kLeftOut) {
    return "expandable_segments: it is on already (from 2.14 on, messages advise it only where it "
           "is off)";
  }
  const OomState& state = *found.state;
  return fmt::format("expandable_segments: it is on already ({} of {} segments can grow)",
                     FormatCount(state.expandable), FormatCount(state.segments));
}

// JAX takes three quarters of a GPU unless told otherwise:
// jax.readthedocs.io/en/latest/gpu_memory_allocation.html
std::string NeedLess(const OomAdvice& /*advice*/, const OomCase& found) {
  std::string text = "a smaller batch, checkpointing, sharding, or offloading";
  if (found.message->wording == OomWording::kXla && found.message->op.empty()) {
    text += "; JAX may take more of a GPU than three quarters (XLA_PYTHON_CLIENT_MEM_FRACTION)";
  }
  return text + "; how much is lacking, the message does not say";
}

// "s32[8388608,8,4]" and what a TPU does with it.
std::string Layout(const OomAdvice& advice, const OomCase& /*found*/) {
  const OomBufferGroup& group = *advice.buffers;
  const std::string& shape = group.first->shape;
  const std::int64_t needed = SaturatingSubtract(group.bytes, group.padding);
  std::string text =
      fmt::format("another layout for {} of {}: padding makes {} into {} ({:.1f}x){}",
                  shape.substr(0, shape.find('{')), group.first->name, FormatSize(needed),
                  FormatSize(group.bytes), Ratio(group.bytes, needed),
                  group.count > 1 ? fmt::format(", in {} buffers", FormatCount(group.count)) : "");
  const auto tiles = ParseTiles(shape);
  if (!tiles) {
    return text + "; TPUs pad the two innermost dimensions to tiles, mostly of 8x128";
  }
  return text + fmt::format(
                    "; its innermost dimensions, {} and {}, are padded to tiles of {}x{}: make "
                    "them multiples of these, or join or swap dimensions",
                    tiles->second, tiles->minor, tiles->tile_second, tiles->tile_minor);
}

// The commands that show more of the same input.
std::vector<std::string_view> Commands(const OomAdvice& advice, const OomCase& found) {
  if (advice.kind == OomAdviceKind::kLookAtMoment) {
    return found.state ? std::vector<std::string_view>{"top", "segments"}
                       : std::vector<std::string_view>{"top", "timeline"};
  }
  if (advice.kind == OomAdviceKind::kLookAtTables) {
    return advice.buffers_listed ? std::vector<std::string_view>{"top", "tree"}
                                 : std::vector<std::string_view>{"segments", "top"};
  }
  return {};
}

// "a snapshot"
std::string_view RecordingOf(const OomCase& found) {
  return GetPlatform(found).framework == "TensorFlow" ? "trace of its profiler"
         : found.message && IsOfPool(*found.message)  ? "device memory profile"
                                                      : "snapshot";
}

// What is said of a kind of advice, and under which word.
struct AdviceWords {
  OomAdviceKind kind;
  std::string_view word;
  // Of {fmt}, with the names of FillIn(); where figures decide between sentences, `make` has them.
  std::string_view text;
  std::string (*make)(const OomAdvice& advice, const OomCase& found) = nullptr;
};

constexpr std::array kAdvice{
    AdviceWords{OomAdviceKind::kSettingsUnknown, "ON",
                "unknown: this snapshot does not record the allocator's settings"},
    AdviceWords{OomAdviceKind::kSettingsDefault, "ON",
                "nothing: all allocator settings are at their defaults"},
    AdviceWords{OomAdviceKind::kSettingsChanged, "ON", "", Changed},
    AdviceWords{OomAdviceKind::kEmptyCache, "TRY",
                "torch.{torch}.empty_cache() would give back {given}"},
    AdviceWords{OomAdviceKind::kPoolsKeepIt, "NOTE", "{kept}"},
    AdviceWords{OomAdviceKind::kEndProcess, "TRY",
                "ending process {pid}: it holds {bytes} of this {device}{share_of_it}, {lacking} "
                "was lacking"},
    AdviceWords{OomAdviceKind::kDivideRequest, "TRY",
                "to divide it: a smaller batch, or shards on several devices"},
    AdviceWords{OomAdviceKind::kFreeOutside, "TRY",
                "to find what this process holds outside {framework}: {bytes} of another allocator "
                "or library (RMM, CuPy, a server's pool, NCCL); memtool run records who asks the "
                "driver"},
    AdviceWords{OomAdviceKind::kFindOutside, "TRY",
                "finding who holds the {bytes} outside {framework}: other processes{tool}, or what "
                "this one has besides that allocator"},
    AdviceWords{OomAdviceKind::kFindProcesses, "TRY",
                "finding which processes hold the {bytes}{tool}"},
    AdviceWords{OomAdviceKind::kFewerPools, "TRY",
                "fewer or smaller CUDA graphs (of servers: fewer sizes that are captured), or "
                "MemPools given back before it: the {bytes} in their pools serve nothing else"},
    AdviceWords{OomAdviceKind::kOtherRefusals, "TRY",
                "looking for what else can refuse it: too little memory of the host (on Windows "
                "the page file, which backs a device's memory), ulimit -v, or a limit of the "
                "process or its container"},
    AdviceWords{OomAdviceKind::kFreeDevice, "TRY",
                "ending what else holds memory on this device (nvidia-smi names it): the pool may "
                "still take up to {bytes}"},
    AdviceWords{OomAdviceKind::kSmallerBlocks, "TRY",
                "smaller blocks in the kernel (Pallas: BlockSpec, scratch shapes), or a higher "
                "limit: vmem_limit_bytes of its compiler parameters, "
                "--xla_tpu_scoped_vmem_limit_kib"},
    AdviceWords{OomAdviceKind::kCheckSizes, "TRY",
                "printing the sizes that the program computes: a negative or unset one becomes "
                "such a request"},
    AdviceWords{OomAdviceKind::kLiftMpsLimit, "TRY",
                "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0, which lifts the limit; the system may run "
                "short of memory then"},
    AdviceWords{OomAdviceKind::kRaiseLimit, "TRY", "", RaiseLimit},
    AdviceWords{OomAdviceKind::kRaiseReserve, "TRY",
                "a larger expandable_segments_reserve in {variable}, above the {bytes} asked for; "
                "the message names the class, where it has one"},
    AdviceWords{OomAdviceKind::kOfWording, "TRY", "{remedy}"},
    AdviceWords{OomAdviceKind::kExpandableSegments, "TRY", "", Expandable},
    AdviceWords{OomAdviceKind::kMaxSplitSize, "TRY", "", MaxSplit},
    AdviceWords{OomAdviceKind::kSmallerRequest, "TRY",
                "a smaller request: giving up all {live} live would not make room for {bytes}"},
    AdviceWords{
        OomAdviceKind::kHoldLess, "TRY",
        "freeing {least}{bytes} of the {live} live: a smaller batch, checkpointing, sharding, or "
        "offloading"},
    AdviceWords{OomAdviceKind::kNeedLess, "TRY", "", NeedLess},
    AdviceWords{OomAdviceKind::kFewerTemporaries, "TRY",
                "fewer temporaries{part_of_it}: a smaller batch, jax.checkpoint (remat), or "
                "sharding of what is computed"},
    AdviceWords{OomAdviceKind::kSmallerArguments, "TRY",
                "smaller arguments{part_of_it}: parameters and optimizer state sharded over more "
                "devices, in a smaller type, or donated (donate_argnums)"},
    AdviceWords{OomAdviceKind::kLayout, "TRY", "", Layout},
    AdviceWords{OomAdviceKind::kOtherAllocator, "TRY",
                "TF_GPU_ALLOCATOR=cuda_malloc_async (JAX and TensorFlow), whose pool joins free "
                "pieces"},
    AdviceWords{OomAdviceKind::kExpandableIsOn, "NOT", "", ExpandableIsOn},
    AdviceWords{OomAdviceKind::kTrials, "TRY", "", Trials},
    AdviceWords{OomAdviceKind::kChanges, "TRY", "", Changes},
    AdviceWords{OomAdviceKind::kNotReplayed, "NOTE", "", NotReplayed},
    AdviceWords{OomAdviceKind::kHeldOutside, "NOTE",
                "{bytes} of this process lies outside PyTorch's allocator, {lacking} was lacking"},
    AdviceWords{OomAdviceKind::kFreeInGraphPools, "NOTE",
                "{bytes} is free in private pools, {lacking} was lacking"},
    AdviceWords{OomAdviceKind::kFreeForOtherStreams, "NOTE",
                "{bytes} is free for other streams only, {lacking} was lacking"},
    AdviceWords{OomAdviceKind::kFreeInPrivatePools, "NOTE",
                "{bytes} is free in private pools (graphs, MemPools), {lacking} was lacking"},
    AdviceWords{OomAdviceKind::kFreeForOtherSizes, "NOTE",
                "{bytes} is free in segments for blocks of another size, {lacking} was lacking"},
    AdviceWords{OomAdviceKind::kFreeLater, "NOTE",
                "{bytes} waits for a stream to give it up, {lacking} was lacking"},
    AdviceWords{
        OomAdviceKind::kRematStopped, "NOTE",
        "XLA recomputes to save memory (rematerialization) and could not get below {bytes}; "
        "its goal was {lacking}"},
    AdviceWords{OomAdviceKind::kFragmentedLayout, "NOTE",
                "{bytes} of the temporaries ({percent}) is fragmentation"},
    AdviceWords{OomAdviceKind::kRecordFirst, "NEXT",
                "call torch.{torch}.memory._record_memory_history() before the program allocates"},
    AdviceWords{OomAdviceKind::kLookAtHost, "NEXT",
                "the kernel's log and the limits of the job (cgroup, ulimit) say more"},
    AdviceWords{OomAdviceKind::kFindHolders, "NEXT",
                "to see what holds the {bytes}, record a {recording}: see memtool help recording"},
    AdviceWords{OomAdviceKind::kFindWhoHeld, "NEXT",
                "to see what held the memory, record a snapshot, a profile or its requests: see "
                "memtool help "
                "recording"},
};

// kLookAtChanges, kLookAtMoment and kLookAtTables are commands.
static_assert(kAdvice.size() + 3 == static_cast<std::size_t>(OomAdviceKind::kFindWhoHeld) + 1);

std::string FillIn(std::string_view text, const OomAdvice& advice, const OomCase& found) {
  const std::string percent =
      advice.share ? fmt::format("{:.0f}%", 100 * *advice.share) : std::string();
  const auto of_it = [&percent](std::string_view before, std::string_view after) {
    return percent.empty() ? std::string() : fmt::format("{}{} of it{}", before, percent, after);
  };
  const OomPlatform platform = GetPlatform(found);
  return fmt::format(
      fmt::runtime(text), fmt::arg("bytes", FormatSize(advice.bytes)),
      fmt::arg("lacking", FormatSize(advice.lacking)), fmt::arg("pid", advice.pid),
      fmt::arg("variable", advice.variable), fmt::arg("percent", percent),
      fmt::arg("share_of_it", of_it(" (", ")")), fmt::arg("part_of_it", of_it(", ", "")),
      fmt::arg("device", platform.device), fmt::arg("framework", platform.framework),
      fmt::arg("torch", TorchModule(found.platform)), fmt::arg("live", SizeOf(GetLive(found))),
      fmt::arg("recording", RecordingOf(found)),
      fmt::arg("least", found.verdict.at_most ? "at least " : ""),
      fmt::arg("tool", platform.processes.empty()
                           ? std::string()
                           : fmt::format(" ({} names them)", platform.processes)),
      fmt::arg("remedy", found.message ? found.message->remedy : std::string()),
      fmt::arg("given", found.state ? ReturnableText(found.state->gives) : std::string()),
      fmt::arg("kept", found.state ? PrivatePoolText(found.state->gives) : std::string()));
}

OomSentence Sentence(const OomAdvice& advice, const OomCase& found) {
  const auto* const words =
      std::find_if(kAdvice.begin(), kAdvice.end(),
                   [&advice](const AdviceWords& each) { return each.kind == advice.kind; });
  const bool in_vain = advice.kind == OomAdviceKind::kTrials && NonePasses(advice);
  return {in_vain ? "NOT" : words->word,
          words->make != nullptr ? words->make(advice, found) : FillIn(words->text, advice, found)};
}

}  // namespace

std::vector<OomSentence> Sentences(const OomAdvice& advice, const OomCase& found,
                                   std::string_view rest) {
  if (advice.kind == OomAdviceKind::kLookAtChanges) {
    constexpr std::string_view kMoment = "--at ";  // whatever is asked, whole steps are tried
    const std::size_t at = rest.starts_with(kMoment) ? rest.find(' ', kMoment.size()) + 1 : 0;
    return {{"NEXT", fmt::format("memtool advise {}", rest.substr(at))}};
  }
  std::vector<OomSentence> sentences;
  for (const std::string_view command : Commands(advice, found)) {
    sentences.push_back({"NEXT", fmt::format("memtool {} {}", command, rest)});
  }
  if (sentences.empty()) {
    sentences.push_back(Sentence(advice, found));
  }
  return sentences;
}

}  // namespace memtool::commands
