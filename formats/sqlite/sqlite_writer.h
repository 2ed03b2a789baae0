// Recording → a SQLite database with all of it: samples, stacks, events, the allocator's state,
// marks. Its tables and views: memtool-convert(1).
#pragma once

#include "memtool/formats/writer.h"

namespace memtool::formats {

class SqliteWriter final : public Writer {
 public:
  [[nodiscard]] std::string_view name() const override { return "sqlite"; }
  [[nodiscard]] std::string_view summary() const override {
    return "a SQLite database of everything in the input";
  }
  [[nodiscard]] std::span<const std::string_view> endings() const override;
  [[nodiscard]] Written writes() const override { return Written::kAll; }
  [[nodiscard]] bool binary() const override { return true; }
  // The database is made in a file of the folder for temporary files, then handed to `sink`.
  // Errors: kUnsupported when there are neither samples nor events; kOutput for that file.
  Result<void> Write(const Recording& recording, const WriteOptions& options,
                     const ByteSink& sink) const override;
};

}  // namespace memtool::formats
