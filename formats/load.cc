#include "memtool/formats/load.h"

#include <fmt/format.h>
#include <unistd.h>

#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/formats/oom_text.h"
#include "memtool/formats/reader.h"
#include "oom_text/scan.h"
#include "support/byte_cursor.h"
#include "support/byte_window.h"
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

std::string ReaderNames() {
  std::string names;
  for (const Reader* reader : Readers()) {
    names += (names.empty() ? "" : ", ") + std::string(reader->name());
  }
  return names;
}

Result<const Reader*> ReaderByName(std::string_view name) {
  for (const Reader* reader : Readers()) {
    if (reader->name() == name) {
      return reader;
    }
  }
  return Fail(ErrorCode::kUsage, fmt::format("there is no input format '{}'", name),
              "formats: " + ReaderNames());
}

Error Unknown(std::span<const std::byte> head) {
  if (head.empty()) {
    return Error{.code = ErrorCode::kTruncated, .input = {}, .message = "the input is empty"};
  }
  if (const KnownFormat* known = RecognizeUnread(head)) {
    return Error{.code = ErrorCode::kUnsupported,
                 .input = {},
                 .message = fmt::format("this is {}, which memtool does not read", known->what),
                 .hint = std::string(known->hint)};
  }
  return Error{.code = ErrorCode::kUnknownFormat,
               .input = {},
               .offset = 0,
               .message = "no reader recognises this input",
               .hint = "formats read: " + ReaderNames() + "; choose one with --input-format"};
}

const Reader* CertainReader(std::span<const std::byte> head) {
  const auto readers = Readers();
  const auto found = std::find_if(readers.begin(), readers.end(), [head](const Reader* reader) {
    return reader->Sniff(head) == Match::kCertain;
  });
  return found == readers.end() ? nullptr : *found;
}

Result<const Reader*> ReaderFor(std::span<const std::byte> head, const LoadOptions& options) {
  if (!options.format.empty()) {
    return ReaderByName(options.format);
  }
  if (const Reader* certain = CertainReader(head)) {
    return certain;
  }
  std::vector<const Reader*> possible;
  for (const Reader* reader : Readers()) {
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
                "choose one with --input-format: " + ReaderNames());
  }
  return Fail(Unknown(head));
}

Result<Recording> ReadWith(const Reader* reader, ByteWindow& window, const std::string& packing,
                           const LoadOptions& options) {
  auto recording = reader->Read(window, options.limits);
  if (recording) {
    recording->metadata.format = reader->name();
    recording->metadata.packing = packing;
    recording->metadata.unpacked_bytes = window.offset();
  }
  return recording;
}

Result<Recording> LoadUnpacked(std::unique_ptr<Source> source, const std::string& packing,
                               const LoadOptions& options) {
  ByteWindow window(std::move(source));
  const auto head = window.Fill(kSniffBytes);
  auto reader = ReaderFor(head.first(std::min(head.size(), kSniffBytes)), options);
  return reader ? ReadWith(*reader, window, packing, options) : Fail(std::move(reader.error()));
}

Result<RecordingOrLog> LoadEither(std::unique_ptr<Source> source, const std::string& packing,
                                  const LoadOptions& options) {
  ByteWindow window(std::move(source));
  auto head = window.Fill(kSniffBytes);
  head = head.first(std::min(head.size(), kSniffBytes));
  // Of text, what a reader merely might read is a log.
  constexpr std::byte kPickle{0x80};
  if (options.format.empty() && !CertainReader(head) && oom_text::IsLog(AsText(head)) &&
      head.front() != kPickle) {
    OomLog log = oom_text::ScanLog(window);
    log.packing = packing;
    return log;
  }
  auto reader = ReaderFor(head, options);
  auto recording =
      reader ? ReadWith(*reader, window, packing, options) : Fail(std::move(reader.error()));
  return recording ? Result<RecordingOrLog>(*std::move(recording))
                   : Fail(std::move(recording.error()));
}

// Unpacks and hands over to `load`; what is thrown below becomes an Error here.
template <class Loaded>
Result<Loaded> LoadGuarded(std::unique_ptr<Source> source, const std::string& name,
                           const LoadOptions& options,
                           Result<Loaded> (*load)(std::unique_ptr<Source>, const std::string&,
                                                  const LoadOptions&)) {
  try {
    std::string packing;
    auto unpacked = Unpack(std::move(source), options.limits, &packing);
    if (!unpacked) {
      return Fail(WithInput(std::move(unpacked.error()), name));
    }
    auto loaded = load(*std::move(unpacked), packing, options);
    if (!loaded) {
      return Fail(WithInput(std::move(loaded.error()), name));
    }
    return loaded;
  } catch (const ReadError& error) {
    return Fail(WithInput(error.error(), name));
  } catch (const std::bad_alloc&) {
    return Fail(WithInput(Error{.code = ErrorCode::kLimit,
                                .input = {},
                                .message = "needs more memory than this machine gives"},
                          name));
  }
}

}  // namespace

Result<Recording> Load(std::unique_ptr<Source> source, const std::string& name,
                       const LoadOptions& options) {
  return LoadGuarded<Recording>(std::move(source), name, options, LoadUnpacked);
}

Result<Recording> LoadFile(const std::string& name, const LoadOptions& options) {
  if (name == "-") {
    return Load(MakeFdSource(STDIN_FILENO, false), "standard input", options);
  }
  auto source = OpenFile(name);
  if (!source) {
    return Fail(WithInput(std::move(source.error()), name));
  }
  return Load(*std::move(source), name, options);
}

Result<RecordingOrLog> LoadRecordingOrLog(const std::string& name, const LoadOptions& options) {
  if (name == "-") {
    return LoadGuarded<RecordingOrLog>(MakeFdSource(STDIN_FILENO, false), "standard input", options,
                                       LoadEither);
  }
  auto source = OpenFile(name);
  if (!source) {
    return Fail(WithInput(std::move(source.error()), name));
  }
  return LoadGuarded<RecordingOrLog>(*std::move(source), name, options, LoadEither);
}

std::string_view CertainFormat(const std::string& path) {
  try {
    auto source = OpenFile(path);
    std::string packing;
    if (!source) {
      return {};
    }
    auto unpacked = Unpack(*std::move(source), Limits{}, &packing);
    if (!unpacked) {
      return {};
    }
    ByteWindow window(*std::move(unpacked));
    const auto head = window.Fill(kSniffBytes);
    const Reader* reader = CertainReader(head.first(std::min(head.size(), kSniffBytes)));
    return reader == nullptr ? std::string_view{} : reader->name();
  } catch (const ReadError&) {
    return {};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace memtool::formats
