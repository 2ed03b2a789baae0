#include "page/data_blocks.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "memtool/formats/open.h"
#include "memtool/formats/writer.h"
#include "page/deflate.h"
#include "page/page_file.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10U;
constexpr std::string_view kBlockEnd = "</script>\n";

// Bytes to text, three to four; what is left over waits for more.
class Base64 {
 public:
  explicit Base64(const ByteSink& byte_sink) : sink_(byte_sink) {}

  Result<void> Add(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size() / 3 * 4 + 4);
    for (const char c : bytes) {
      group_ = group_ << 8U | static_cast<unsigned char>(c);
      if (++held_ == 3) {
        Append(text, 4);
      }
    }
    return sink_(text);
  }
  Result<void> Finish() {
    if (held_ == 0) {
      return {};
    }
    std::string text;
    const std::size_t digits = held_ + 1;
    group_ <<= 8U * (3U - held_);
    Append(text, digits);
    text.append(4 - digits, '=');
    return sink_(text);
  }

 private:
  void Append(std::string& text, std::size_t digits) {
    static constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < digits; ++i) {
      text += kDigits[group_ >> (18U - 6U * i) & 63U];
    }
    group_ = 0;
    held_ = 0;
  }

  const ByteSink& sink_;
  std::uint32_t group_ = 0;
  unsigned held_ = 0;  // bytes in the group
};

// The beginnings of gzip and zstd.
bool IsPacked(std::string_view head) {
  return head.starts_with("\x1f\x8b") || head.starts_with("\x28\xb5\x2f\xfd");
}

std::string BaseName(const std::string& path) {
  return path == "-" ? "standard input" : path.substr(path.rfind('/') + 1);
}

// Names as the page shows them, which are compared there: after that, bytes that differ can look
// the same. Whole paths where last parts are not enough, numbers where those are not.
void NameInputs(std::vector<PageInput>& inputs) {
  std::map<std::string, int> uses;
  for (PageInput& input : inputs) {
    input.name = EscapeHtml(BaseName(input.path));
    ++uses[input.name];
  }
  std::map<std::string, int> taken;
  for (PageInput& input : inputs) {
    const std::string wanted = uses[input.name] > 1 ? EscapeHtml(input.path) : input.name;
    input.name = wanted;
    for (int number = 2; taken[input.name]++ > 0; ++number) {
      input.name = fmt::format("{} ({})", wanted, number);
    }
  }
}

Result<PageInput> Open(const std::string& path, bool base) {
  PageInput input{.path = path, .name = {}, .base = base, .source = {}, .size = {}};
  if (path == "-") {
    input.source = formats::MakeFdSource(STDIN_FILENO, false);
    return input;
  }
  auto source = formats::OpenFile(path);
  if (!source) {
    source.error().input = path;
    return Fail(std::move(source.error()));
  }
  input.source = *std::move(source);
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    input.size = static_cast<std::uint64_t>(status.st_size);
  }
  return input;
}

// Fills the buffer unless the input ends.
Result<std::size_t> ReadFull(formats::Source& source, std::span<std::byte> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const auto got = source.Read(buffer.subspan(filled));
    MEMTOOL_TRY(got);
    if (*got == 0) {
      break;
    }
    filled += *got;
  }
  return filled;
}

std::string_view AsText(std::span<const std::byte> bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the same bytes as characters
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The bytes of an input as they go into the page: the one place that knows. `piece` is its
// beginning, `buffer` where the rest is read to. Returns the size of the input.
Result<std::uint64_t> WriteInput(formats::Source& source, std::span<std::byte> buffer,
                                 std::span<const std::byte> piece, bool packed, Base64& base64) {
  Deflater deflater;
  const ByteSink byte_sink = [&base64](std::string_view bytes) { return base64.Add(bytes); };
  std::uint64_t size = 0;
  while (true) {
    size += piece.size();
    const bool last = piece.size() < buffer.size();
    MEMTOOL_TRY(packed ? byte_sink(AsText(piece)) : deflater.Feed(piece, last, byte_sink));
    if (last) {
      break;
    }
    auto got = ReadFull(source, buffer);
    MEMTOOL_TRY(got);
    piece = buffer.first(*got);
  }
  MEMTOOL_TRY(base64.Finish());
  return size;
}

// A large recording as the container of what was read from it, where that is smaller: the answers
// are those of the original. What is no recording goes in as it is; the page says what it is.
std::optional<std::string> GetContainer(const PageInput& input) {
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 20U;
  if (!input.size || *input.size < kLarge) {
    return std::nullopt;
  }
  const auto recording = formats::OpenRecording(input.path);
  if (!recording) {
    return std::nullopt;
  }
  auto bytes = formats::WriteAs("memtool", *recording);
  return bytes && bytes->size() < *input.size ? std::optional(*std::move(bytes)) : std::nullopt;
}

std::string BlockHead(const PageInput& input, std::string_view encoding) {
  return fmt::format(
      "<script type=\"application/octet-stream\" class=\"memtool-data\" data-name=\"{}\" "
      "data-role=\"{}\" data-encoding=\"{}\"{}>",
      input.name, input.base ? "base" : "input", encoding,
      input.size ? fmt::format(" data-size=\"{}\"", *input.size) : "");
}

Error About(Error error, const PageInput& input) {
  if (error.input.empty()) {
    error.input = input.path == "-" ? "standard input" : input.path;
  }
  return error;
}

}  // namespace

Result<std::vector<PageInput>> OpenPageInputs(const std::vector<std::string>& inputs,
                                              const std::vector<std::string>& bases) {
  std::vector<PageInput> opened;
  opened.reserve(inputs.size() + bases.size());
  for (const auto* list : {&inputs, &bases}) {
    for (const std::string& path : *list) {
      auto input = Open(path, list == &bases);
      MEMTOOL_TRY(input);
      opened.push_back(*std::move(input));
    }
  }
  NameInputs(opened);
  return opened;
}

Result<void> WriteDataBlock(PageInput& input, const ByteSink& byte_sink) {
  if (const auto container = GetContainer(input)) {
    MEMTOOL_TRY(byte_sink(BlockHead(input, "none")));
    Base64 text(byte_sink);
    MEMTOOL_TRY(text.Add(*container));
    MEMTOOL_TRY(text.Finish());
    return byte_sink(kBlockEnd);
  }
  std::vector<std::byte> buffer(kPiece);
  const auto got = ReadFull(*input.source, buffer);
  if (!got) {
    return Fail(About(got.error(), input));
  }
  const auto head = std::span<const std::byte>(buffer).first(*got);
  const bool packed = IsPacked(AsText(head));
  MEMTOOL_TRY(byte_sink(BlockHead(input, packed ? "none" : "deflate-raw")));
  Base64 base64(byte_sink);
  const auto size = WriteInput(*input.source, buffer, head, packed, base64);
  if (!size) {
    return Fail(About(size.error(), input));
  }
  if (input.size && *size != *input.size) {
    return Fail(
        Error{.code = ErrorCode::kIo, .input = input.path, .message = "changed while it was read"});
  }
  return byte_sink(kBlockEnd);
}

}  // namespace memtool::commands
