// Formats that people hand to memtool and that it can name but does not read.
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "memtool/formats/reader.h"
#include "support/byte_cursor.h"
#include "support/read_error.h"
#include "support/wire.h"

namespace memtool::formats {

namespace {

constexpr std::string_view kTimeHint =
    "it is of time and not of memory; pprof -proto FILE writes it in the form that memtool reads";
constexpr std::string_view kProtoHint =
    "write it in the proto form, for example with a current pprof: pprof -proto FILE";
constexpr std::string_view kLaterHint = "not in this version";

constexpr KnownFormat kNsightReport{
    "an Nsight Systems report (.nsys-rep)",
    "nsys export --type sqlite FILE writes the database that memtool reads; recorded with "
    "--cuda-memory-usage=true, it has every allocation"};

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix);
}

bool HasAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
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

// The first bytes tell: a log's line begins with "[2026-11-27 …" or "[1] …".
bool IsJson(std::string_view text) {
  constexpr std::size_t kEnough = 64;
  text = AfterSpace(text);
  if (text.empty() || (text[0] != '{' && text[0] != '[')) {
    return false;
  }
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::BaseReaderHandler<> ignored;
  const rapidjson::ParseResult parsed =
      rapidjson::Reader().Parse<rapidjson::kParseIterativeFlag>(stream, ignored);
  switch (parsed.Code()) {
    case rapidjson::kParseErrorNone:
    case rapidjson::kParseErrorStringMissQuotationMark:  // it goes on
      return true;
    case rapidjson::kParseErrorDocumentRootNotSingular:
      return text[0] == '{';  // lines of objects
    default:
      return parsed.Offset() >= std::min(kEnough, text.size());
  }
}

// The data of a chart of Google's: its columns, then its rows.
bool IsChart(std::string_view text) {
  text = AfterSpace(text);
  text = AfterSpace(text.substr(text.starts_with('[') ? 1 : 0));
  return text.starts_with('{') && AfterSpace(text.substr(1)).starts_with("\"cols\"");
}

bool IsText(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    constexpr char kEscape = '\x1b';  // of colours
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t' &&
           c != kEscape;
  });
}

// Whether the head is fields of protobuf up to its end, or to one that the rest of the file ends.
bool IsProto(std::span<const std::byte> head) {
  try {
    for (ByteCursor cursor(head, 0); !cursor.done();) {
      wire::Next(cursor);
    }
    return true;
  } catch (const ReadError& error) {
    return error.error().code == ErrorCode::kTruncated;
  }
}

// Protobuf files whose first field is a message that begins with a name. Any text may begin with
// an empty line and name a function of JAX.
bool IsXlaProto(std::string_view text) {
  return text.size() > 8 && text[0] == '\x0a' &&
         HasAny(text, {"HloModule", "/host:", "/device:", "jit_"}) && !IsText(text) &&
         IsProto(std::as_bytes(std::span(text.data(), text.size())));
}

// Pages as PyTorch writes them begin with an empty line.
bool IsHtml(std::string_view text) {
  const std::string_view page = AfterSpace(text);
  constexpr std::size_t kTag = 14;
  std::string begin(page.substr(0, kTag));
  for (char& c : begin) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return StartsWith(begin, "<!doctype html") || StartsWith(begin, "<html");
}

// Python's marshal: a dict whose first key is a tuple of file, line and function.
bool IsPythonProfile(std::string_view text) {
  constexpr char kNoReference = 0x7f;
  if (text.size() < 6 || (text[0] & kNoReference) != '{') {
    return false;
  }
  const auto tuple = static_cast<char>(text[1] & kNoReference);
  return (tuple == ')' && text[2] == 3) || (tuple == '(' && Word(text, 2, 4, false) == 3);
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

constexpr std::array<Rule, 26> kRules{{
    {IsLegacyCpu, {"a CPU profile in the legacy binary form", kTimeHint}},
    {[](std::string_view t) { return StartsWith(t, "heap_v2/"); },
     {"a heap profile of jemalloc",
      "it is of host memory; jeprof reads it: jeprof --text PROGRAM FILE"}},
    {[](std::string_view t) { return StartsWith(t, "heap profile:"); },
     {"a heap profile in the legacy text form", kProtoHint}},
    {[](std::string_view t) { return StartsWith(t, "--- heapz") || StartsWith(t, "--- heap"); },
     {"a Java heap profile in the legacy text form", kProtoHint}},
    {[](std::string_view t) {
       return StartsWith(t, "--- contention") || StartsWith(t, "--- mutex") ||
              StartsWith(t, "--- contentionz");
     },
     {"a contention profile in the legacy text form", kTimeHint}},
    {[](std::string_view t) { return StartsWith(t, "--- threadz") || StartsWith(t, "--- Thread"); },
     {"a thread profile in the legacy text form", kProtoHint}},
    {[](std::string_view t) { return FirstLineHas(t, "profile: total "); },
     {"a Go count profile in the legacy text form", kProtoHint}},
    {[](std::string_view t) { return StartsWith(t, "SQLite format 3"); },
     {"a SQLite database, such as an Nsight Systems export", kLaterHint}},
    {[](std::string_view t) { return StartsWith(t, "NVIDIA Tegra Profiler Report"); },
     kNsightReport},
    {IsPythonProfile,
     {"a CPU profile of Python's cProfile",
      "it is of time and not of memory; Python reads it: python3 -m pstats FILE"}},
    {[](std::string_view t) { return StartsWith(t, "PERFILE2"); },
     {"a recording of perf", "it is of time and not of memory; perf report -i FILE reads it"}},
    {[](std::string_view t) { return StartsWith(t, "memray"); },
     {"a recording of memray", "it is of host memory; memray reads it: memray stats FILE"}},
    {[](std::string_view t) { return StartsWith(t, "desc: ") && HasAny(t, {"\ntime_unit: "}); },
     {"a heap profile of Valgrind's massif", "it is of host memory; ms_print reads it"}},
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
    {IsHtml, {"an HTML page", "give the file that the page shows"}},
    {[](std::string_view t) { return StartsWith(t, "digraph") || StartsWith(t, "strict digraph"); },
     {"a Graphviz graph", "give the profile that it was drawn from"}},
    {[](std::string_view t) { return IsJson(t) && HasAny(t, {"traceEvents"}); },
     {"a Chrome trace without memory events",
      "torch.profiler writes them with profile_memory=True; ui.perfetto.dev shows any trace"}},
    {[](std::string_view t) {
       return IsJson(t) && HasAny(t, {"\"bySizeToMaxHeap\"", "\"heapSizes\"", "\"maxHeap\"",
                                      "\"logicalBufferSpans\""});
     },
     {"what xprof's memory viewer shows of a program",
      "give what it was made from: the trace (*.xplane.pb), or the *.hlo_proto.pb beside it"}},
    {[](std::string_view t) { return IsChart(t) || (IsJson(t) && HasAny(t, {"\"byProgram\""})); },
     {"what xprof shows of a trace", "give the trace that it was made from: *.xplane.pb"}},
    {[](std::string_view t) { return StartsWith(t, "HloLiveRange") || StartsWith(t, "HloModule"); },
     {"a program of XLA as text, without the places of its buffers",
      "give the *buffer-assignment.txt of the same dump, or the folder of it"}},
    {IsJson, {"unrecognised JSON", "see memtool-formats(5)", true}},
    {IsText,
     {"unrecognised text",
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

const KnownFormat* RecognizeName(std::string_view name) {
  return name.ends_with(".nsys-rep") || name.ends_with(".qdrep") ? &kNsightReport : nullptr;
}

}  // namespace memtool::formats
