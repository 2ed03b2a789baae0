// Digests of inputs as lines of JSON: memtool.digest/1, described in memtool-formats(5). A set of
// them is a set of lines: to merge is to concatenate, and one line twice is one digest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/ranks/digest.h"

namespace memtool::formats {

inline constexpr std::string_view kDigestSchema = "memtool.digest/1";

// One line with its end; equal digests give equal bytes.
std::string DigestLine(const Digest& digest);

// The digest in one line, without its end. Keys that are not known are left alone. Errors:
// kMalformed with the key that is wrong; kUnsupported for another schema.
Result<Digest> ParseDigest(std::string_view line);

// Whether a text begins as a file of digests does.
bool IsDigests(std::string_view head);
// All lines, in their order. Throws ReadError with the line that is wrong; a last line without its
// end was cut off.
std::vector<Digest> ReadDigests(ByteWindow& in, const Limits& limits);

// The hash of a file's bytes as digests have it, and how many these are.
struct FileHash {
  std::string hex;
  std::uint64_t bytes = 0;
};
// Errors: kIo; kLimit for more bytes than Limits::unpacked_bytes.
Result<FileHash> HashFile(const std::string& path, const Limits& limits);
// Hashes what is read through the source that it returns, and, when that is destroyed, the rest.
// `hash` is complete then; it stays empty where reading went back or forth, and where a pipe or
// device had more left than Limits::record_bytes.
std::unique_ptr<Source> MakeHashingSource(std::unique_ptr<Source> source,
                                          std::shared_ptr<FileHash> hash, const Limits& limits);

}  // namespace memtool::formats
