// Recording: all that one input holds, as immutable columns. Readers fill it through a
// RecordingBuilder; analyses index it without checks, because the builder checked every reference.
// An input holds a profile (samples), or a history (events) and the allocator's state at its end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/ids.h"
#include "memtool/profile/base/row_vector.h"
#include "memtool/profile/base/string_table.h"
#include "memtool/profile/model/history.h"
#include "memtool/profile/model/origin.h"
#include "memtool/profile/model/statement.h"

namespace memtool {

// What a sample type measures; analyses and comparisons across formats match types by role.
enum class Role : std::uint8_t { kOther, kCount, kBytes, kRequestedBytes };
constexpr bool IsBytes(Role role) {
  return role == Role::kBytes || role == Role::kRequestedBytes;
}

struct SampleType {
  StringId type;  // the file's own name: "space", "inuse_objects"
  StringId unit;  // the file's own unit: "bytes", "count"
  Role role = Role::kOther;
};

struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t limit = 0;
  std::uint64_t offset = 0;
  StringId filename;
  StringId build_id;
  bool has_functions = false;
  bool has_filenames = false;
  bool has_line_numbers = false;
  bool has_inline_frames = false;
};

struct Function {
  StringId name;
  StringId system_name;
  StringId filename;
  std::int64_t start_line = 0;
};

// One frame. A location that has no symbol owns one Line without a function, so that every
// location has at least one line.
struct Line {
  FunctionId function;
  std::int64_t line = 0;
  std::int64_t column = 0;
};

struct Location {
  MappingId mapping;  // may be none
  std::uint64_t address = 0;
  std::uint32_t first_line = 0;  // lines innermost first: inlined code comes before its caller
  std::uint32_t line_count = 0;
  bool folded = false;
};

struct Label {
  StringId key;
  StringId text;            // string labels
  std::int64_t number = 0;  // numeric labels
  StringId unit;            // of `number`; empty when the file gives none
  bool numeric = false;
  friend bool operator==(const Label&, const Label&) = default;
};

enum class Severity : std::uint8_t { kNote, kWarning, kDamage };

// Damage or doubt that reading survived.
struct Diagnostic {
  Severity severity = Severity::kWarning;
  std::string code;  // stable word: "unknown_size", "skipped_field"
  std::string message;
  std::optional<std::uint64_t> offset{};  // byte after unpacking
  std::uint64_t count = 1;                // how often it occurred
};

// What a format cannot know, shown with every answer that might need it.
struct BlindSpot {
  std::string what;
  std::string why;
};

enum class CounterKind : std::uint8_t {
  kProcessBeyondRows,  // what NVML shows of the process, beyond all rows
  kDeviceTotal,
  kDeviceFreeLowest,
};

// A figure that an input gives besides its samples, and that none of them includes.
struct Counter {
  CounterKind kind = CounterKind::kDeviceTotal;
  std::int32_t device = -1;  // ordinal; -1 = the input does not say
  std::int64_t value = 0;    // bytes
};

struct Metadata {
  std::string format;          // the reader's name: "pprof"
  std::string format_display;  // for people: "JAX device memory profile (pprof)"
  Origin origin;
  std::string default_by;           // how rows are split unless asked otherwise: "tag", or empty
  bool frames_are_scopes = false;   // frames without a file are parts of names, not code
  std::string packing;              // "gzip", "zlib", "zstd", or empty
  std::int64_t time_nanos = 0;      // unix; 0 = unknown
  std::int64_t duration_nanos = 0;  // 0 = unknown
  SampleType period_type;
  std::int64_t period = 0;
  StringId drop_frames;  // frames that the file itself asks to drop (regular expression)
  StringId keep_frames;
  StringId doc_url;
  std::vector<StringId> comments;
  std::uint64_t unpacked_bytes = 0;
  // Of a table in a log: the log, as far as it was kept. `oom` explains the messages in it.
  std::string log_text{};
};

// Σ over all samples of one type.
struct TypeSums {
  RowVector<std::int64_t> of_stack;  // per stack, or empty; wrong unless `magnitude` fits
  MagnitudeSum magnitude;            // Σ|value|
};

// Samples as columns: row i of every column is one sample.
struct Profile {
  std::vector<SampleType> types;
  StringId default_type;                        // may be empty
  RowVector<StackId> stacks;                    // per sample
  RowVector<LabelSetId> label_sets;             // per sample
  std::vector<RowVector<std::int64_t>> values;  // [type][sample]
  // Samples whose size their writer did not know (JAX executables, written as -1), ascending. Their
  // bytes values keep what the file says; analyses count them apart and add no bytes for them.
  std::vector<std::uint32_t> unknown_size;
  // [type], where the reader summed while it read; those of unknown size are in it. Then every
  // stack has a sample.
  std::vector<TypeSums> sums;

  [[nodiscard]] std::size_t size() const { return stacks.size(); }
};

// Rows that are runs of items, stored end to end: stacks of locations, sets of labels.
template <class RowId, class Item>
class Runs {
 public:
  [[nodiscard]] std::size_t size() const { return begin_.size() - 1; }
  [[nodiscard]] std::span<const Item> operator[](RowId id) const {
    const std::size_t begin = begin_[id.value()];
    return std::span(items_).subspan(begin, begin_[id.value() + 1] - begin);
  }
  // To be changed in place.
  [[nodiscard]] std::span<Item> operator[](RowId id) {
    const std::size_t begin = begin_[id.value()];
    return items().subspan(begin, begin_[id.value() + 1] - begin);
  }
  // All items of all rows.
  [[nodiscard]] std::span<const Item> items() const { return items_; }
  [[nodiscard]] std::span<Item> items() { return {items_.data(), items_.size()}; }

  RowId Add(std::span<const Item> items) {
    Append(items);
    return EndRow();
  }
  // The same in parts: a row is what came since the row before.
  void Append(std::span<const Item> items) {
    items_.insert(items_.end(), items.begin(), items.end());
  }
  RowId EndRow() {
    begin_.push_back(static_cast<std::uint32_t>(items_.size()));
    return RowId(size() - 1);
  }

 private:
  RowVector<std::uint32_t> begin_{0};
  RowVector<Item> items_;
};

// Members are public for analyses to read; only a RecordingBuilder fills one.
struct Recording {
  StringTable strings;
  std::vector<Mapping> mappings;
  std::vector<Function> functions;
  std::vector<Line> lines;
  std::vector<Location> locations;
  Runs<StackId, LocationId> stacks;
  Runs<LabelSetId, Label> label_sets;  // set 0 is empty
  Metadata metadata;
  std::vector<Diagnostic> diagnostics;
  std::vector<BlindSpot> blind_spots;
  std::optional<Profile> profile;
  // Shared, because they are large and outlive the recording of one moment.
  std::shared_ptr<const History> history;
  std::shared_ptr<const AllocatorState> state;
  std::vector<Counter> counters;
  std::vector<Setting> settings;  // the allocator's, as the file names them
  // Of a log: what its lines say about memory, and the first lines that seem to and that nobody
  // understood.
  std::vector<Statement> statements;
  std::vector<UnreadLine> unread_lines;

  [[nodiscard]] std::string_view Text(StringId id) const {
    return id.valid() ? strings[id] : std::string_view{};
  }
  [[nodiscard]] const Location& At(LocationId id) const { return locations[id.value()]; }
  [[nodiscard]] std::span<const Line> Lines(const Location& location) const {
    return std::span(lines).subspan(location.first_line, location.line_count);
  }
  // True when the location came without symbols (see Line).
  [[nodiscard]] bool Unsymbolized(const Location& location) const {
    return !lines[location.first_line].function.valid();
  }

  [[nodiscard]] std::size_t stack_count() const { return stacks.size(); }
  // Innermost location first.
  [[nodiscard]] std::span<const LocationId> Stack(StackId id) const { return stacks[id]; }

  [[nodiscard]] std::size_t label_set_count() const { return label_sets.size(); }
  [[nodiscard]] std::span<const Label> Labels(LabelSetId id) const { return label_sets[id]; }
};

}  // namespace memtool
