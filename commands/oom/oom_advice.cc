// What `memtool oom` advises, in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/extent.h"
#include "oom/oom_words.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

std::string Changed(const std::vector<Setting>& settings) {
  std::string text;
  for (const Setting& setting : settings) {
    text += (text.empty() ? "" : " · ") + setting.name + " " + setting.value;
  }
  return text;
}

std::string EndProcess(const OomAdvice& advice, const OomCase& found) {
  const std::string share =
      advice.share ? fmt::format(" ({:.0f}% of it)", 100 * *advice.share) : std::string();
  return fmt::format("ending process {}: it holds {} of this {}{}, {} was lacking", advice.pid,
                     FormatSize(advice.bytes), GetPlatform(found).device, share,
                     FormatSize(advice.lacking));
}

std::string Expandable(const OomAdvice& advice) {
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

std::string MaxSplit(const OomAdvice& advice) {
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

// "expandable_segments:True passes with 1.90 GiB to spare, max_split_size_mb:128 does not".
OomSentence Trials(const OomAdvice& advice) {
  const auto passes = [](const OomTrial& trial) { return trial.passes; };
  std::string text;
  for (const OomTrial& trial : advice.trials) {
    text += (text.empty() ? "" : ", ") + TrialText(trial);
  }
  if (std::any_of(advice.trials.begin(), advice.trials.end(), passes)) {
    return {"TRY", "replayed exactly: " + text};
  }
  text.clear();
  for (const OomTrial& trial : advice.trials) {
    text += (text.empty() ? "" : " and ") + trial.setting;
  }
  return {"NOT", fmt::format("other allocator settings: replayed exactly, {} {} too", text,
                             advice.trials.size() == 1 ? "fails" : "fail")};
}

std::string NotReplayed(const OomAdvice& advice) {
  const std::string_view why =
      advice.variable == "outside" ? "its addresses lie in no segment that the file tells of"
      : advice.variable == "passes"
          ? "the model of the allocator does not fail where the program did"
          : "the model of the allocator differs from the recording";
  return fmt::format("what other settings would have done cannot be told: {} (memtool whatif)",
                     why);
}

std::string Enough(const OomAdvice& advice, std::string_view where) {
  return fmt::format("{} {}, {} was lacking", FormatSize(advice.bytes), where,
                     FormatSize(advice.lacking));
}

std::string HoldLess(const OomAdvice& advice, const OomCase& found) {
  return fmt::format(
      "freeing {} of the {} live: a smaller batch, checkpointing, sharding, or "
      "offloading",
      FormatSize(advice.bytes), SizeOf(GetLive(found)));
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

// "s32[8388608,8,4]" and what a TPU does with it.
std::string Layout(const OomAdvice& advice) {
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

// Memory that others hold, and where to look next.
OomSentence NoteOrNext(const OomAdvice& advice, const OomCase& found) {
  switch (advice.kind) {
    case OomAdviceKind::kHeldOutside:
      return {"NOTE", Enough(advice, "of this process lies outside PyTorch's allocator")};
    case OomAdviceKind::kFreeInGraphPools:
      return {"NOTE", Enough(advice, "is free in private pools")};
    case OomAdviceKind::kFreeForOtherStreams:
      return {"NOTE", Enough(advice, "is free for other streams only")};
    case OomAdviceKind::kFreeInPrivatePools:
      return {"NOTE", Enough(advice, "is free in private pools (graphs, MemPools)")};
    case OomAdviceKind::kFreeForOtherSizes:
      return {"NOTE", Enough(advice, "is free in segments for blocks of another size")};
    case OomAdviceKind::kFreeLater:
      return {"NOTE", Enough(advice, "waits for a stream to give it up")};
    case OomAdviceKind::kRecordFirst:
      return {"NEXT",
              fmt::format("call torch.{}.memory._record_memory_history() before the program "
                          "allocates",
                          TorchModule(found.platform))};
    case OomAdviceKind::kLookAtHost:
      return {"NEXT", "the kernel's log and the limits of the job (cgroup, ulimit) say more"};
    case OomAdviceKind::kFindHolders:
      return {"NEXT",
              fmt::format("to see what holds the {}, record a {}: see memtool help recording",
                          FormatSize(advice.bytes),
                          GetPlatform(found).framework == "TensorFlow" ? "trace of its profiler"
                          : found.message && IsOfPool(*found.message)  ? "device memory profile"
                                                                       : "snapshot")};
    default:
      return {"NEXT",
              "to see what held the memory, record a snapshot or a profile: see memtool help "
              "recording"};
  }
}

// The commands that show more of the same input.
std::vector<std::string_view> Commands(const OomAdvice& advice) {
  if (advice.kind == OomAdviceKind::kLookAtMoment) {
    return {"top", "segments"};
  }
  if (advice.kind == OomAdviceKind::kLookAtTables) {
    return advice.buffers_listed ? std::vector<std::string_view>{"top", "tree"}
                                 : std::vector<std::string_view>{"segments", "top"};
  }
  return {};
}

// What a batch size does not change.
std::optional<OomSentence> Elsewhere(const OomAdvice& advice, const OomCase& found) {
  switch (advice.kind) {
    case OomAdviceKind::kFreeOutside:
      return OomSentence{
          "TRY",
          fmt::format("to find what this process holds outside {}: {} of another allocator or "
                      "library (RMM, CuPy, a server's pool, NCCL); memtool run records who asks "
                      "the driver",
                      GetPlatform(found).framework, FormatSize(advice.bytes))};
    case OomAdviceKind::kFreeDevice:
      return OomSentence{
          "TRY", fmt::format("ending what else holds memory on this device (nvidia-smi names it): "
                             "the pool may still take up to {}",
                             FormatSize(advice.bytes))};
    case OomAdviceKind::kSmallerBlocks:
      return OomSentence{
          "TRY",
          "smaller blocks in the kernel (Pallas: BlockSpec, scratch shapes), or a higher limit: "
          "vmem_limit_bytes of its compiler parameters, --xla_tpu_scoped_vmem_limit_kib"};
    default:
      return std::nullopt;
  }
}

// What the table of a program suggests, or what is elsewhere.
std::optional<OomSentence> OfTable(const OomAdvice& advice, const OomCase& found) {
  const double percent = 100 * advice.share.value_or(0);
  const std::string of_it = advice.share ? fmt::format(", {:.0f}% of it", percent) : std::string();
  switch (advice.kind) {
    case OomAdviceKind::kFewerTemporaries:
      return OomSentence{"TRY", fmt::format("fewer temporaries{}: a smaller batch, jax.checkpoint "
                                            "(remat), or sharding of what is computed",
                                            of_it)};
    case OomAdviceKind::kSmallerArguments:
      return OomSentence{"TRY",
                         fmt::format("smaller arguments{}: parameters and optimizer state "
                                     "sharded over more devices, in a smaller type, or donated "
                                     "(donate_argnums)",
                                     of_it)};
    case OomAdviceKind::kLayout:
      return OomSentence{"TRY", Layout(advice)};
    case OomAdviceKind::kOtherAllocator:
      return OomSentence{"TRY",
                         "TF_GPU_ALLOCATOR=cuda_malloc_async (JAX and TensorFlow), whose pool "
                         "joins free pieces"};
    case OomAdviceKind::kRematStopped:
      return OomSentence{
          "NOTE", fmt::format("XLA recomputes to save memory (rematerialization) and could not "
                              "get below {}; its goal was {}",
                              FormatSize(advice.bytes), FormatSize(advice.lacking))};
    case OomAdviceKind::kFragmentedLayout:
      return OomSentence{"NOTE", fmt::format("{} of the temporaries ({:.0f}%) is fragmentation",
                                             FormatSize(advice.bytes), percent)};
    default:
      return Elsewhere(advice, found);
  }
}

OomSentence Sentence(const OomAdvice& advice, const OomCase& found) {
  if (auto of_table = OfTable(advice, found)) {
    return *std::move(of_table);
  }
  switch (advice.kind) {
    case OomAdviceKind::kSettingsUnknown:
      return {"ON", "unknown: this snapshot does not record the allocator's settings"};
    case OomAdviceKind::kSettingsDefault:
      return {"ON", "nothing: all allocator settings are at their defaults"};
    case OomAdviceKind::kSettingsChanged:
      return {"ON", Changed(advice.settings)};
    case OomAdviceKind::kEmptyCache:
      return {"TRY", fmt::format("torch.{}.empty_cache() would give back {}",
                                 TorchModule(found.platform), ReturnableText(found.state->gives))};
    case OomAdviceKind::kPoolsKeepIt:
      return {"NOTE", PrivatePoolText(found.state->gives)};
    case OomAdviceKind::kEndProcess:
      return {"TRY", EndProcess(advice, found)};
    case OomAdviceKind::kDivideRequest:
      return {"TRY", "to divide it: a smaller batch, or shards on several devices"};
    case OomAdviceKind::kCheckSizes:
      return {"TRY",
              "printing the sizes that the program computes: a negative or unset one becomes such "
              "a request"};
    case OomAdviceKind::kLiftMpsLimit:
      return {"TRY",
              "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0, which lifts the limit; the system may run "
              "short of memory then"};
    case OomAdviceKind::kRaiseLimit:
      return {"TRY", RaiseLimit(advice, found)};
    case OomAdviceKind::kRaiseReserve:
      return {"TRY", fmt::format("a larger expandable_segments_reserve in {}, above the {} asked "
                                 "for; the message names the class, where it has one",
                                 advice.variable, FormatSize(advice.bytes))};
    case OomAdviceKind::kLowerUtilization:
      return {"TRY", fmt::format("a lower gpu_memory_utilization, to fit the {} that is free, or "
                                 "ending what else holds memory on this device",
                                 FormatSize(advice.bytes))};
    case OomAdviceKind::kShorterContext:
      return {"TRY", "a smaller max_model_len, or a higher gpu_memory_utilization"};
    case OomAdviceKind::kExpandableSegments:
      return {"TRY", Expandable(advice)};
    case OomAdviceKind::kMaxSplitSize:
      return {"TRY", MaxSplit(advice)};
    case OomAdviceKind::kTrials:
      return Trials(advice);
    case OomAdviceKind::kNotReplayed:
      return {"NOTE", NotReplayed(advice)};
    case OomAdviceKind::kSmallerRequest:
      return {"TRY", fmt::format("a smaller request: giving up all {} live would not make room for "
                                 "{}",
                                 SizeOf(GetLive(found)), FormatSize(advice.bytes))};
    case OomAdviceKind::kHoldLess:
      return {"TRY", HoldLess(advice, found)};
    case OomAdviceKind::kExpandableIsOn:
      return {"NOT", ExpandableIsOn(advice, found)};
    default:
      return NoteOrNext(advice, found);
  }
}

}  // namespace

std::vector<OomSentence> Sentences(const OomAdvice& advice, const OomCase& found,
                                   std::string_view rest) {
  std::vector<OomSentence> sentences;
  for (const std::string_view command : Commands(advice)) {
    sentences.push_back({"NEXT", fmt::format("memtool {} {}", command, rest)});
  }
  if (sentences.empty()) {
    sentences.push_back(Sentence(advice, found));
  }
  return sentences;
}

}  // namespace memtool::commands
