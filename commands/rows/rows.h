// Pieces that commands with rows of frames share.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "memtool/profile/allocator/free_memory.h"
#include "memtool/profile/rows/table.h"
#include "output/tabulate.h"
#include "output/text/cpp_names.h"
#include "output/text_table.h"
#include "session/input_reader.h"
#include "words/moments.h"
#include "words/words.h"

namespace memtool::commands {

// The call for column VIA: what a program calls the operation, else the name as NameText shows it.
std::string ViaText(std::string_view via);
// "memory9.prof · JAX device memory profile (pprof)", or "3 inputs merged: a b c". `apart`: the
// rows keep the inputs apart.
std::string InputsText(const InputReader& input_reader, bool apart = false);
// "5.53 MiB" or "1,234", depending on what the session sums.
std::string AmountText(const InputReader& input_reader, std::int64_t value, bool sign = false);
// An amount of the session's sample type.
Amount MakeAmount(const InputReader& input_reader, std::int64_t value, bool sign = false);
// Notes that every report ends with: unknown sizes.
std::vector<std::string> FootNotes(std::int64_t unknown);
// Puts WHERE, PLACE and VIA into words. `frames`: whether names are those of functions.
template <class Row>
void PutPlaces(bool frames, TableColumns<Row>& columns) {
  columns["name"].get = [frames](const Row& row) {
    return frames ? NameText(row.name) : std::string(row.name);
  };
  columns["file"].get = [](const Row& row) {
    if constexpr (requires { row.more_lines; }) {
      return PlaceText(row.file, row.line, row.more_lines);
    }
    return PlaceText(row.file, row.line);
  };
  columns["file"].place = [](const Row& row) {
    return row.file.empty() ? std::string() : fmt::format("{}:{}", row.file, row.line);
  };
  if constexpr (requires(const Row& row) { row.via; }) {
    columns["via"].get = [](const Row& row) { return ViaText(row.via); };
  }
}

// "4.67 GiB in 1 unused segment and 237 whole pages of 2 expandable segments in use"
std::string ReturnableText(const FreeMemory& gives);
// "256.00 MiB are free in 8 segments of private pools (graphs, MemPools): not given back …"
std::string PrivatePoolText(const FreeMemory& gives);

}  // namespace memtool::commands
