// The figures that answers hold besides their rows (FigureInfo).
#pragma once

#include "help/declared_answers.h"

namespace memtool::commands {

// Of whatever answers in words.
inline constexpr FigureInfo kVerdict{"verdict", "string[]", "the answer as sentences"};
inline constexpr FigureInfo kNotes{"notes", "string[]", "what is to be known beside it"};

inline constexpr FigureInfo kTopFigures[] = {
    // NOLINT
    {"total", "integer", "the sum of the rows"},
    {"total_unfiltered", "integer?", "the sum without filters, which shares are of"},
    {"total_abs", "integer?", "the sum of all magnitudes"},
    {"unknown", "integer?", "allocations of unknown size"},
    {"total_base", "integer?", "the sum of the base"},
};
inline constexpr FigureInfo kOverviewFigures[] = {
    // NOLINT
    {"answers", "{...}", "figures and rows of the commands that were asked, by command"},
};
inline constexpr FigureInfo kDiffFigures[] = {
    // NOLINT
    {"total", "integer", "the new total minus that of the base"},
    {"base_total", "integer", "the sum of the base"},
    {"new_total", "integer", "the sum of the new inputs"},
    {"unknown_base", "integer", "allocations of unknown size in the base"},
    {"unknown_new", "integer", "allocations of unknown size in the new inputs"},
};
inline constexpr FigureInfo kDiffAlignFigures[] = {
    // NOLINT
    {"corresponds", "boolean", "whether the two runs do the same"},
    {"keys",
     R"({key: "frames"|"innermost"|"operation", pairs: natural, of: natural, )"
     "share: number}[]",
     "which names of allocations were compared, and how many of them pair"},
    {"partner_share", "number|null", "allocations that have a partner"},
    {"unaligned_bytes", "integer", "bytes in allocations that were not compared"},
    {"base_from", R"("mark"|"phase"|"loop"|"none")", "how the steps of the base were found"},
    {"new_from", R"("mark"|"phase"|"loop"|"none")", "how the steps of the new run were found"},
    {"base_steps", "natural", "steps of the base"},
    {"new_steps", "natural", "steps of the new run"},
    {"base_peak", "integer", "the peak of the base"},
    {"new_peak", "integer", "the peak of the new run"},
    {"base_step", "integer|null", "the step of the base that the rows are about"},
    {"new_step", "integer|null", "the step of the new run that they are about"},
    {"unchanged", "integer", "bytes that both peaks have"},
    {"steps",
     "{base_step: integer, new_step: integer, matched: natural, changed: natural, "
     "added: natural, removed: natural, changed_bytes: integer, added_bytes: integer, "
     "removed_bytes: integer, complete: boolean, peak: {base_event: integer, "
     "new_event: integer, base: integer, new: integer, delta: integer, "
     "matched: natural, changed: natural, added: natural, removed: natural, "
     "changed_bytes: integer, added_bytes: integer, removed_bytes: integer, "
     "held_bytes: integer, before_bytes: integer}}[]",
     "the steps, in pairs"},
};
inline constexpr FigureInfo kDiffAlignRanksFigures[] = {
    // NOLINT
    {"compared", "natural", "ranks that were compared"},
    {"grew", "natural", "ranks that hold more"},
    {"shrank", "natural", "ranks that hold less"},
    {"only_base", "integer[]", "ranks that only the base has"},
    {"only_new", "integer[]", "ranks that only the new run has"},
};
inline constexpr FigureInfo kChurnFigures[] = {
    // NOLINT
    {"total", "natural", "bytes that were allocated"},
    {"allocations", "natural", "how many allocations these were"},
    {"duration_us", "integer|null", "how long the chosen events took"},
    {"allocations_per_second", "number|null", "allocations per second"},
    {"bytes_per_second", "number|null", "bytes that were allocated per second"},
    {"short_lived_events", "integer|null", "the limit of a short life, in events"},
    {"short_lived_us", "integer|null", "the limit of a short life, in time"},
    {"short_lived", "natural", "allocations that were freed within the limit"},
    {"short_bytes", "natural", "their bytes"},
    {"kept", "natural", "allocations that were not freed before the file ends"},
    {"kept_bytes", "natural", "their bytes"},
    {"median_events", "integer|null", "events that half of what was freed lived at most"},
    {"median_us", "integer|null", "the same in time"},
};
inline constexpr FigureInfo kLeaksFigures[] = {
    // NOLINT
    {"total", "integer", "by how much all rows together grew"},
    {"total_first", "integer", "what everything held in the first step"},
    {"total_last", "integer", "what everything holds in the last step"},
    {"total_slope", "integer", "by how much everything grows per step"},
    {"total_kind", R"("constant"|"steady"|"stepwise"|"shrinking"|"noisy")", "how everything grows"},
    kVerdict,
    {"points",
     "{name: string, time_us: integer|null, event: natural|null, total: integer, "
     "unknown: natural}[]",
     "the steps"},
    {"order", R"("name"|"time"|"given"|"event")", "what the steps are ordered by"},
    {"measure", R"("input"|"end"|"low"|"kept")", "what of each step is measured"},
    {"step_mark", "string|null", "the mark that steps begin with"},
    {"steps_by", R"("part"|"mark"|"phase"|"loop"|null)", "what the steps of a history are"},
};
inline constexpr FigureInfo kTracesFigures[] = {
    // NOLINT
    {"total", "integer", "the sum of the rows"},
};
inline constexpr FigureInfo kTagsFigures[] = {
    // NOLINT
    {"total", "integer", "the sum of all allocations"},
};
inline constexpr FigureInfo kTreeFigures[] = {
    // NOLINT
    {"total", "integer", "the sum of the inputs, before filters"},
    {"nodes", "integer", "how many functions there are"},
};
inline constexpr FigureInfo kFlameFigures[] = {
    // NOLINT
    {"difference", "boolean", "whether a base was subtracted"},
    {"total", "integer", "the sum of the inputs"},
    {"base_total", "integer|null", "the sum of the base"},
    {"frames_left_out", "natural", "frames too small to have a row"},
};
inline constexpr FigureInfo kSegmentsFigures[] = {
    // NOLINT
    {"total", "integer", "bytes that are free"},
    {"reserved", "natural", "bytes in all segments"},
    {"allocated", "natural", "bytes that are in use"},
    {"pending_free", "natural", "bytes that wait for a stream"},
    {"free", "natural", "bytes that are free"},
    {"largest_free", "natural|null", "the largest free block"},
    {"returnable_bytes", "natural", "bytes that empty_cache() gives back"},
    {"reuse_only_bytes", "natural", "free bytes that only reuse can fill"},
    {"fragmented_bytes", "natural|null", "free bytes in gaps that are too small"},
    {"fragmented_for", "natural", "the request that they are too small for"},
    {"private_pool_bytes", "natural", "free bytes in private pools"},
    {"unlisted_bytes", "integer", "free bytes in no block that the file lists"},
    {"inactive_splits", "natural", "free blocks beside used ones"},
    {"inactive_split_bytes", "natural", "their bytes"},
    {"unused_segments", "natural", "segments of which nothing is in use"},
    {"unused_bytes", "natural", "their bytes"},
    {"pinned_segments", "natural", "segments that little keeps from being released"},
    {"pinned_free_bytes", "natural", "free bytes in them"},
    {"pinned_live_bytes", "natural", "used bytes in them"},
    {"unplaced_bytes", "natural", "live blocks in no known segment"},
    {"fragmentation", "number|null", "fragmented bytes as a share of the reserved ones"},
    {"holders", "{name: string, file: string, line: integer|null}[]?",
     "with --blocks: what holds blocks, as rows of --by name it"},
};
inline constexpr FigureInfo kStepsFigures[] = {
    // NOLINT
    {"loops",
     "{begin: natural, period: natural, repetitions: integer, bytes: integer, "
     R"(allocated: integer, phase: "forward"|"backward"|"optimizer"|"other", )"
     R"(kind: "layers"|"parameters"|"steps"|"other", step: integer|null, )"
     "steps: natural, device: integer, input: string}[]",
     "repetitions inside of steps"},
    {"keepers",
     "{function: string, file: string, line: integer, calls: natural, bytes: natural, "
     "device: integer, input: string}[]",
     "functions whose calls keep most of the forward pass for the backward, by the line of the "
     "call"},
    {"traces",
     R"({device: integer, input: string, from: "mark"|"phase"|"loop"|"none", )"
     "mark: string|null, steps: natural, allocations: natural, folded: natural, "
     R"(phases: {phase: "forward"|"backward"|"optimizer"|"other", )"
     "allocations: natural}[]}[]",
     "what was found in each device of each input"},
    kVerdict,
    kNotes,
};
inline constexpr FigureInfo kBucketsFigures[] = {
    // NOLINT
    {"total", "integer", "the sum of all allocations"},
    {"expected_sum", "integer|null?", "what --expected-sum says"},
    {"untrackable", "integer|null?", "the expected sum minus what the input has"},
    {"ambiguous_bytes", "integer?", "bytes that several categories match"},
    {"repeated_bytes", "integer?", "bytes that are counted in several categories"},
    {"dictionary", "string", "the dictionary that was taken: a file, or builtin:NAME"},
    {"before_recording",
     R"({device: string, gradients: natural, matched: natural, basis: "outlive"|"added"|"passes", )"
     R"(confidence: "medium"|"high", optimizer: string|null, states: natural, )"
     R"(of_twice_the_size: 0|1, replaced: natural, states_confidence: "none"|"medium"|"high", )"
     "other_copies: natural}[]?",
     "what divides the blocks from before the recording, where sizes decide it"},
};
inline constexpr FigureInfo kExplanationFigures[] = {
    // NOLINT
    {"total", "integer", "the sum of all allocations"},
};
inline constexpr FigureInfo kOomFigures[] = {
    // NOLINT
    {"total", "integer|null", "the sum of the rows that are parts"},
    {"verdict", R"("fragmentation"|"full"|"limit"|"too-large"|"unexplained"|"unknown"|"none")",
     "why the request failed"},
    {"close", "0|1?", "whether rounding of the figures could change that"},
    {"asked", "natural|null?", "the request that failed"},
    {"driver_free", "natural|null?", "what the driver had free"},
    {"capacity", "natural|null?", "the memory of the device"},
    {"limit", "natural|null?", "what the process may use"},
    {"live", "natural|null?", "what the program held"},
    {"cached", "natural|null?", "what the allocator held and the program did not"},
    {"short_of_driver", "natural|null?", "by how much the driver had too little"},
    {"short_in_all", "natural|null?", "by how much all that is free is too little"},
    {"fits_in_one_piece", "0|1|null?", "whether all that is free would do in one piece"},
    {"reserved", "natural?", "bytes in all segments"},
    {"largest_free", "natural?", "the largest free block"},
    {"fragmented_bytes", "natural|null?", "free bytes in gaps that are too small"},
    {"usable_free", "natural?", "free bytes that the request could use"},
    {"usable_largest", "natural?", "the largest free block that it could use"},
    {"peak", "natural?",
     "the most that was live at once, of a recording without the allocator's state"},
    {"peak_event", "integer?", "after which event that was"},
    {"estimated_segments", "natural?", "segments that are estimated"},
    {"answer", "string", "the verdict as a sentence"},
    {"sentences", R"({kind: "WHY"|"NOT"|"KNOWN"|"ON"|"TRY"|"NOTE"|"NEXT", text: string}[])",
     "reasons and advice as sentences"},
    {"messages", "natural?", "how many failures the log has"},
    {"retries", "natural?", "how often an attempt was repeated"},
    {"last_retry",
     "{line: natural, asked: integer|null, driver_free: integer|null, "
     "capacity: integer|null}|null?",
     "the last of these"},
    {"killed_line", "natural|null?", "the line that says that a process was killed by signal 9"},
    {"message", "natural?", "which failure this is"},
    {"line", "natural?", "its line"},
    {"wording",
     R"("torch-cached"|"torch-reserved"|"torch-unallocated"|"torch-async"|"torch-mps"|)"
     R"("torch-retry"|"xla"|"xla-hbm"|"xla-scoped"|"xla-tpu"|"library"|"vllm"|)"
     R"("tensorflow"|"host"|"no-figures"?)",
     "who wrote the message"},
    {"complete", "0|1?", "whether the message is whole"},
    {"rank", "natural|null?", "the rank of the process"},
    {"time_us", "integer|null?", "when it failed"},
    {"gpu", "natural|null?", "the device, as the message says"},
    {"operation", "string|null?", "which operation asked, where the message names it"},
    {"program",
     "{line: natural, memory: string|null, total: {bytes: integer, "
     "precision: natural}|null, reserved: {bytes: integer, precision: natural}|null, "
     "arguments: {bytes: integer, precision: natural}|null, heap: {bytes: integer, "
     "precision: natural}|null, constants: {bytes: integer, precision: natural}|null, "
     "outputs: {bytes: integer, precision: natural}|null, program: {bytes: integer, "
     "precision: natural}|null, temporaries: {bytes: integer, precision: natural}|"
     "null, globals: {bytes: integer, precision: natural}|null, "
     "scoped: {bytes: integer, precision: natural}|null, overlays: {bytes: integer, "
     "precision: natural}|null, fragmentation: {bytes: integer, precision: natural}|"
     "null, unpadded: {bytes: integer, precision: natural}|null, "
     "padded: {bytes: integer, precision: natural}|null, capacity: {bytes: integer, "
     "precision: natural}|null, buffers: {bytes: integer, precision: natural, "
     R"(kind: "argument"|"other", name: string, op_name: string|null, file: string|)"
     "null, line: integer|null, shape: string|null, instruction: string|null, "
     "allocation: string|null, unpadded: {bytes: integer, precision: natural}|null, "
     "padding: {bytes: integer, precision: natural}|null}[], damaged: natural}?",
     "the memory of the program that failed"},
    {"pool",
     "{line: natural, allocator: string|null, limit: {bytes: integer, "
     "precision: natural}|null, in_use: {bytes: integer, precision: natural}|null, "
     "peak: {bytes: integer, precision: natural}|null, reserved: {bytes: integer, "
     "precision: natural}|null, largest_free: {bytes: integer, precision: natural}|"
     "null, regions: natural, chunks_in_use: natural, chunks_free: natural, "
     "damaged: natural}?",
     "the allocator of the message"},
    {"remat",
     "{line: natural, goal: {bytes: integer, precision: natural}|null, "
     "reached: {bytes: integer, precision: natural}|null}?",
     "what rematerialization came to"},
};
inline constexpr FigureInfo kOomInputsFigures[] = {
    // NOLINT
    {"failed", "natural", "inputs that ran out of memory"},
    {"by_time", "0|1", "whether rows are in the order of time"},
    {"order", "{first: natural, next: natural, nanos: natural}|null", "who was first"},
};
inline constexpr FigureInfo kRanksFigures[] = {
    // NOLINT
    {"set",
     "{job: string|null, role: string|null, attempt: integer|null, step: integer|"
     "null, at_oom: boolean, world: integer}",
     "which ranks these are"},
    {"median_peak", "integer|null", "the median of the peaks"},
    {"classes",
     "{class: integer, ranks: integer[], peak: integer, least: integer, "
     R"(most: integer, looks_like: "pipeline stage"|"place in a node"|)"
     R"("tensor-parallel half"|null, differs: {name: string, file: string, )"
     "bytes: integer}[], half_of: integer|null, wide: boolean}[]",
     "ranks that hold the same"},
    {"structure",
     R"({code: "alike"|"stages"|"repeated-stages"|"first-of-node"|"every-second"|"ends"|)"
     R"("halves"|"none", block: integer, period: integer, stages: integer})",
     "what the classes look like"},
    {"missing", "integer[]", "ranks without a file"},
    {"missing_count", "integer", "how many these are"},
    {"first_oom",
     "null|{rank: integer, time: integer|null, before_next_s: number|null, "
     "next_rank: integer|null, asked: integer|null, free: integer|null, "
     "failed: integer, others_told: integer, others_reserved_median: integer|null, "
     "others_reserved_most: integer|null, with: integer[]}",
     "who ran out of memory first"},
    {"unranked", "{path: string, problem: string|null}[]", "files that say no rank"},
    {"others",
     "{job: string|null, role: string|null, attempt: integer|null, step: integer|"
     "null, at_oom: boolean, files: integer}[]",
     "other sets that the inputs have"},
    kVerdict,
    kNotes,
};
inline constexpr FigureInfo kCheckFigures[] = {
    // NOLINT
    {"broken", "natural", "how many limits are broken"},
    {"unknown", "natural", "how many limits are of something that the input does not tell"},
    kVerdict,
    kNotes,
};
inline constexpr FigureInfo kWhatifFigures[] = {
    // NOLINT
    {"fidelity",
     R"({device: integer, setting: string, obstacle: null|"not_pytorch"|"host_memory"|)"
     R"("no_events"|"no_state"|"other_allocator"|"too_large"|"outside", )"
     "placements: natural, placements_equal: natural, segments: natural, "
     "segments_equal: natural, segments_false: natural, releases: natural, "
     "releases_equal: natural, reserved_difference: natural, exact: boolean, "
     R"(first_difference: {event: integer, reason: "base"|"placement"|"segment"|)"
     R"("release"|"failure"|"blocks", expected: integer|string, got: integer|string}|)"
     R"(null, limit: {low: natural, high: natural|null, from: "highest"|"refusals"|)"
     R"("failure"|"own"|"option", reproduced?: boolean|null, retries?: natural}|null}[])",
     "how true the model is to the recording"},
    {"limit",
     R"({low: natural, high: natural|null, from: "highest"|"refusals"|"failure"|"own"|)"
     R"("option", reproduced?: boolean|null, retries?: natural}|null)",
     "the memory of the device"},
    {"changed", "boolean", "whether the events were changed, too"},
    {"other_rules", "string[]",
     "rules of this device's allocator that are not those of CUDA's, which are modelled"},
    kVerdict,
    kNotes,
};
#define NEEDS                                                                            \
  "{device: integer, reserved: natural, live: natural, next_step_reserved: natural, "    \
  "next_step_live: natural, limit: natural|null, fits: boolean|null, obstacle: "         \
  R"("not_replayed"|"inexact"|"no_backward"|"no_layers"|"checkpointed"|"failed_early"|)" \
  "null}"
inline constexpr FigureInfo kAdviseFigures[] = {
    // NOLINT
    {"needs", NEEDS "|null", "what it needs now and at the next step; null of several devices"},
    {"devices", NEEDS "[]", "the same of each device"},
    {"card", "natural|null", "all of the card that was asked about"},
    {"headroom", "number", "the share of the limit that is to stay free"},
    {"sets",
     "{device: integer, changes: string[], live_peak: natural, reserved_low: natural, "
     "reserved_high: natural, error: number, cost: number, fits: boolean}[]",
     "what fits together, the cheapest first"},
    kVerdict,
    kNotes,
    {"costs", "string[]", "what each change costs, in words"},
};
#undef NEEDS
inline constexpr FigureInfo kContextFigures[] = {
    // NOLINT
    {"producer", "string", "the server"},
    {"device", "string|null", "the device that decides, where the log names it"},
    {"tokens", "natural", "tokens of the cache in the log"},
    {"kv_bytes", "natural", "what they take"},
    {"line", "natural", "the line that says how many"},
    {"bytes_per_token", "number", "the one divided by the other"},
    {"sliding_bytes", "natural", "caches that do not grow with the context"},
    {"other_bytes", "natural", "what else is held"},
    {"budget", "natural|null", "what all of it may take"},
    {"budget_from", R"("as_is"|"free"|"share"|"limit")",
     "whether that is the cache as it is, what was free before, the server's share of --card, or "
     "--card less --overhead"},
    {"fitting", "natural", "tokens that fit"},
    kVerdict,
    kNotes,
};
inline constexpr FigureInfo kFitFigures[] = {
    // NOLINT
    {"gate",
     R"({paired: number, outside: number, accepted: boolean, reason: "structure"|"laws"|)"
     R"("nothing"|null, exact: boolean, allocations: natural, scratch: {name: string, )"
     R"(file: string|null, x: number, count: natural, largest: natural}[], x: number[]})",
     "how well the recordings correspond"},
    {"device", "integer", "the device"},
    {"began_late", "boolean", "whether a recording began after the run"},
    {"limit", "integer|null", "the memory of the device"},
    {"largest", "{setting: string, x: integer|null, x_low: integer|null, bounded: boolean}[]",
     "the largest parameter that fits, per setting"},
    {"laws_at", "number", "the parameter that the laws are shown for"},
    {"laws_from", "number", "the parameter that they are worked out from"},
    {"laws",
     R"({name: string, file: string|null, line: integer|null, law: "constant"|"linear"|)"
     R"("quadratic"|"other", bytes: natural, share: number, recorded: natural}[])",
     "how rows grow with the parameter"},
    kVerdict,
    kNotes,
};

}  // namespace memtool::commands
