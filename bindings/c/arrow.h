// An answer as a stream of Arrow's C data interface, which pandas, Polars, DuckDB and pyarrow take
// without copying: https://arrow.apache.org/docs/format/CStreamInterface.html
#pragma once

#include <cstdint>
#include <memory>

#include "columns.h"

// Names and layout are those of the interface.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

namespace memtool::c {

// One batch with all rows; numbers stay where they are, as long as the consumer keeps them. Text is
// dictionary-encoded; lists and objects are text, as JSON.
void ExportStream(std::shared_ptr<const Table> table, ArrowArrayStream* out);

}  // namespace memtool::c
