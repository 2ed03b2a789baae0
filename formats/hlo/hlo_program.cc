#include "hlo/hlo_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "hlo/frame_index.h"
#include "hlo/packed.h"
#include "hlo/shape.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "support/wire.h"

namespace memtool::formats::hlo {

namespace {

std::string Text(const wire::Field& field, const char* name) {
  field.Expect(wire::kLength, name);
  return std::string(AsText(field.bytes));
}

std::int64_t Size(const wire::Field& field, const char* name) {
  const std::int64_t size = field.Int(name);
  if (size < 0) {
    ThrowRead(ErrorCode::kMalformed, field.offset, name, fmt::format("a size of {}", size));
  }
  return size;
}

// Buffers come first, so that of a module's instructions only those that define one are kept.
class Decoder {
 public:
  HloProgram Read(ByteCursor cursor) {
    std::vector<ByteCursor> modules;
    std::vector<ByteCursor> assignments;
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      if (field.number == 1) {
        modules.push_back(field.Message("hlo_module"));
      } else if (field.number == 3) {
        assignments.push_back(field.Message("buffer_assignment"));
      }
    }
    // Buffers may come after what refers to them.
    for (const ByteCursor& assignment : assignments) {
      Assignment(assignment, true);
    }
    for (const ByteCursor& assignment : assignments) {
      Assignment(assignment, false);
    }
    for (const ByteCursor& module : modules) {
      Module(module);
    }
    Finish();
    return std::move(program_);
  }

 private:
  void Assignment(ByteCursor cursor, bool buffers) {
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      if (field.number == 1 && buffers) {
        LogicalBuffer(field.Message("logical_buffers"));
      } else if (field.number == 3 && !buffers) {
        DecodeAllocation(field.Message("buffer_allocations"));
      } else if (field.number == 4 && !buffers) {
        traces_.push_back(field.Message("heap_simulator_traces"));
      }
    }
  }

  void LogicalBuffer(ByteCursor cursor) {
    Buffer buffer;
    std::uint64_t instruction = 0;
    std::string name;
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      switch (field.number) {
        case 1:
          buffer.id = field.Varint("id");
          break;
        case 2:
          buffer.size = Size(field, "size");
          break;
        case 3:
          DefinedAt(field.Message("defined_at"), buffer, instruction, name);
          break;
        case 4:
          buffer.color = field.Int("color");
          break;
        default:
          break;
      }
    }
    const std::size_t row = program_.buffers.size();
    if (!by_id_.emplace(buffer.id, row).second) {
      return;  // the first one counts
    }
    // Before 2022 instructions were known by name.
    if (!name.empty() && instruction == 0) {
      by_name_[name].push_back(row);
    } else {
      by_instruction_[instruction].push_back(row);
    }
    program_.buffers.push_back(std::move(buffer));
  }

  static void DefinedAt(ByteCursor cursor, Buffer& buffer, std::uint64_t& instruction,
                        std::string& name) {
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      if (field.number == 2) {
        name = Text(field, "instruction_name");
      } else if (field.number == 3) {
        ForEachInt(field, "shape_index",
                   [&](std::uint64_t part) { buffer.shape_index.push_back(part); });
      } else if (field.number == 4) {
        instruction = field.Varint("instruction_id");
      }
    }
  }

  void DecodeAllocation(ByteCursor cursor) {
    Allocation allocation;
    bool parameter = false;
    bool thread_local_one = false;
    bool constant = false;
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      switch (field.number) {
        case 1:
          allocation.number = field.Varint("index");
          break;
        case 2:
          allocation.size = Size(field, "size");
          break;
        case 3:
          thread_local_one = field.Bool("is_thread_local");
          break;
        case 5:
          parameter = field.Bool("is_entry_computation_parameter");
          break;
        case 6:
          allocation.parameter = field.Varint("parameter_number");
          break;
        case 7:
          allocation.live_out = field.Bool("maybe_live_out");
          break;
        case 8:
          allocation.color = field.Int("color");
          break;
        case 9:
          Assigned(field.Message("assigned"), allocation);
          break;
        case 12:
          constant = field.Bool("is_constant");
          break;
        default:
          break;
      }
    }
    allocation.category = parameter             ? Category::kParameter
                          : allocation.live_out ? Category::kOutput
                          : thread_local_one    ? Category::kThreadLocal
                          : constant            ? Category::kConstant
                                                : Category::kTemporary;
    program_.allocations.push_back(std::move(allocation));
  }

  void Assigned(ByteCursor cursor, Allocation& allocation) {
    std::uint64_t id = 0;
    std::int64_t offset = 0;
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      if (field.number == 1) {
        id = field.Varint("logical_buffer_id");
      } else if (field.number == 2) {
        offset = Size(field, "offset");
      }
    }
    const std::size_t row = Find(id);
    if (row == kNone) {
      return;
    }
    Buffer& buffer = program_.buffers[row];
    if (buffer.allocation == kNone) {
      buffer.allocation = program_.allocations.size();
      buffer.offset = offset;
      allocation.buffers.push_back(row);
    }
  }

  std::size_t Find(std::uint64_t id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
      ++program_.damage.unknown_buffers;
      return kNone;
    }
    return found->second;
  }

  void Trace(ByteCursor cursor) {
    HeapTrace trace;
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      if (field.number == 1) {
        ReadHeapEvent(field.Message("events"), trace);
      }
    }
    if (!trace.events.empty()) {
      const Buffer& first = program_.buffers[trace.events.front().buffer];
      trace.allocation = first.allocation;
      trace.color = first.color;
      program_.traces.push_back(std::move(trace));
    }
  }

  void ReadHeapEvent(ByteCursor cursor, HeapTrace& trace) {
    std::uint64_t kind = 0;
    std::uint64_t buffer = 0;
    std::uint64_t shared = 0;
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      if (field.number == 1) {
        kind = field.Varint("kind");
      } else if (field.number == 2) {
        buffer = field.Varint("buffer_id");
      } else if (field.number == 5) {
        shared = field.Varint("share_with_canonical_id");
      }
    }
    HeapEvent event{.kind = static_cast<HeapKind>(kind), .buffer = Find(buffer), .shared = kNone};
    if (kind > static_cast<std::uint64_t>(HeapKind::kShareWith) || event.buffer == kNone) {
      return;
    }
    if (event.kind == HeapKind::kShareWith) {
      event.shared = Find(shared);
      if (event.shared == kNone) {
        return;
      }
    }
    trace.events.push_back(event);
  }

  void Module(ByteCursor cursor) {
    std::vector<ByteCursor> computations;
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      switch (field.number) {
        case 1:
          program_.module = Text(field, "name");
          break;
        case 2:
          program_.entry = Text(field, "entry_computation_name");
          break;
        case 3:
          computations.push_back(field.Message("computations"));
          break;
        case 17:
          frames_.Read(field.Message("stack_frame_index"));
          break;
        default:
          break;
      }
    }
    for (ByteCursor& computation : computations) {
      while (!computation.done()) {
        const wire::Field field = wire::Next(computation);
        if (field.number == 2) {
          ReadInstruction(field.Message("instructions"));
        }
      }
    }
  }

  void ReadInstruction(ByteCursor cursor) {
    Instruction instruction;
    std::optional<ByteCursor> shape;
    std::optional<ByteCursor> metadata;
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      switch (field.number) {
        case 1:
          instruction.name = Text(field, "name");
          break;
        case 2:
          instruction.opcode = Text(field, "opcode");
          break;
        case 3:
          shape = field.Message("shape");
          break;
        case 7:
          metadata = field.Message("metadata");
          break;
        case 35:
          instruction.id = field.Varint("id");
          break;
        default:
          break;  // literals among them
      }
    }
    std::vector<std::size_t> buffers;
    Claim(by_instruction_, instruction.id, buffers);
    Claim(by_name_, instruction.name, buffers);
    if (buffers.empty()) {
      return;
    }
    if (metadata) {
      Metadata(*metadata, instruction);
    }
    Name(buffers, shape);
    program_.instructions.push_back(std::move(instruction));
  }

  // Moves the buffers of `key` out, so that the first instruction of an id or name has them.
  template <class Map>
  static void Claim(Map& map, const typename Map::key_type& key,
                    std::vector<std::size_t>& buffers) {
    const auto found = map.find(key);
    if (found != map.end()) {
      buffers.insert(buffers.end(), found->second.begin(), found->second.end());
      map.erase(found);
    }
  }

  // The instruction that is about to be added defines these buffers.
  void Name(const std::vector<std::size_t>& buffers, const std::optional<ByteCursor>& shape) {
    std::optional<ShapeReader> reader;
    if (shape) {
      reader.emplace(*shape);
    }
    for (const std::size_t row : buffers) {
      Buffer& buffer = program_.buffers[row];
      buffer.instruction = program_.instructions.size();
      if (reader) {
        ShapeFacts facts = reader->At(buffer.shape_index);
        buffer.shape = std::move(facts.text);
        buffer.dtype = std::move(facts.dtype);
        // More than the buffer holds is no padding.
        if (facts.unpadded && *facts.unpadded <= buffer.size) {
          buffer.unpadded = facts.unpadded;
        }
      }
    }
  }

  void Metadata(ByteCursor cursor, Instruction& instruction) {
    CodeFrame source;
    std::uint64_t frame = 0;
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      switch (field.number) {
        case 2:
          instruction.op_name = Text(field, "op_name");
          break;
        case 3:
          source.file = Text(field, "source_file");
          break;
        case 4:
          source.line = field.Int("source_line");
          break;
        case 15:
          frame = field.Varint("stack_frame_id");
          break;
        default:
          break;
      }
    }
    instruction.frames = frames_.Stack(frame);
    if (instruction.frames.empty() && !source.file.empty()) {
      instruction.frames.push_back(std::move(source));
    }
  }

  void Finish() {
    for (const ByteCursor& trace : traces_) {
      Trace(trace);
    }
    for (const Buffer& buffer : program_.buffers) {
      program_.damage.unknown_instructions += buffer.instruction == kNone ? 1U : 0U;
    }
    for (Allocation& allocation : program_.allocations) {
      for (const std::size_t row : allocation.buffers) {
        Buffer& buffer = program_.buffers[row];
        const std::int64_t most =
            std::max(SaturatingSubtract(allocation.size, buffer.offset), std::int64_t{0});
        if (buffer.size > most) {
          ++program_.damage.outside;
          buffer.size = most;
          buffer.unpadded.reset();  // it is of another size
        }
        if (allocation.largest == kNone ||
            buffer.size > program_.buffers[allocation.largest].size) {
          allocation.largest = row;
        }
      }
    }
  }

  HloProgram program_;
  FrameIndex frames_;
  std::vector<ByteCursor> traces_;
  KeyMap<std::uint64_t, std::size_t> by_id_;
  KeyMap<std::uint64_t, std::vector<std::size_t>> by_instruction_;
  KeyMap<std::string, std::vector<std::size_t>> by_name_;
};

}  // namespace

std::string_view CategoryName(Category category) {
  switch (category) {
    case Category::kParameter:
      return "parameter";
    case Category::kOutput:
      return "output";
    case Category::kThreadLocal:
      return "thread-local";
    case Category::kConstant:
      return "constant";
    case Category::kTemporary:
      return "temporary";
    case Category::kUnknown:
      break;
  }
  return {};
}

std::string ColorName(std::int64_t color) {
  // xprof's memory_viewer; devices other than TPUs use 0 for their memory and 5 for the host's.
  constexpr std::array<std::string_view, 7> kNames{"HBM",  "VMEM", "Sflag",     "CMEM",
                                                   "SMEM", "host", "SparseCore"};
  return color >= 0 && static_cast<std::size_t>(color) < kNames.size()
             ? std::string(kNames[static_cast<std::size_t>(color)])
             : fmt::format("memory {}", color);
}

std::int64_t HloProgram::Total() const {
  std::int64_t total = 0;
  for (const Allocation& allocation : allocations) {
    total = SaturatingAdd(total, allocation.size);
  }
  return total;
}

std::int64_t HloProgram::Total(Category category) const {
  std::int64_t total = 0;
  for (const Allocation& allocation : allocations) {
    total = allocation.category == category ? SaturatingAdd(total, allocation.size) : total;
  }
  return total;
}

std::vector<std::int64_t> HloProgram::Colors() const {
  std::set<std::int64_t> colors;
  for (const Allocation& allocation : allocations) {
    colors.insert(allocation.color);
  }
  return {colors.begin(), colors.end()};
}

HloProgram ReadHloProto(ByteCursor cursor) {
  return Decoder().Read(cursor);
}

}  // namespace memtool::formats::hlo
