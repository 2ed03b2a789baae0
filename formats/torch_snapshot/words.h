// The words of a snapshot. A builder interns them before anything else, so that the id of a string
// from the file is the word itself.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace memtool::formats::torch_snapshot {

// clang-format off
// Keys come first and number fewer than 64: the keys of a dict are looked at as a set of bits.
enum class Word : std::uint32_t {
  kNoWord,
  kSegments, kDeviceTraces, kAllocatorSettings, kExternalAnnotations, kHostSegments, kHostTraces,
  kTraceAllocMaxEntries, kTraceAllocOverflowed,
  kDevice, kAddress, kTotalSize, kAllocatedSize, kActiveSize, kRequestedSize, kStream, kSegmentType,
  kBlocks, kSegmentPoolId, kIsExpandable, kFrames,
  kSize, kState, kHistory, kAddr, kRealSize,
  kAction, kDeviceFree, kTimeUs, kCompileContext, kUserMetadata, kPoolId, kForwardFrames, kCategory,
  kName, kFilename, kLine, kFxNodeOp, kFxNodeName, kFxNodeTarget, kFxOriginalTrace, kFxNodeInfo,
  kStage, kGraphCaptureRecordStreamReuse,
  kFirstValue,
  kAlloc = kFirstValue, kFreeRequested, kFreeCompleted, kSegmentAlloc, kSegmentFree, kSegmentMap,
  kSegmentUnmap, kSnapshot, kOom, kAnnotate, kUserDefined,
  kActiveAllocated, kActivePendingFree, kActiveAwaitingFree, kInactive,
  kSmall, kLarge, kStart, kEnd, kNotAvailable,
  kCount,
};
static_assert(static_cast<int>(Word::kFirstValue) < 64);

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Word::kCount)> kWords{
    "",
    "segments", "device_traces", "allocator_settings", "external_annotations", "host_segments",
    "host_traces", "trace_alloc_max_entries", "trace_alloc_overflowed",
    "device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream",
    "segment_type", "blocks", "segment_pool_id", "is_expandable", "frames",
    "size", "state", "history", "addr", "real_size",
    "action", "device_free", "time_us", "compile_context", "user_metadata", "pool_id",
    "forward_frames", "category",
    "name", "filename", "line", "fx_node_op", "fx_node_name", "fx_node_target",
    "fx_original_trace", "fx_node_info",
    "stage", "graph_capture_record_stream_reuse",
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
    "segment_unmap", "snapshot", "oom", "annotate", "user_defined",
    "active_allocated", "active_pending_free", "active_awaiting_free", "inactive",
    "small", "large", "START", "END", "N/A",
};
// clang-format on

constexpr std::uint64_t Bit(Word word) {
  return std::uint64_t{1} << static_cast<unsigned>(word);
}
// The keys of a dict, or of everything that was read.
struct KeySet {
  std::uint64_t bits = 0;
  [[nodiscard]] constexpr bool Has(Word word) const { return (bits & Bit(word)) != 0; }
};

}  // namespace memtool::formats::torch_snapshot
