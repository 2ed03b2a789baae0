#include "capture_log/log/log_header.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/read_error.h"

namespace memtool::formats::capture_log {

bool HasMagic(std::span<const std::byte> head) {
  return head.size() >= wire::kMagic.size() &&
         std::memcmp(head.data(), wire::kMagic.data(), wire::kMagic.size()) == 0;
}

wire::Header ReadHeader(ByteWindow& in) {
  const auto head = in.Fill(wire::kHeaderBytes);
  if (!HasMagic(head)) {
    ThrowRead(ErrorCode::kMalformed, 0, {}, "this is not a capture log");
  }
  if (head.size() < wire::kMinHeader) {
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

}  // namespace memtool::formats::capture_log
