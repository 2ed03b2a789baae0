#include "pprof/pprof_reader.h"

#include "memtool/formats/byte_window.h"
#include "pprof/decoder.h"

namespace memtool::formats {

namespace {

// Tag and length of a length-delimited field are at most 20 bytes.
constexpr std::size_t kHeaderBytes = 20;
constexpr std::uint64_t kSampleTag = 2U << 3U | wire::kLength;  // field `sample` of Profile

// Reads the payload of one top-level field from the window into `decoder`.
void ReadTopLevel(ByteWindow& in, pprof::Decoder& decoder, const Limits& limits) {
  if (in.buffered().size() < kHeaderBytes) {
    decoder.BeforeBytesMove();
    in.Fill(kHeaderBytes);
  }
  const std::uint64_t start = in.offset();
  decoder.Begin(0);
  ByteCursor header(in.buffered().first(std::min(in.buffered().size(), kHeaderBytes)), start);
  const std::uint64_t tag = header.Varint();
  decoder.Begin(tag >> 3U);
  if ((tag & 7U) != wire::kLength) {
    const wire::Field field = wire::Payload(header, tag, start);
    in.Advance(header.offset() - start);
    decoder.Field(field);
    return;
  }
  wire::CheckNumber(tag, start);
  const std::uint64_t size = header.Varint();
  const auto header_size = static_cast<std::size_t>(header.offset() - start);
  if (size > limits.record_bytes) {
    ThrowRead(ErrorCode::kLimit, start, {},
              fmt::format("a record of {} bytes, over the limit of {}", size, limits.record_bytes),
              "lift it with --max record-bytes=SIZE");
  }
  const std::size_t whole = header_size + static_cast<std::size_t>(size);
  if (in.buffered().size() < whole) {
    decoder.BeforeBytesMove();
    in.Fill(whole);
    if (in.buffered().size() < whole) {
      ThrowRead(ErrorCode::kTruncated, start, {},
                fmt::format("a record of {} bytes, but the input ends after {} of them", size,
                            in.buffered().size() - header_size));
    }
  }
  const auto bytes = in.buffered().subspan(header_size, static_cast<std::size_t>(size));
  in.Advance(whole);
  if (tag == kSampleTag) {
    decoder.Sample(bytes, start + header_size);
    return;
  }
  decoder.Field({.number = tag >> 3U,
                 .type = wire::kLength,
                 .value = 0,
                 .bytes = bytes,
                 .offset = start + header_size});
}

}  // namespace

Result<Recording> PprofReader::Read(ByteWindow& in, const Limits& limits) const {
  pprof::Decoder decoder(limits);
  try {
    while (true) {
      if (in.buffered().empty()) {
        decoder.BeforeBytesMove();
        if (in.AtEnd()) {
          break;
        }
      }
      ReadTopLevel(in, decoder, limits);
    }
  } catch (const ReadError& error) {
    throw ReadError(decoder.WithRecord(error.error()));
  }
  return std::move(decoder).Finish();
}

}  // namespace memtool::formats
