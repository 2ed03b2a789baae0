// Packing bytes that a browser unpacks by itself.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "memtool/profile/base/result.h"
#include "output/whole_file.h"

namespace memtool::commands {

// Raw deflate (RFC 1951, no header), as fast as it goes.
class Deflater {
 public:
  Deflater();
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  // Takes the next bytes, the last ones with `last`; hands what is ready to `take`, whose errors it
  // passes on.
  Result<void> Feed(std::span<const std::byte> bytes, bool last, const ByteSink& byte_sink);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace memtool::commands
