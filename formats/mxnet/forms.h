// The forms in which MXNet's memory profilers wrote their rows, by content and never by file name.
//
//   kTbdLog      "[mem] Allocate N bytes GPU memory (TAG)." among other output (TBD, 2018)
//   kBare        "TAG,NUMBER" without a header: bytes, or MiB as a float (Echo and PR 14973, 2019)
//   kScoped header with "Data Struct": one row per allocation (PR 17376, 2020)
//   kOfficial    header without it, all fields quoted: what is live (MXNet 2.0, PR 17656)
//   kUnknownTags the call stacks of allocations with unknown tags, written along with kBare
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memtool::formats::mxnet {

enum class Form : std::uint8_t { kTbdLog, kBare, kScoped, kOfficial, kUnknownTags };

// The form of a text by its beginning; none when it is no such form.
std::optional<Form> GetForm(std::string_view head);

// "TAG,NUMBER" split at the last comma.
struct BareRow {
  std::string_view tag;
  double number = 0;
  std::optional<std::int64_t> whole{};  // when it is written without point and exponent
};
std::optional<BareRow> ParseBareRow(std::string_view line);

// "… Allocate N bytes GPU memory (TAG)." or "… N MB …".
struct AllocateLine {
  std::string_view tag;
  std::int64_t bytes = 0;
};
std::optional<AllocateLine> ParseAllocateLine(std::string_view line);

// "Allocating X with unknown memory tag T": X in MiB.
struct UnknownTagLine {
  std::string_view tag;
  double mebibytes = 0;
  bool stack_before = false;  // the stack comes before the message (Echo), not after it
};
std::optional<UnknownTagLine> ParseUnknownTagLine(std::string_view line);

// "[bt] (3) /path/libmxnet.so(mxnet::Function(int)+0x12) [0x7f0000000000]"
struct BacktraceLine {
  std::string_view function;  // without "+0x12"
  std::string_view library;
};
std::optional<BacktraceLine> ParseBacktraceLine(std::string_view line);

// A number that a whole text is; nothing for anything else.
std::optional<double> ParseFinite(std::string_view text);

}  // namespace memtool::formats::mxnet
