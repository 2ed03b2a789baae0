#include "memtool/formats/open.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "documents/ground_truth/forms.h"
#include "memtool/formats/byte_window.h"
#include "memtool/formats/digest.h"
#include "memtool/formats/left_out.h"
#include "memtool/formats/profiler_folder.h"
#include "memtool/profile/model/long_texts.h"
#include "oom_text/scan.h"
#include "oom_text/text_readers.h"
#include "support/byte_cursor.h"
#include "support/read_error.h"

namespace memtool::formats {

namespace {

constexpr std::size_t kSniffBytes = std::size_t{64} << 10U;

Error WithInput(Error error, const std::string& name) {
  if (error.input.empty()) {
    error.input = name;
  }
  return error;
}

using ReaderList = std::span<const Reader* const>;

ReaderList ChooseReaders(const OpenOptions& options) {
  return options.readers.empty() ? Readers() : ReaderList(options.readers);
}

std::string ListNames(ReaderList readers) {
  std::string names;
  for (const Reader* reader : readers) {
    names += (names.empty() ? "" : ", ") + std::string(reader->name());
  }
  return names;
}

// What another build might have read: "; not in this build: kineto, mxnet", or nothing.
std::string LeftOutText() {
  return ReadersLeftOut().empty()
             ? std::string()
             : fmt::format("; not in this build: {}", fmt::join(ReadersLeftOut(), ", "));
}

Result<const Reader*> ReaderByName(ReaderList readers, std::string_view name) {
  for (const Reader* reader : readers) {
    if (reader->name() == name) {
      return reader;
    }
  }
  const auto left_out = ReadersLeftOut();
  if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) {
    return Fail(NotInThisBuild(fmt::format("the format '{}' is", name)));
  }
  return Fail(ErrorCode::kUsage, fmt::format("there is no input format '{}'", name),
              "formats: " + ListNames(readers));
}

Error Unread(const KnownFormat& known) {
  return Error{.code = ErrorCode::kUnsupported,
               .input = {},
               .message = fmt::format("this is {}, which memtool does not read", known.what),
               .hint = std::string(known.hint) + LeftOutText()};
}

Error Unknown(ReaderList readers, std::span<const std::byte> head) {
  if (head.empty()) {
    return Error{.code = ErrorCode::kTruncated, .input = {}, .message = "the input is empty"};
  }
  if (const KnownFormat* known = RecognizeUnread(head)) {
    return Unread(*known);
  }
  return Error{.code = ErrorCode::kUnknownFormat,
               .input = {},
               .offset = 0,
               .message = "no reader recognises this input",
               .hint = "formats read: " + ListNames(readers) + "; choose one with --input-format" +
                       LeftOutText()};
}

const Reader* CertainlyReads(ReaderList readers, std::span<const std::byte> head) {
  const auto found = std::find_if(readers.begin(), readers.end(), [head](const Reader* reader) {
    return reader->Sniff(head) == Match::kCertain;
  });
  return found == readers.end() ? nullptr : *found;
}

Result<const Reader*> ReaderFor(std::span<const std::byte> head, const OpenOptions& options) {
  const ReaderList readers = ChooseReaders(options);
  if (!options.format.empty()) {
    return ReaderByName(readers, options.format);
  }
  if (const Reader* certain = CertainlyReads(readers, head)) {
    return certain;
  }
  std::vector<const Reader*> possible;
  for (const Reader* reader : readers) {
    if (reader->Sniff(head) == Match::kPossible) {
      possible.push_back(reader);
    }
  }
  const KnownFormat* known = RecognizeUnread(head);
  if (possible.size() == 1 && (known == nullptr || known->vague)) {
    return possible.front();
  }
  if (possible.size() > 1) {
    return Fail(ErrorCode::kUnknownFormat, "several readers could read this input",
                "choose one with --input-format: " + ListNames(possible));
  }
  return Fail(Unknown(readers, head));
}

std::span<const std::byte> GetHead(ByteWindow& window) {
  const auto head = window.Fill(kSniffBytes);
  return head.first(std::min(head.size(), kSniffBytes));
}

// Text that a reader only possibly reads counts as a log.
bool IsLog(std::span<const std::byte> head) {
  constexpr std::byte kPickle{0x80};
  return oom_text::IsLog(AsText(head)) && head.front() != kPickle;
}

Document MakeDocument(Recording recording, std::string_view reader, const std::string& packing,
                      const ByteWindow& window) {
  recording.metadata.format = reader;
  recording.metadata.packing = packing;
  recording.metadata.unpacked_bytes = window.offset();
  AbridgeLongTexts(recording);
  return Document(std::move(recording));
}

// What `reader` found in a container stays what it was; the container is one more packing of it.
Document ContainedDocument(Recording recording, std::string_view reader,
                           const std::string& packing) {
  std::string& inside = recording.metadata.packing;
  inside = packing + (packing.empty() ? "" : "+") + std::string(reader) +
           (inside.empty() ? "" : "+") + inside;
  AbridgeLongTexts(recording);
  return Document(std::move(recording));
}

Result<Document> ReadRecording(ByteWindow& window, const std::string& packing,
                               const OpenOptions& options) {
  auto reader = ReaderFor(GetHead(window), options);
  const bool unknown =
      !reader && options.format.empty() && options.readers.empty() && IsLog(GetHead(window));
  if (unknown || (options.format == "log" && options.patterns != nullptr)) {
    // Any text may be a log, and what it says about memory is anywhere in it.
    if (auto found = oom_text::ReadText(window, options.patterns.get())) {
      Result<Recording>& made = *found;
      MEMTOOL_TRY(made);
      const bool log = made->metadata.origin.kind == RecordingKind::kLog;
      return MakeDocument(*std::move(made), log ? "log" : "oom-text", packing, window);
    }
  }
  MEMTOOL_TRY(reader);
  auto recording = (*reader)->Read(window, options.limits);
  MEMTOOL_TRY(recording);
  if ((*reader)->container()) {
    return ContainedDocument(*std::move(recording), (*reader)->name(), packing);
  }
  return MakeDocument(*std::move(recording), (*reader)->name(), packing, window);
}

Result<Document> ReadLog(ByteWindow& window, const std::string& packing,
                         const OpenOptions& options) {
  OomLog log = oom_text::ScanLog(window, options.patterns.get());
  log.packing = packing;
  Result<Document> made(tl::in_place, std::move(log));
  return made;
}

Result<Document> ReadDeviceReport(ByteWindow& window) {
  auto report = device_report::ReadDeviceReport(window);
  MEMTOOL_TRY(report);
  return Document(*std::move(report));
}

// A file that is not ground truth is something else: its bytes remain, because the window is not
// moved.
std::optional<DeviceReport> TryDeviceReport(ByteWindow& window) {
  try {
    auto report = device_report::ReadDeviceReport(window);
    return report ? std::optional(*std::move(report)) : std::nullopt;
  } catch (const ReadError&) {
    return std::nullopt;
  }
}

Result<Document> Read(ByteWindow& window, const std::string& packing, const OpenOptions& options) {
  const AcceptedKinds& accepted = options.accepted;
  if (IsDigests(AsText(GetHead(window)))) {
    if (!accepted.digests) {
      return Fail(ErrorCode::kUnsupported,
                  "these are digests, and not the inputs that they stand for",
                  "in a file, not a pipe, they stand for those; memtool ranks reads both");
    }
    return Document(ReadDigests(window, options.limits));
  }
  if (accepted.recordings && (!options.format.empty() ||
                              CertainlyReads(ChooseReaders(options), GetHead(window)) != nullptr)) {
    return ReadRecording(window, packing, options);
  }
  if (accepted.device_report && !accepted.recordings && !accepted.oom_logs) {
    return ReadDeviceReport(window);
  }
  if (accepted.device_report) {
    if (auto report = TryDeviceReport(window)) {
      return Document(*std::move(report));
    }
  }
  if (accepted.oom_logs && (!accepted.recordings || IsLog(GetHead(window)))) {
    return ReadLog(window, packing, options);
  }
  return ReadRecording(window, packing, options);
}

// The one seam: whatever is thrown in `read` becomes an Error about `name`.
template <class Function>
auto Guarded(const std::string& name, const Function& read) -> decltype(read()) {
  try {
    auto made = read();
    if (!made) {
      return Fail(WithInput(std::move(made.error()), name));
    }
    return made;
  } catch (const ReadError& error) {
    return Fail(WithInput(error.error(), name));
  } catch (const std::bad_alloc&) {
    return Fail(WithInput(Error{.code = ErrorCode::kLimit,
                                .input = {},
                                .message = "needs more memory than there is",
                                .hint = "--max memory=SIZE, see memtool help limits"},
                          name));
  }
}

Result<Recording> ToRecording(Result<Document> document) {
  MEMTOOL_TRY(document);
  return (*std::move(document)).recording();
}

// What was written to a file after it was opened is not read: it is said, and nothing is wrong.
void NoteGrowth(const Source& file, Recording& recording) {
  if (const auto end = file.EndedAt()) {
    recording.diagnostics.push_back(
        {.severity = Severity::kWarning,
         .code = "file_grew",
         .message = fmt::format("the file grew while it was read; it was read up to byte {}, its "
                                "end when it was opened",
                                *end)});
  }
}

// Reports how many bytes were read through it, or stepped over.
class CountedSource final : public Source {
 public:
  CountedSource(std::unique_ptr<Source> source, std::function<void(std::uint64_t)> on_bytes)
      : source_(std::move(source)), on_bytes_(std::move(on_bytes)) {}

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    auto got = source_->Read(buffer);
    if (got) {
      Reach(at_ + *got);
    }
    return got;
  }

  bool SeekTo(std::uint64_t offset) override {
    if (!source_->SeekTo(offset)) {
      return false;
    }
    Reach(offset);
    return true;
  }
  [[nodiscard]] bool MayWait() const override { return source_->MayWait(); }
  [[nodiscard]] std::optional<PlainFile> AsPlainFile() const override {
    return source_->AsPlainFile();
  }

 private:
  // Bytes that are read twice count once.
  void Reach(std::uint64_t at) {
    at_ = at;
    if (at > seen_) {
      on_bytes_(at - std::exchange(seen_, at));
    }
  }

  std::unique_ptr<Source> source_;
  std::function<void(std::uint64_t)> on_bytes_;
  std::uint64_t at_ = 0;
  std::uint64_t seen_ = 0;
};

// XLA's newer versions write a program's live ranges beside its buffer assignment, older ones into
// it.
std::unique_ptr<Source> WithLiveRanges(std::unique_ptr<Source> source, const std::string& name) {
  constexpr std::string_view kBuffers = "-buffer-assignment.txt";
  if (name.ends_with(kBuffers)) {
    const std::string beside = name.substr(0, name.size() - kBuffers.size()) + "-live-range.txt";
    std::error_code error;
    if (std::filesystem::is_regular_file(beside, error)) {
      if (auto ranges = OpenFile(beside)) {
        return MakeJoinedSource(std::move(source), *std::move(ranges));
      }
    }
  }
  return source;
}

}  // namespace

Result<Document> Open(std::unique_ptr<Source> source, const std::string& name,
                      const OpenOptions& options) {
  return Guarded(name, [&]() -> Result<Document> {
    std::string packing;
    const Source& file = *source;
    if (options.on_bytes) {
      source = std::make_unique<CountedSource>(std::move(source), options.on_bytes);
    }
    auto unpacked = Unpack(std::move(source), options.limits, &packing);
    MEMTOOL_TRY(unpacked);
    ByteWindow window(*std::move(unpacked));
    auto document = Read(window, packing, options);
    if (document && document->kind() == DocumentKind::kRecording) {
      Recording recording = (*std::move(document)).recording();
      NoteGrowth(file, recording);
      if (recording.metadata.origin.platform == "NPU") {
        TellProcess(name, recording.metadata.origin);
      }
      Result<Document> made(tl::in_place, std::move(recording));
      return made;
    }
    if (document && document->kind() == DocumentKind::kOomLog) {
      OomLog log = (*std::move(document)).oom_log();
      log.ended_at = file.EndedAt();
      Result<Document> made(tl::in_place, std::move(log));
      return made;
    }
    return document;
  });
}

Result<Document> Open(const std::string& name, const OpenOptions& options) {
  if (name == "-") {
    return Open(MakeFdSource(STDIN_FILENO, false), "standard input", options);
  }
  auto source = OpenFile(name);
  if (!source) {
    return Fail(WithInput(std::move(source.error()), name));
  }
  auto document = Open(WithLiveRanges(*std::move(source), name), name, options);
  if (!document && (document.error().code == ErrorCode::kUnknownFormat ||
                    document.error().code == ErrorCode::kUnsupported)) {
    if (const KnownFormat* known = RecognizeName(name)) {
      return Fail(WithInput(Unread(*known), name));
    }
  }
  return document;
}

Result<Recording> OpenRecording(const std::string& name, OpenOptions options) {
  options.accepted = {};
  return ToRecording(Open(name, options));
}

Result<Recording> OpenRecording(std::unique_ptr<Source> source, const std::string& name,
                                OpenOptions options) {
  options.accepted = {};
  return ToRecording(Open(std::move(source), name, options));
}

namespace {

// What `look` says of the first bytes of a file, unpacked.
template <typename Look>
auto OfHead(const std::string& path, const Look& look)
    -> Result<decltype(look(std::declval<ByteWindow&>()))> {
  using Said = decltype(look(std::declval<ByteWindow&>()));
  return Guarded(path, [&]() -> Result<Said> {
    auto source = OpenFile(path);
    MEMTOOL_TRY(source);
    std::string packing;
    auto unpacked = Unpack(*std::move(source), Limits{}, &packing);
    MEMTOOL_TRY(unpacked);
    ByteWindow window(*std::move(unpacked));
    return look(window);
  });
}

}  // namespace

const Reader* CertainReader(const std::string& path) {
  return OfHead(path, [](ByteWindow& window) { return CertainlyReads(Readers(), GetHead(window)); })
      .value_or(nullptr);
}

bool HoldsDigests(const std::string& path) {
  return OfHead(path, [](ByteWindow& window) { return IsDigests(AsText(GetHead(window))); })
      .value_or(false);
}

}  // namespace memtool::formats
