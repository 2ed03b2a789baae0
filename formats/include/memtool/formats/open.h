// Opens and reads input files: the only public way from bytes to a Document. Unpacks, recognises
// the format by content, reads; exceptions from readers (ReadError, bad_alloc) are converted to
// Error here and nowhere else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "memtool/formats/device_report.h"
#include "memtool/formats/limits.h"
#include "memtool/formats/oom_text.h"
#include "memtool/formats/reader.h"
#include "memtool/formats/source.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/ranks/digest.h"

namespace memtool::formats {

enum class DocumentKind : std::uint8_t { kRecording, kOomLog, kDeviceReport, kDigests };

// What a file turned out to be. It owns what was read; the accessor of another kind than kind()
// throws std::bad_variant_access, which is a bug in the caller.
class Document {
 public:
  explicit Document(Recording recording) : held_(std::move(recording)) {}
  explicit Document(OomLog log) : held_(std::move(log)) {}
  explicit Document(DeviceReport report) : held_(std::move(report)) {}
  explicit Document(std::vector<Digest> digests) : held_(std::move(digests)) {}

  [[nodiscard]] DocumentKind kind() const { return static_cast<DocumentKind>(held_.index()); }
  [[nodiscard]] const Recording& recording() const& { return std::get<Recording>(held_); }
  [[nodiscard]] Recording recording() && { return std::get<Recording>(std::move(held_)); }
  [[nodiscard]] const OomLog& oom_log() const& { return std::get<OomLog>(held_); }
  [[nodiscard]] OomLog oom_log() && { return std::get<OomLog>(std::move(held_)); }
  [[nodiscard]] const DeviceReport& device_report() const& { return std::get<DeviceReport>(held_); }
  [[nodiscard]] DeviceReport device_report() && { return std::get<DeviceReport>(std::move(held_)); }
  [[nodiscard]] const std::vector<Digest>& digests() const& {
    return std::get<std::vector<Digest>>(held_);
  }
  [[nodiscard]] std::vector<Digest> digests() && {
    return std::get<std::vector<Digest>>(std::move(held_));
  }

 private:
  std::variant<Recording, OomLog, DeviceReport, std::vector<Digest>>
      held_;  // in the order of DocumentKind
};
// Such a move cannot run out of memory.
static_assert(std::is_nothrow_move_constructible_v<Document>);

// The kinds of document that the caller accepts. A file is never read as a kind that is not
// accepted.
struct AcceptedKinds {
  bool recordings = true;
  bool oom_logs = false;
  bool device_report = false;
  bool digests = false;
};

struct OpenOptions {
  Limits limits;
  std::string format;  // a reader's name: a recording, read as this; empty = by content
  AcceptedKinds accepted;
  std::shared_ptr<const log::PatternTable> patterns{};  // of logs, besides the built-in ones
  std::vector<const Reader*> readers;  // the readers asked, in this order; empty = Readers()
  // Called with the number of bytes, as packed, that were read since the last call. Open() of
  // several inputs at a time calls it from several threads.
  std::function<void(std::uint64_t)> on_bytes{};
};

// `name` goes into errors as the user gave it; "-" reads standard input. When several kinds are
// wanted, what a reader recognises for certain is a recording; then what reads as ground truth is
// that; then text is a log; the rest is for the readers. Errors: kIo, kLimit, kTruncated,
// kMalformed, kUnsafeOpcode with a place; kUnsupported, kUnknownFormat with the formats that are
// read; kUsage for an unknown format.
Result<Document> Open(const std::string& name, const OpenOptions& options = {});
Result<Document> Open(std::unique_ptr<Source> source, const std::string& name,
                      const OpenOptions& options = {});

// Open() where only a recording will do, whatever `options` want.
Result<Recording> OpenRecording(const std::string& name, OpenOptions options = {});
Result<Recording> OpenRecording(std::unique_ptr<Source> source, const std::string& name,
                                OpenOptions options = {});

// The reader that recognises the file at `path` for certain, by its first bytes; null when none
// does, or when the file cannot be read.
const Reader* CertainReader(const std::string& path);

// Whether a file, unpacked, begins as digests do; false where it cannot be read.
bool HoldsDigests(const std::string& path);

}  // namespace memtool::formats
