// Bytes → a gzip file, packed while they come. Which engine packs (ISA-L when the build has it,
// else zlib) is decided in gzip_writer.cc and nowhere else.
#pragma once

#include <memory>
#include <string_view>

#include "memtool/formats/writer.h"

namespace memtool::formats {

class GzipWriter {
 public:
  // `sink` is kept by reference.
  explicit GzipWriter(const ByteSink& sink);
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;
  ~GzipWriter();

  // Errors: those of the sink, kOutput when the engine fails. Nothing may be added after one.
  Result<void> Add(std::string_view bytes);
  // Once, after everything.
  Result<void> Finish();

 private:
  struct Engine;
  Result<void> Pack(std::string_view bytes, bool last);

  const ByteSink& sink_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace memtool::formats
