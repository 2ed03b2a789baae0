// A compiled program as XLA describes it in an HloProto: which allocations it makes, which buffers
// lie in them, and in what order the compiler's heap gives and takes them.
// Sizes are bytes. Everything is owned; the bytes read may go away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/shape.h"
#include "support/byte_cursor.h"

namespace memtool::formats::hlo {

inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Parameter wins over output: a donated buffer is both. Only temporary memory has a lifetime; the
// others take their whole size for the whole program.
enum class Category : std::uint8_t {
  kParameter,
  kOutput,
  kThreadLocal,
  kConstant,
  kTemporary,
  kUnknown,  // a report does not say; not temporary, whose buffers share places
};
std::string_view CategoryName(Category category);  // "parameter", "thread-local"; "" of kUnknown

struct CodeFrame {
  std::string function;  // may be empty
  std::string file;
  std::int64_t line = 0;
};

// Of instructions that define a buffer; no others are kept.
struct Instruction {
  std::uint64_t id = 0;
  std::string name;     // "fusion.459"
  std::string opcode;   // "fusion"
  std::string op_name;  // "jit(f)/jit(main)/dot_general", of parameters their argument's path
  std::vector<CodeFrame> frames;  // innermost first; of older files at most one
};

struct Buffer {
  std::uint64_t id = 0;
  std::int64_t size = 0;  // with padding
  std::int64_t color = 0;
  std::size_t instruction = kNone;  // index, kNone when the module does not hold it
  std::vector<std::uint64_t> shape_index;
  std::string shape;                     // "bf16[32,4096]"; empty when not known
  std::string dtype;                     // "bf16"; of tuples "tuple"
  std::optional<std::int64_t> unpadded;  // none for tuples and unknown types
  std::size_t allocation = kNone;        // index
  std::int64_t offset = 0;               // in its allocation

  [[nodiscard]] std::int64_t padding() const { return unpadded ? size - *unpadded : 0; }
};

struct Allocation {
  std::uint64_t number = 0;  // as the file writes it
  std::int64_t size = 0;
  std::int64_t color = 0;
  Category category = Category::kTemporary;
  bool live_out = false;  // a parameter that is: donated
  std::uint64_t parameter = 0;
  std::vector<std::size_t> buffers;  // indices, as in the file; those at one offset share it
  std::size_t largest = kNone;       // buffer that names it: the largest, then the first
  ShapeFacts shape;                  // of its own, where the file gives one
  [[nodiscard]] bool indefinite() const { return category != Category::kTemporary; }
};

enum class HeapKind : std::uint8_t { kAlloc = 0, kFree = 1, kShareWith = 2 };

struct HeapEvent {
  HeapKind kind = HeapKind::kAlloc;
  std::size_t buffer = kNone;  // index
  std::size_t shared = kNone;  // of kShareWith: the buffer whose memory it takes
};

struct HeapTrace {
  std::size_t allocation = kNone;          // of its first event's buffer
  std::int64_t color = 0;                  // of that buffer
  std::vector<std::size_t> allocations{};  // all that it is about, where it is one for several
  std::vector<HeapEvent> events;
};

// What was wrong and could be read on.
struct Damage {
  std::uint64_t unknown_buffers = 0;  // assignments or heap events of a buffer that is not there
  std::uint64_t unknown_instructions = 0;  // buffers of an instruction that is not there
  std::uint64_t outside = 0;               // buffers that reach beyond their allocation
};

struct HloProgram {
  std::string module;  // "jit_train_step"
  std::string entry;   // "main.2381_spmd"
  std::vector<Instruction> instructions;
  std::vector<Buffer> buffers;
  std::vector<Allocation> allocations;
  std::vector<HeapTrace> traces;
  Damage damage;

  // Sum of the allocations' sizes.
  [[nodiscard]] std::int64_t Total() const;
  [[nodiscard]] std::int64_t Total(Category category) const;
  // Colours of allocations, ascending.
  [[nodiscard]] std::vector<std::int64_t> Colors() const;
};

// Throws ReadError where the bytes are no HloProto or a size is no size.
HloProgram ReadHloProto(ByteCursor cursor);

// The memory that a colour stands for: "HBM", "host".
std::string ColorName(std::int64_t color);

// One change of a heap: the memory of buffer `owner` is taken or given back. SHARE_WITH makes a
// change only where the memory was free again.
struct HeapStep {
  std::size_t event = 0;  // index into HeapTrace::events
  bool take = false;
  std::size_t owner = kNone;
  std::size_t user = kNone;  // whose event it was
};
struct HeapReplay {
  std::vector<HeapStep> steps;
  std::uint64_t free_without_alloc = 0;
  std::uint64_t taken_twice = 0;
};
HeapReplay Replay(const HloProgram& program, const HeapTrace& trace);

// The trace that stands for a colour: that of the first temporary allocation which has one, else
// the longest. kNone when the colour has none.
std::size_t GetTrace(const HloProgram& program, std::int64_t color);

struct LiveBuffer {
  std::size_t buffer = kNone;  // whose memory it is
  std::size_t user = kNone;    // who uses it at that moment: itself, or the last to share
};

// The first moment at which most of a heap is in use.
struct HeapPeak {
  std::size_t point = 0;  // events before it
  std::int64_t bytes = 0;
  std::vector<LiveBuffer> live;  // by offset
};
HeapPeak FindPeak(const HloProgram& program, const HeapTrace& trace);

// Buffers of a temporary allocation that are live at the peak of its heap; without a trace,
// those that do not share their place with a larger one.
std::vector<LiveBuffer> BuffersAtPeak(const HloProgram& program, std::size_t allocation);

}  // namespace memtool::formats::hlo
