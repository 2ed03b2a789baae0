// Pieces that commands with rows of frames share.
#pragma once

#include <string>
#include <string_view>

#include "memtool/profile/allocator/free_memory.h"
#include "memtool/profile/rows/table.h"
#include "output/text/cpp_names.h"
#include "output/text_table.h"
#include "session/session.h"
#include "words/moments.h"
#include "words/words.h"

namespace memtool::commands {

// The call for column VIA: what a program calls the operation, else the name as NameText shows it.
std::string ViaText(std::string_view via);
// "memory9.prof · JAX device memory profile (pprof)", or "3 inputs merged: a b c". `apart`: the
// rows keep the inputs apart.
std::string InputsText(const Session& session, bool apart = false);
// "5.53 MiB" or "1,234", depending on what the session sums.
std::string AmountText(const Session& session, std::int64_t value, bool sign = false);
// An amount of the session's sample type.
Amount MakeAmount(const Session& session, std::int64_t value, bool sign = false);
// Notes that every report ends with: unknown sizes.
std::vector<std::string> FootNotes(std::int64_t unknown);
// A row's line for JSON: null when it has none.
Cell LineCell(std::int64_t line);

// "4.67 GiB in 1 unused segment and 237 whole pages of 2 expandable segments in use"
std::string ReturnableText(const FreeMemory& gives);
// "256.00 MiB are free in 8 segments of private pools (CUDA graphs, MemPools): not given back …"
std::string PrivatePoolText(const FreeMemory& gives);

}  // namespace memtool::commands
