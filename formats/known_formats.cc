// Formats that people hand to memtool and that it can name but does not read.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "memtool/formats/reader.h"
#include "support/byte_cursor.h"

namespace memtool::formats {

namespace {

constexpr std::string_view kProtoHint =
    "write it in the proto form, for example with a current pprof: pprof -proto FILE";
constexpr std::string_view kLaterHint = "not in this version";

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix);
}

bool FirstLineHas(std::string_view text, std::string_view word) {
  return text.substr(0, text.find('\n')).find(word) != std::string_view::npos;
}

// A word of `size` bytes, little or big endian.
std::uint64_t Word(std::string_view text, std::size_t at, std::size_t size, bool big) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t byte = big ? i : size - 1 - i;
    value = value << 8U | static_cast<std::uint8_t>(text[at + byte]);
  }
  return value;
}

// gperftools' CPU profile begins with the words 0, 3, 0 (1 for Java), period, 0.
bool IsLegacyCpu(std::string_view text) {
  for (const std::size_t size : {std::size_t{4}, std::size_t{8}}) {
    for (const bool big : {false, true}) {
      if (text.size() >= 5 * size && Word(text, 0, size, big) == 0 &&
          Word(text, size, size, big) == 3 && Word(text, 2 * size, size, big) <= 1) {
        return true;
      }
    }
  }
  return false;
}

bool IsJson(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) {
    return false;
  }
  const std::size_t second = text.find_first_not_of(kSpace, first + 1);
  const std::string_view may_follow = text[first] == '{' ? "\"}" : "[{\"]-0123456789tfn";
  return second == std::string_view::npos ||
         may_follow.find(text[second]) != std::string_view::npos;
}

bool IsText(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
}

// Protobuf files whose first field is a message that begins with a name.
bool IsXlaProto(std::string_view text) {
  return text.size() > 8 && text[0] == '\x0a' &&
         (text.find("HloModule") != std::string_view::npos ||
          text.find("/host:") != std::string_view::npos ||
          text.find("/device:") != std::string_view::npos ||
          text.find("jit_") != std::string_view::npos);
}

// torch.save() writes a zip of "NAME/data.pkl", "NAME/version" and tensors; its first entry is the
// pickle.
bool IsTorchCheckpoint(std::string_view text) {
  constexpr std::size_t kNameSize = 26;
  constexpr std::size_t kName = 30;
  if (!StartsWith(text, "PK\x03\x04") || text.size() < kName) {
    return false;
  }
  const std::string_view name = text.substr(kName, Word(text, kNameSize, 2, false));
  return name == "data.pkl" || name.ends_with("/data.pkl") || name.ends_with("/version");
}

struct Rule {
  bool (*matches)(std::string_view head) = nullptr;
  KnownFormat format{};
};

constexpr std::array<Rule, 18> kRules{{
    {IsLegacyCpu, {"a CPU profile in the legacy binary form", kProtoHint}},
    {[](std::string_view t) { return StartsWith(t, "heap profile:"); },
     {"a heap profile in the legacy text form", kProtoHint}},
    {[](std::string_view t) { return StartsWith(t, "--- heapz") || StartsWith(t, "--- heap"); },
     {"a Java heap profile in the legacy text form", kProtoHint}},
    {[](std::string_view t) {
       return StartsWith(t, "--- contention") || StartsWith(t, "--- mutex") ||
              StartsWith(t, "--- contentionz");
     },
     {"a contention profile in the legacy text form", kProtoHint}},
    {[](std::string_view t) { return StartsWith(t, "--- threadz") || StartsWith(t, "--- Thread"); },
     {"a thread profile in the legacy text form", kProtoHint}},
    {[](std::string_view t) { return FirstLineHas(t, "profile: total "); },
     {"a Go count profile in the legacy text form", kProtoHint}},
    {[](std::string_view t) { return StartsWith(t, "SQLite format 3"); },
     {"a SQLite database, such as an Nsight Systems export", kLaterHint}},
    {IsTorchCheckpoint,
     {"a PyTorch checkpoint (.pt, .pth)",
      "it holds tensors; torch.cuda.memory._dump_snapshot() writes what held the memory"}},
    {[](std::string_view t) { return StartsWith(t, "PK\x03\x04"); },
     {"a zip archive", "unpack it first"}},
    {[](std::string_view t) { return t.size() > 262 && t.substr(257, 5) == "ustar"; },
     {"a tar archive", "unpack it first"}},
    {[](std::string_view t) {
       return StartsWith(t,
                         "\x7f"
                         "ELF");
     },
     {"a program or library", "give the profile that it wrote"}},
    {IsXlaProto, {"an XLA trace or HLO module", kLaterHint}},
    {[](std::string_view t) { return StartsWith(t, "<!DOCTYPE html") || StartsWith(t, "<html"); },
     {"an HTML page", "give the file that the page shows"}},
    {[](std::string_view t) { return StartsWith(t, "digraph") || StartsWith(t, "strict digraph"); },
     {"a Graphviz graph", "give the profile that it was drawn from"}},
    {[](std::string_view t) {
       return IsJson(t) && t.find("traceEvents") != std::string_view::npos;
     },
     {"a Chrome trace without memory events",
      "torch.profiler writes them with profile_memory=True; ui.perfetto.dev shows any trace"}},
    {[](std::string_view t) {
       return IsJson(t) && t.find("\"bySizeToMaxHeap\"") != std::string_view::npos;
     },
     {"what xprof's memory viewer shows of a program",
      "give what it was made from: the trace (*.xplane.pb), or the *.hlo_proto.pb beside it"}},
    {IsJson, {"JSON of no known kind", "see memtool-formats(5)", true}},
    {IsText,
     {"text of no known kind",
      "memtool oom reads logs with an out-of-memory message; see memtool-formats(5)", true}},
}};

}  // namespace

const KnownFormat* RecognizeUnread(std::span<const std::byte> head) {
  const std::string_view text = AsText(head);
  for (const Rule& rule : kRules) {
    if (rule.matches(text)) {
      return &rule.format;
    }
  }
  return nullptr;
}

}  // namespace memtool::formats
