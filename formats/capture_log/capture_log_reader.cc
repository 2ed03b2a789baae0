#include "capture_log/capture_log_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "capture_log/books.h"
#include "capture_log/decoder.h"
#include "capture_log/stack_maker.h"
#include "capture_log/symbols.h"
#include "memtool/profile/base/sizes.h"
#include "support/byte_cursor.h"
#include "support/byte_window.h"
#include "support/read_error.h"

namespace memtool::formats {

namespace {

using capture_log::Books;
using capture_log::Counts;
using capture_log::Decoder;
using capture_log::Definitions;
using capture_log::StackMaker;
using capture_log::Symbols;

bool HasMagic(std::span<const std::byte> head) {
  return head.size() >= wire::kMagic.size() &&
         std::memcmp(head.data(), wire::kMagic.data(), wire::kMagic.size()) == 0;
}

template <std::size_t kSize>
std::string FixedText(const std::array<char, kSize>& text) {
  return {text.data(), strnlen(text.data(), kSize)};
}

wire::Header ReadHeader(ByteWindow& in) {
  const auto head = in.Fill(wire::kHeaderBytes);
  if (!HasMagic(head)) {
    ThrowRead(ErrorCode::kMalformed, 0, {}, "this is not a capture log");
  }
  if (head.size() < wire::kLeastHeader) {
    ThrowRead(ErrorCode::kTruncated, head.size(), "header", "the file ends inside its header");
  }
  wire::Header header{};
  std::memcpy(&header, head.data(), std::min(head.size(), sizeof header));
  if (header.byte_order != wire::kByteOrder || header.version != wire::kVersion) {
    ThrowRead(ErrorCode::kUnsupported, 8, "header",
              fmt::format("a capture log of version {}; this program reads version {} of its own "
                          "byte order",
                          header.version, wire::kVersion));
  }
  if (header.header_bytes != wire::kHeaderBytes || header.chunk_bytes != wire::kChunkBytes) {
    ThrowRead(ErrorCode::kMalformed, 16, "header", "sizes that this version does not have");
  }
  in.Advance(std::min(head.size(), wire::kHeaderBytes));
  return header;
}

std::uint32_t Crc(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0) {
    return wire::Crc32cSse(data, bytes.size());
  }
#endif
  return wire::Crc32cPortable(data, bytes.size());
}

// Walks the chunks; damage is said and read around.
class ChunkReader {
 public:
  ChunkReader(ByteWindow& in, const wire::Header& header, RecordingBuilder& builder,
              Decoder& decoder)
      : in_(in), header_(header), builder_(builder), decoder_(decoder) {}

  void Run() {
    while (in_.offset() < header_.committed) {
      const std::uint64_t offset = in_.offset();
      auto bytes = in_.Fill(wire::kChunkBytes);
      bytes = bytes.first(std::min(bytes.size(), wire::kChunkBytes));
      if (bytes.empty()) {
        break;
      }
      One(bytes, offset);
      in_.Advance(bytes.size());
      end_ = in_.offset();
    }
    end_ = std::max(end_, in_.offset());
    if (end_ < header_.committed) {
      Damage("truncated",
             fmt::format("the file ends {} bytes before its last record", header_.committed - end_),
             end_);
    }
  }

 private:
  void Damage(const char* code, std::string message, std::uint64_t offset) {
    builder_.AddDiagnostic({.severity = Severity::kDamage,
                            .code = code,
                            .message = std::move(message),
                            .offset = offset});
  }

  void One(std::span<const std::byte> bytes, std::uint64_t offset) {
    wire::ChunkHeader chunk{};
    if (bytes.size() < sizeof chunk) {
      return;  // the cut is said at the end
    }
    std::memcpy(&chunk, bytes.data(), sizeof chunk);
    const auto records = bytes.subspan(sizeof chunk);
    const bool last = header_.committed - offset <= wire::kChunkBytes;
    if (chunk.magic != wire::kChunkMagic ||
        chunk.used > records.size() + (wire::kChunkBytes - bytes.size())) {
      return Damage("lost_chunk", fmt::format("chunk {} is not one", Number(offset)), offset);
    }
    if (chunk.used == 0 && !last) {
      return Damage("lost_chunk", fmt::format("chunk {} was never sealed", Number(offset)), offset);
    }
    const std::uint64_t used =
        chunk.used != 0 ? chunk.used : header_.committed - offset - sizeof chunk;
    const auto whole =
        records.first(static_cast<std::size_t>(std::min<std::uint64_t>(used, records.size())));
    if (chunk.used != 0 && whole.size() == chunk.used && Crc(whole) != chunk.crc) {
      return Damage("lost_chunk",
                    fmt::format("chunk {} fails its checksum: {} bytes of records are left out",
                                Number(offset), chunk.used),
                    offset);
    }
    Decode(whole, offset + sizeof chunk, chunk.base_time, whole.size() < used);
  }

  void Decode(std::span<const std::byte> records, std::uint64_t offset, std::uint64_t base_time,
              bool cut) {
    try {
      decoder_.Chunk(records, offset, base_time);
    } catch (const ReadError& error) {
      if (error.error().code == ErrorCode::kLimit) {
        throw;
      }
      // A record at the cut is expected to be part of one.
      if (!cut || error.error().code != ErrorCode::kTruncated) {
        Damage("lost_records", "the rest of a chunk is left out: " + error.error().message,
               error.error().offset.value_or(offset));
      }
    }
  }

  static std::uint64_t Number(std::uint64_t offset) {
    return (offset - wire::kHeaderBytes) / wire::kChunkBytes;
  }

  ByteWindow& in_;
  const wire::Header& header_;
  RecordingBuilder& builder_;
  Decoder& decoder_;
  std::uint64_t end_ = 0;
};

const char* StopText(wire::Stop stop) {
  switch (stop) {
    case wire::Stop::kMaxBytes:
      return "the log reached its largest size (MEMTOOL_CAPTURE_MAX_BYTES)";
    case wire::Stop::kDiskFull:
      return "the disk was full";
    case wire::Stop::kFileLimit:
      return "the limit on file sizes (RLIMIT_FSIZE) was reached";
    case wire::Stop::kMapFailed:
      return "the file could not be mapped";
    case wire::Stop::kFileLost:
      return "the program closed the log's descriptor, and the log was moved or removed";
    case wire::Stop::kReserveFailed:
      return "the file system refused to reserve space";
    default:
      return nullptr;
  }
}

const char* PythonText(wire::PythonState state) {
  switch (state) {
    case wire::PythonState::kUnsupported:
      return "Python frames are missing: no table of this interpreter's version";
    case wire::PythonState::kSelfTest:
      return "Python frames are missing: the self-test disagreed with the interpreter";
    default:
      return nullptr;
  }
}

// What a user can do about a backend that records nothing.
std::string BackendText(const wire::Header& header) {
  constexpr std::string_view kInstead = "; --backend preload needs no CUPTI";
  switch (header.backend_status) {
    case wire::kNoCupti:
      return fmt::format("CUPTI's library was not found (MEMTOOL_CAPTURE_CUPTI names it){}",
                         kInstead);
    case wire::kCuptiOtherSubscriber: {
      const std::string holder = FixedText(header.subscriber);
      return fmt::format(
          "CUPTI serves one subscriber at a time, and {} is one already: end that profiler or "
          "debugger{}",
          holder.empty() ? "another tool" : holder, kInstead);
    }
    case wire::kCuptiPrivileges:
      return fmt::format(
          "CUPTI needs more privileges than this user has: the administrator can open it to all "
          "users (driver option NVreg_RestrictProfilingToAdminUsers=0){}",
          kInstead);
    case wire::kCuptiHypervisor:
      return fmt::format("CUPTI is not allowed on this virtual GPU by its hypervisor{}", kInstead);
    default:
      return fmt::format("CUPTI refused with its error {}{}", header.backend_status, kInstead);
  }
}

class Notes {
 public:
  Notes(RecordingBuilder& builder, const wire::Header& header)
      : builder_(builder), header_(header) {}

  void Header(std::uint64_t events) {
    if (const char* why = StopText(static_cast<wire::Stop>(header_.stop_reason)); why != nullptr) {
      Add(Severity::kWarning, "stopped_early", fmt::format("recording ended early: {}", why), 1);
    }
    if (header_.backend_status != 0) {
      Add(Severity::kWarning, "no_backend", "nothing was recorded: " + BackendText(header_), 1);
    }
    Add(Severity::kWarning, "dropped_events", "events that were not written", header_.dropped);
    Add(Severity::kWarning, "folded_stacks", "stacks that were cut because a table was full",
        header_.folded);
    Add(Severity::kWarning, "shared_lanes",
        "events without their thread, stream and tag, because a table was full",
        header_.shared_lanes);
    Add(Severity::kWarning, "lost_tags",
        "tags that are missing: pushed more than 16 deep, or with more names than a table holds",
        header_.lost_tags);
    Add(Severity::kWarning, "lost_domains",
        "events of more allocators than a table holds: they are in 'other domains'",
        header_.lost_domains);
    Add(Severity::kNote, "unwind_stops", "native stacks whose outer part could not be followed",
        header_.unwind_stops);
    Add(Severity::kNote, "cut_stacks",
        "stacks that go deeper than was recorded (MEMTOOL_CAPTURE_DEPTH)", header_.cut_stacks);
    Add(Severity::kWarning, "lost_mappings",
        "loaded objects that are not in the log, because a table was full: addresses in them have "
        "no "
        "names",
        header_.lost_mappings);
    Add(Severity::kWarning, "unknown_entries",
        "functions of the driver that are newer than the capture library: what they allocate is "
        "not seen",
        header_.unknown_entries);
    if ((header_.flags & wire::kEndedCleanly) == 0) {
      Add(Severity::kNote, "not_ended",
          "the process did not end by exit: it was killed, left by _exit, ran another program, or "
          "still runs",
          1);
    }
    if (events < header_.events) {
      Add(Severity::kDamage, "lost_events", "events that were written and are not readable here",
          header_.events - events);
    }
    if (const char* why = PythonText(static_cast<wire::PythonState>(header_.python_state));
        why != nullptr) {
      Add(Severity::kWarning, "no_python", why, 1);
    }
    Add(Severity::kNote, "lost_python",
        "stacks without their Python part: the thread may have been in any of several "
        "interpreters, "
        "and did not hold their lock",
        header_.lost_python);
  }

  // Of a log that has Python frames.
  void Python() {
    if (static_cast<wire::PythonState>(header_.python_state) == wire::PythonState::kUnverified) {
      Add(Severity::kNote, "unverified_python",
          "Python frames were never compared with the interpreter's own: no call came from a "
          "thread "
          "that held its lock",
          1);
    }
  }

  void Calls(const Counts& counts) {
    Add(Severity::kNote, "unknown_frees",
        "frees of memory that was allocated before the recording, or while it was off",
        counts.unknown_frees);
    Add(Severity::kNote, "refused_frees", "frees that the driver refused", counts.refused_frees);
    Add(Severity::kNote, "failed_calls", "allocations that failed for other reasons than memory",
        counts.failed_calls);
    Add(Severity::kNote, "graph_nodes",
        fmt::format("allocations in graphs, {} in all, which the calls do not take: what launches "
                    "of CUDA graphs took is in the ledger 'graphs'",
                    FormatSize(static_cast<std::int64_t>(
                        std::min<std::uint64_t>(counts.graph_bytes, INT64_MAX)))),
        counts.graph_nodes);
    Add(Severity::kNote, "estimated_sizes",
        "arrays, whose sizes were worked out from their descriptors", counts.estimated);
    Add(Severity::kNote, "shared_memory",
        "pieces of other processes' memory that were opened here: not counted", counts.imports);
    Add(Severity::kDamage, "lost_definitions", "events whose definitions are lost",
        counts.unknown_lanes);
    Add(Severity::kNote, "reused_addresses",
        "allocations at an address whose free was not recorded", counts.reopened);
  }

 private:
  void Add(Severity severity, const char* code, std::string message, std::uint64_t count) {
    if (count > 0) {
      builder_.AddDiagnostic(
          {.severity = severity, .code = code, .message = std::move(message), .count = count});
    }
  }

  RecordingBuilder& builder_;
  const wire::Header& header_;
};

void Describe(RecordingBuilder& builder, const wire::Header& header) {
  Metadata& metadata = builder.metadata();
  const std::string rank = FixedText(header.rank);
  metadata.format_display = fmt::format("capture log of process {} on {}{}{}", header.pid,
                                        FixedText(header.host), rank.empty() ? "" : ", ", rank);
  metadata.time_nanos = static_cast<std::int64_t>(header.start_unix & INT64_MAX);
  builder.AddSetting("program", FixedText(header.executable));
  builder.AddBlindSpot("CUDA context and modules", "the driver takes them without a call");
  builder.AddBlindSpot("pools", "what a stream-ordered pool holds beyond its allocations");
  builder.AddBlindSpot("other processes", "a log holds one process");
}

}  // namespace

Match CaptureLogReader::Sniff(std::span<const std::byte> head) const {
  return HasMagic(head) ? Match::kCertain : Match::kNo;
}

Result<Recording> CaptureLogReader::Read(ByteWindow& in, const Limits& /*limits*/) const {
  const wire::Header header = ReadHeader(in);
  RecordingBuilder builder;
  Definitions definitions;
  Books books(builder, definitions, static_cast<std::int64_t>(header.start_unix & INT64_MAX));
  Decoder decoder(definitions, books);
  ChunkReader(in, header, builder, decoder).Run();
  Notes notes(builder, header);
  notes.Header(decoder.events());
  if (definitions.codes.Find(1) != nullptr) {
    notes.Python();
  }
  notes.Calls(books.counts());
  Describe(builder, header);
  Symbols symbols(FixedText(header.executable));
  StackMaker stacks(builder, definitions, symbols);
  builder.SetHistory(books.Finish([&stacks](std::uint64_t id) { return stacks.Of(id); }));
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
