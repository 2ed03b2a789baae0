// Inputs inside a page.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memtool/formats/source.h"
#include "memtool/profile/base/result.h"
#include "output/whole_file.h"

namespace memtool::commands {

struct PageInput {
  std::string path;   // as the user gave it; "-" = standard input
  std::string name;   // on the page; no two the same
  bool base = false;  // subtracted from the others
  std::unique_ptr<formats::Source> source;
  std::optional<std::uint64_t> size;  // of a regular file, when it was opened
};

// Opens all of them, so that what cannot be read is known before anything is written. Errors: kIo,
// kUsage for a folder.
Result<std::vector<PageInput>> OpenPageInputs(const std::vector<std::string>& inputs,
                                              const std::vector<std::string>& bases);

// Writes one input as an element of the page:
//   <script type="application/octet-stream" class="memtool-data" data-name="NAME"
//           data-role="input|base" data-encoding="deflate-raw|none"
//           data-size="BYTES">BASE64</script>
// Of a large recording the bytes are its container (convert --to memtool) where that is smaller.
// BYTES is the size of the input; a stream, whose size is not known before its end, has none. Holds
// some 100 KiB at a time, or such a recording. Errors: kIo, also for a file that became shorter;
// those of `take`.
Result<void> WriteDataBlock(PageInput& input, const ByteSink& byte_sink);

}  // namespace memtool::commands
