// Constants and layouts of the .mtcap file (FORMAT.md), shared by the shim that writes it and by
// its reader, formats/capture_log. Nothing here needs a library, allocates or throws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace memtool::wire {

inline constexpr std::array<char, 8> kMagic{'M', 'T', 'C', 'A', 'P', '\r', '\n', '\x1a'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kByteOrder = 0x01020304;  // as the writer's processor stores it
inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::size_t kChunkBytes = 65536;
inline constexpr std::uint32_t kChunkMagic = 0x4b43544d;  // "MTCK"
inline constexpr std::size_t kMaxRecord = 32768;          // no record is longer
inline constexpr std::size_t kMaxText = 4096;             // a name in a record; longer ones are cut

// The first page. Text fields end in NUL and are cut to fit.
struct Header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint32_t header_bytes;
  std::uint32_t chunk_bytes;
  std::uint64_t committed;        // bytes of the file, from its start, that hold whole records
  std::uint64_t start_unix;       // ns since 1970 at time 0
  std::uint64_t start_monotonic;  // the monotonic clock at time 0, ns
  std::int32_t pid;
  std::int32_t parent_pid;
  std::uint64_t command_hash;
  std::uint32_t flags;            // kEndedCleanly …
  std::uint32_t stop_reason;      // Stop
  std::uint64_t events;           // events committed
  std::uint64_t dropped;          // events that were not written
  std::uint64_t folded;           // stacks that were cut or replaced because a table was full
  std::uint64_t unwind_stops;     // stacks whose unwinding ended early
  std::uint64_t unknown_entries;  // driver functions handed out without a wrapper: newer forms
  std::uint64_t forked_from;      // start_monotonic of the parent's log, or 0
  std::uint32_t python_state;     // PythonState
  std::uint32_t python_version;   // major << 8 | minor, 0 = none seen
  std::array<char, 64> host;
  std::array<char, 64> rank;  // "RANK=3 world=8 local=3 node=0", where known; or empty
  std::array<char, 512> executable;
  std::uint32_t backend;         // Backend
  std::uint32_t backend_status;  // why it records nothing: a CUptiResult, or kNoCupti; 0 = it does
  std::array<char, 64> subscriber;  // who holds CUPTI instead, where it says so
  std::uint64_t run;                // number of the `memtool run`; 0 = none
  std::uint64_t lost_tags;          // tags pushed too deep, or with names beyond the table
  std::uint64_t shared_attributes;  // events without their thread, stream and tag: a table was full
  std::uint64_t lost_domains;       // events of domains beyond the table
  std::uint64_t lost_python;    // stacks whose Python part is missing, for want of an interpreter
  std::uint64_t cut_stacks;     // deeper than MEMTOOL_CAPTURE_DEPTH
  std::uint64_t lost_mappings;  // loaded objects that are not in the log: a table was full
  // At the end of the process, see FORMAT.md:
  std::uint32_t past_libraries;  // that call the driver past the shim
  std::uint32_t past_drivers;    // drivers in namespaces that the shim is not in
};
// That of the first writers, in which the rest is 0
inline constexpr std::size_t kMinHeader = 840;
static_assert(sizeof(Header) == 904 && sizeof(Header) <= kHeaderBytes);

inline constexpr std::uint32_t kEndedCleanly = 1;

enum class Stop : std::uint32_t {
  kNone = 0,
  kMaxBytes = 1,       // the bound that the user set
  kDiskFull = 2,       // or a quota was reached
  kFileLimit = 3,      // RLIMIT_FSIZE
  kMapFailed = 4,      // the file could not be mapped
  kFileLost = 5,       // the program closed its descriptor, and its name leads elsewhere
  kReserveFailed = 6,  // no space could be reserved, though the disk is not full
};

enum class Backend : std::uint32_t { kPreload = 0, kCupti = 1 };
inline constexpr std::uint32_t kNoCupti = 10000;  // the library was not found, or is not CUPTI
// Values of CUptiResult.
inline constexpr std::uint32_t kCuptiPrivileges = 35;
inline constexpr std::uint32_t kCuptiOtherSubscriber = 39;
inline constexpr std::uint32_t kCuptiHypervisor = 40;

enum class PythonState : std::uint32_t {
  kNone = 0,  // no interpreter seen
  kOn = 1,
  kOff = 2,          // switched off by the user
  kUnsupported = 3,  // a version without a table of offsets
  kSelfTest = 4,     // the self-test disagreed with the public API
  kUnverified = 5,   // not self-tested: no thread that allocated held the interpreter's lock
};

struct ChunkHeader {
  std::uint32_t magic;
  std::uint32_t sequence;   // 0, 1, …
  std::uint32_t used;       // bytes of records, written when the chunk is sealed; 0 = still open
  std::uint32_t crc;        // CRC-32C of these bytes
  std::uint64_t base_time;  // time of the chunk's first record, ns after time 0
  std::uint64_t reserved;
};
static_assert(sizeof(ChunkHeader) == 32);

// The first byte of a record. From 0x80 on it is an allocation or a free, the two frequent events,
// in a compact form: the low bits say what follows.
enum class Tag : std::uint8_t {
  kNothing = 0x00,  // never written: what follows is unused space
  kMapping = 0x01,
  kMappingGone = 0x02,
  kFrame = 0x03,
  kPyCode = 0x04,
  kPyFrame = 0x05,
  kStack = 0x06,
  kThread = 0x07,
  kDomain = 0x08,
  kAttributeSet = 0x09,
  kTagName = 0x0a,
  kFailed = 0x20,
  kFreeFailed = 0x21,
  kRelease = 0x22,
  kRetain = 0x23,
  kMap = 0x24,
  kUnmap = 0x25,
  kReserve = 0x26,
  kUnreserve = 0x27,
  kImport = 0x28,
  kContextEnd = 0x29,
  kPool = 0x2a,
  kMark = 0x2b,
  kDropped = 0x2c,
  kGraphNode = 0x2d,
  kEnd = 0x2f,
};

inline constexpr std::uint8_t kCompact = 0x80;
inline constexpr std::uint8_t kCompactFree = 0x40;           // else an allocation
inline constexpr std::uint8_t kCompactFarKey = 0x20;         // the key's difference is not shifted
inline constexpr std::uint8_t kCompactOddSize = 0x10;        // the size is not shifted
inline constexpr std::uint8_t kCompactNewAttributes = 0x08;  // a set follows; else the last one
inline constexpr std::uint8_t kCompactNewStack = 0x04;       // a stack follows; else the last one
inline constexpr std::uint8_t kCompactEstimated = 0x02;      // the size is from a descriptor

inline constexpr unsigned kKeyShift = 8;
inline constexpr unsigned kSizeShift = 9;

// What a key names. Keys are unique within their space.
enum class Space : std::uint8_t {
  kDevicePointer = 0,
  kHostPointer = 1,
  kVmmHandle = 2,
  kArray = 3,
  kMipmap = 4,
  kVirtual = 5,  // reserved addresses
  kGraphs = 6,   // device + 1: what its graphs hold
  kUser = 16,    // 16 + n: the n-th domain of memtool_capture_record_alloc
};

enum class Kind : std::uint8_t { kDevice = 0, kManaged = 1, kPinned = 2, kHost = 3, kVmm = 4 };
enum class Level : std::uint8_t { kDriver = 0, kAllocator = 1, kUser = 2 };
enum class GraphOp : std::uint8_t { kAlloc = 0, kFree = 1 };
enum class PoolOp : std::uint8_t { kCreate = 0, kDestroy = 1, kTrim = 2, kCreateAnywhere = 3 };

inline constexpr std::uint8_t kPyEntry = 1;  // the frame was entered from C

constexpr std::uint64_t ZigZag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63U);
}
constexpr std::int64_t UnZigZag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
}

// Table of the CRC-32C (Castagnoli) polynomial, one byte at a time.
constexpr std::array<std::uint32_t, 256> MakeCrcTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1U) != 0 ? crc >> 1U ^ 0x82f63b78U : crc >> 1U;
    }
    table[i] = crc;
  }
  return table;
}
inline constexpr std::array<std::uint32_t, 256> kCrcTable = MakeCrcTable();

inline std::uint32_t Crc32cPortable(const unsigned char* bytes, std::size_t size) {
  std::uint32_t crc = ~0U;
  for (std::size_t i = 0; i < size; ++i) {
    crc = kCrcTable[(crc ^ bytes[i]) & 0xffU] ^ crc >> 8U;
  }
  return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) inline std::uint32_t Crc32cSse(const unsigned char* bytes,
                                                                 std::size_t size) {
  std::uint64_t crc = 0xffffffffU;
  for (; size >= 8; bytes += 8, size -= 8) {
    std::uint64_t word = 0;
    __builtin_memcpy(&word, bytes, 8);
    crc = __builtin_ia32_crc32di(crc, word);
  }
  for (; size > 0; ++bytes, --size) {
    crc = __builtin_ia32_crc32qi(static_cast<std::uint32_t>(crc), *bytes);
  }
  return ~static_cast<std::uint32_t>(crc);
}
#endif

}  // namespace memtool::wire
