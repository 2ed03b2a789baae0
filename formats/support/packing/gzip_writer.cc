#include "support/packing/gzip_writer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#ifdef MEMTOOL_HAVE_ISAL
#  include <isa-l/igzip_lib.h>
#else
#  include <zlib.h>

#  include <new>
#endif

namespace memtool::formats {

namespace {

constexpr std::size_t kOutput = std::size_t{64} << 10U;
// Both engines count input in 32 bits.
constexpr std::size_t kMaxInput = std::numeric_limits<std::int32_t>::max();

}  // namespace

#ifdef MEMTOOL_HAVE_ISAL

// At its highest level about ten times as fast as zlib at its default, for files a twentieth
// larger.
struct GzipWriter::Engine {
  Engine() : work(ISAL_DEF_LVL3_DEFAULT) {
    ::isal_deflate_init(&stream);
    stream.gzip_flag = IGZIP_GZIP;
    stream.level = 3;
    stream.level_buf = work.data();
    stream.level_buf_size = ISAL_DEF_LVL3_DEFAULT;
  }
  bool Run(bool last) {
    stream.end_of_stream = last ? 1 : 0;
    stream.flush = NO_FLUSH;
    return ::isal_deflate(&stream) == COMP_OK;
  }
  isal_zstream stream{};
  std::vector<std::uint8_t> work;
  std::array<std::uint8_t, kOutput> output{};
};

#else

struct GzipWriter::Engine {
  Engine() {
    // + 16: with a gzip header.
    if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
                       Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() { ::deflateEnd(&stream); }
  bool Run(bool last) { return ::deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH) != Z_STREAM_ERROR; }
  z_stream stream{};
  std::array<Bytef, kOutput> output{};
};

#endif

GzipWriter::GzipWriter(const ByteSink& sink) : sink_(sink), engine_(std::make_unique<Engine>()) {}
GzipWriter::~GzipWriter() = default;

Result<void> GzipWriter::Add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kMaxInput);
    MEMTOOL_TRY(Pack(part, false));
    bytes.remove_prefix(part.size());
  }
  return {};
}

Result<void> GzipWriter::Finish() {
  return Pack({}, true);
}

Result<void> GzipWriter::Pack(std::string_view bytes, bool last) {
  auto& stream = engine_->stream;
  using Byte = std::remove_pointer_t<decltype(stream.next_out)>;
  // The interfaces are C and take what they only read as if they wrote there.
  stream.next_in = reinterpret_cast<Byte*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<std::uint32_t>(bytes.size());
  do {
    stream.next_out = engine_->output.data();
    stream.avail_out = kOutput;
    if (!engine_->Run(last)) {
      return Fail(ErrorCode::kOutput, "cannot be packed");
    }
    const std::size_t made = kOutput - stream.avail_out;
    if (made > 0) {
      MEMTOOL_TRY(sink_({reinterpret_cast<const char*>(engine_->output.data()), made}));
    }
  } while (stream.avail_out == 0);
  return {};
}

}  // namespace memtool::formats
