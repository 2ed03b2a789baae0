// Reads one file format into a Recording. Readers are stateless and reentrant.
// To add a format: ARCHITECTURE.md. A program can also give readers of its own to Open().
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "memtool/formats/limits.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/origin.h"
#include "memtool/profile/model/recording.h"

namespace memtool::formats {

class ByteWindow;

enum class Match { kNo, kPossible, kCertain };

class Reader {
 public:
  virtual ~Reader() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;     // "pprof"
  [[nodiscard]] virtual std::string_view summary() const = 0;  // one line for help
  // The Origin::kind of all its recordings; none where they differ.
  [[nodiscard]] virtual std::optional<RecordingKind> kind() const { return std::nullopt; }
  // True for formats that store recordings made by other readers: Metadata then keeps the original
  // format's name, packing and size.
  [[nodiscard]] virtual bool container() const { return false; }
  // `head`: the first bytes after unpacking (64 KiB, or all when the input is shorter). The file's
  // name plays no part.
  [[nodiscard]] virtual Match Sniff(std::span<const std::byte> head) const = 0;
  // Reads to the end of `in`. May throw ReadError (support/read_error.h), which open.cc turns into
  // an Error; nothing else escapes.
  virtual Result<Recording> Read(ByteWindow& in, const Limits& limits) const = 0;

  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

// All readers, in the order in which they are asked. formats.cmake lists them.
std::span<const Reader* const> Readers();

// A format that is recognised, so that the error can name it, but not supported.
struct KnownFormat {
  std::string_view what;  // "a CPU profile in the legacy binary form"
  std::string_view hint;  // how to get something readable
  bool vague = false;     // identifies only the general kind of data
};
// The name of a recognised but unread format, or nullptr.
const KnownFormat* RecognizeUnread(std::span<const std::byte> head);
// The same by a file's name, for what its bytes did not tell.
const KnownFormat* RecognizeName(std::string_view name);

}  // namespace memtool::formats
