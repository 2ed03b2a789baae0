// What writer and reader of the container share: memtool-formats(5) describes it for others. All
// numbers of fixed width are little endian.
//
//   header:  magic, version u32, low half of XXH3-64 of these 12 bytes u32
//   section: table u32, rows u32, size u64, payload, XXH3-64 of all of that u64
//   payload: columns; a column: number, coding u8, base, and unless it is constant: divisor, size
//            before and after packing, bytes (numbers here are varints)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memtool::formats::memtool_file {

inline constexpr std::string_view kMagic = "\x89memtool";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kSectionHeaderBytes = 16;
inline constexpr std::size_t kChecksumBytes = 8;
// Rows, and items of rows that are lists, of one section. Writers make smaller ones.
inline constexpr std::uint32_t kMaxRowCount = 1U << 20U;
inline constexpr std::uint64_t kMaxItems = 1U << 22U;

// A file has them in this order, the rows of a long one in several sections.
enum class Table : std::uint32_t {
  kEnd,  // rows = sections before it; nothing follows
  kAbout,
  kStrings,
  kMappings,
  kFunctions,
  kLocations,
  kStacks,
  kLabelSets,
  kComments,
  kDeviceNames,
  kDiagnostics,
  kBlindSpots,
  kCounters,
  kSettings,
  kSampleTypes,
  kSamples,
  kUnknownSizes,
  kDomains,
  kTraces,
  kStreams,
  kMarks,
  kEvents,
  kMapped,
  kBreakdowns,
  kSegments,
  kBlocks,
  kStatements,
  kUnreadLines,
};
inline constexpr std::array<std::string_view, 28> kTableNames{
    "end",      "about",      "strings",      "mappings",     "functions",     "locations",
    "stacks",   "label_sets", "comments",     "device_names", "diagnostics",   "blind_spots",
    "counters", "settings",   "sample_types", "samples",      "unknown_sizes", "ledgers",
    "traces",   "streams",    "marks",        "events",       "mapped",        "breakdowns",
    "segments", "blocks",     "statements",   "unread_lines"};

// Columns of the table of samples: the values of each sample type come last.
inline constexpr std::uint32_t kSampleStack = 1;
inline constexpr std::uint32_t kSampleLabels = 2;
inline constexpr std::uint32_t kFirstValue = 16;

// How the values of a column became words: themselves less `base`; their distances from the value
// before (the first one's is `base`); or the distances of these distances. Divided by `divisor`;
// distances are written zigzag.
enum class Transform : std::uint8_t { kPlain, kSteps, kChanges };
// How words became bytes: not at all, because every value is `base`; as varints; as all lowest
// bytes, then all next ones ...; or they are no words but text.
enum class Layout : std::uint8_t { kConstant, kVarints, kPlanes, kText };

// The byte `coding`: bits 0-1 the transform, bits 2-3 the layout, bit 4 whether zstd packed it.
struct Coding {
  Transform transform = Transform::kPlain;
  Layout layout = Layout::kConstant;
};
inline constexpr std::uint8_t kPackedBit = 0x10;
inline constexpr std::uint8_t kCodingBits = 0x1f;

constexpr std::uint64_t ZigZag(std::uint64_t word) {
  return (word << 1U) ^ (0 - (word >> 63U));
}
constexpr std::uint64_t UnZigZag(std::uint64_t word) {
  return (word >> 1U) ^ (0 - (word & 1U));
}

}  // namespace memtool::formats::memtool_file
