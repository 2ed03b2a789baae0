#include "support/packing/inflaters.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <string>

#ifdef MEMTOOL_HAVE_ISAL
#  include <isa-l/igzip_lib.h>
#endif

namespace memtool::formats {

namespace {

tl::unexpected<Error> Damaged(const char* what) {
  return Fail(ErrorCode::kMalformed, what);
}

// What follows a finished member: another one, padding, or garbage.
enum class After { kNothing, kMember, kGarbage };

After AfterMember(std::span<const std::byte> rest) {
  if (std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; })) {
    return After::kNothing;  // tape and block-device padding, as gzip(1) accepts it
  }
  return rest.front() == std::byte{0x1f} ? After::kMember : After::kGarbage;
}

constexpr const char* kGarbage = "garbage after the end of the gzip data";
constexpr const char* kZlibGarbage = "garbage after the end of the zlib data";
constexpr const char* kCut = "the gzip data ends early: the file was cut";
constexpr const char* kZlibCut = "the zlib data ends early: the file was cut";

class ZlibEngine final : public Inflater {
 public:
  // 15 = the largest window; +16 = gzip wrapping.
  explicit ZlibEngine(bool gzip) : gzip_(gzip) {
    ready_ = ::inflateInit2(&stream_, gzip ? 15 + 16 : 15) == Z_OK;
  }
  ~ZlibEngine() override { ::inflateEnd(&stream_); }

  Result<std::size_t> Inflate(std::span<const std::byte>* input, std::span<std::byte> output,
                              bool last) override {
    if (!ready_) {
      return Fail(ErrorCode::kIo, "zlib could not be started");
    }
    if (finished_ && !input->empty() && !NextMember(input)) {
      return Damaged(gzip_ ? kGarbage : kZlibGarbage);
    }
    if (finished_) {
      return std::size_t{0};
    }
    constexpr std::size_t kMax = std::numeric_limits<uInt>::max();
    // zlib's interface is not const-correct; it does not write to its input.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input->data()));
    stream_.avail_in = static_cast<uInt>(std::min(input->size(), kMax));
    stream_.next_out = reinterpret_cast<Bytef*>(output.data());
    stream_.avail_out = static_cast<uInt>(std::min(output.size(), kMax));
    const std::size_t room = stream_.avail_out;
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    const std::size_t made = room - stream_.avail_out;
    *input = input->last(stream_.avail_in);
    finished_ = code == Z_STREAM_END;
    if (code == Z_BUF_ERROR || code == Z_OK) {
      if (made == 0 && last && input->empty()) {
        return Fail(ErrorCode::kTruncated, gzip_ ? kCut : kZlibCut);
      }
    } else if (!finished_) {
      return Damaged(stream_.msg != nullptr ? stream_.msg : "the compressed data is damaged");
    }
    return made;
  }

 private:
  bool NextMember(std::span<const std::byte>* input) {
    const After after = gzip_ ? AfterMember(*input) : After::kGarbage;
    if (after == After::kNothing) {
      *input = {};
    } else if (after == After::kMember) {
      finished_ = ::inflateReset(&stream_) != Z_OK;
    }
    return after != After::kGarbage;
  }

  z_stream stream_{};
  bool gzip_;
  bool ready_ = false;
  bool finished_ = false;
};

#ifdef MEMTOOL_HAVE_ISAL

// ISA-L inflates about 2.5 times as fast as zlib.
class IsalEngine final : public Inflater {
 public:
  IsalEngine() { Reset(); }

  Result<std::size_t> Inflate(std::span<const std::byte>* input, std::span<std::byte> output,
                              bool last) override {
    if (finished_ && !input->empty()) {
      const After after = AfterMember(*input);
      if (after == After::kGarbage) {
        return Damaged(kGarbage);
      }
      if (after == After::kNothing) {
        *input = {};
      } else {
        Reset();
      }
    }
    if (finished_) {
      return std::size_t{0};
    }
    constexpr std::size_t kMax = std::numeric_limits<std::uint32_t>::max();
    state_->next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(input->data()));
    state_->avail_in = static_cast<std::uint32_t>(std::min(input->size(), kMax));
    state_->next_out = reinterpret_cast<std::uint8_t*>(output.data());
    state_->avail_out = static_cast<std::uint32_t>(std::min(output.size(), kMax));
    const std::size_t room = state_->avail_out;
    const int code = ::isal_inflate(state_.get());
    const std::size_t made = room - state_->avail_out;
    // On damage ISA-L may return bytes of earlier calls, so more than it was given in this one.
    const bool too_many = state_->avail_in > input->size();
    *input = input->last(too_many ? input->size() : state_->avail_in);
    if (code == ISAL_INCORRECT_CHECKSUM) {
      return Damaged("the gzip checksum is wrong: the file is damaged");
    }
    if (code < 0 || too_many) {
      return Damaged("the gzip data is damaged");
    }
    finished_ = state_->block_state == ISAL_BLOCK_FINISH;
    if (made == 0 && !finished_ && last && input->empty()) {
      return Fail(ErrorCode::kTruncated, kCut);
    }
    return made;
  }

 private:
  void Reset() {
    ::isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
    finished_ = false;
  }

  std::unique_ptr<inflate_state> state_ = std::make_unique<inflate_state>();
  bool finished_ = false;
};

#endif

class ZstdEngine final : public Inflater {
 public:
  ZstdEngine() : stream_(::ZSTD_createDStream()) {}
  ~ZstdEngine() override { ::ZSTD_freeDStream(stream_); }

  Result<std::size_t> Inflate(std::span<const std::byte>* input, std::span<std::byte> output,
                              bool last) override {
    if (stream_ == nullptr) {
      return Fail(ErrorCode::kIo, "zstd could not be started");
    }
    ZSTD_inBuffer in{input->data(), input->size(), 0};
    ZSTD_outBuffer out{output.data(), output.size(), 0};
    if (in.size > 0 || !between_frames_) {
      const std::size_t code = ::ZSTD_decompressStream(stream_, &out, &in);
      if (::ZSTD_isError(code) != 0U) {
        return Fail(ErrorCode::kMalformed,
                    std::string("the zstd data is damaged: ") + ::ZSTD_getErrorName(code));
      }
      between_frames_ = code == 0;
    }
    *input = input->subspan(in.pos);
    if (out.pos == 0 && last && input->empty() && !between_frames_) {
      return Fail(ErrorCode::kTruncated, "the zstd data ends early: the file was cut");
    }
    return out.pos;
  }

 private:
  ZSTD_DStream* stream_;
  bool between_frames_ = true;
};

}  // namespace

std::unique_ptr<Inflater> MakeGzipInflater() {
#ifdef MEMTOOL_HAVE_ISAL
  return std::make_unique<IsalEngine>();
#else
  return std::make_unique<ZlibEngine>(true);
#endif
}

std::unique_ptr<Inflater> MakeZlibInflater() {
  return std::make_unique<ZlibEngine>(false);
}

std::unique_ptr<Inflater> MakeZstdInflater() {
  return std::make_unique<ZstdEngine>();
}

}  // namespace memtool::formats
