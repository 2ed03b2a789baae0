// Streaming decompressors behind one interface. Which gzip engine is used (ISA-L when the build has
// it, else zlib) is decided in inflaters.cc and nowhere else.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "memtool/profile/base/result.h"

namespace memtool::formats {

class Inflater {
 public:
  virtual ~Inflater() = default;
  // Consumes from the front of *input and fills the front of `output`; returns the bytes made.
  // `last`: no input follows *input. Errors: kTruncated when the container is cut, kMalformed when
  // a checksum or the structure is wrong or garbage follows the end.
  virtual Result<std::size_t> Inflate(std::span<const std::byte>* input,
                                      std::span<std::byte> output, bool last) = 0;

  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

std::unique_ptr<Inflater> MakeGzipInflater();
std::unique_ptr<Inflater> MakeZlibInflater();
std::unique_ptr<Inflater> MakeZstdInflater();

}  // namespace memtool::formats
