#include "capture_log/decoder.h"

#include <utility>

#include "support/read_error.h"

namespace memtool::formats::capture_log {

namespace {

[[noreturn]] void Malformed(const ByteCursor& in, const char* message) {
  ThrowRead(ErrorCode::kMalformed, in.offset(), {}, message);
}

}  // namespace

void Decoder::Chunk(std::span<const std::byte> records, std::uint64_t offset,
                    std::uint64_t base_time) {
  time_ = base_time;
  key_ = address_ = attributes_ = stack_ = 0;
  ByteCursor in(records, offset);
  while (!in.done()) {
    Record(in);
  }
}

std::string Decoder::Text(ByteCursor& in, std::size_t most) {
  const std::uint64_t size = in.Varint();
  if (size > most) {
    Malformed(in, "text that is longer than the format allows");
  }
  return std::string(AsText(in.Take(size)));
}

void Decoder::Unique(bool is_new, const ByteCursor& in) {
  if (!is_new) {
    Malformed(in, "an id that was defined before");
  }
}

void Decoder::Record(ByteCursor& in) {
  const std::uint8_t first = in.Byte();
  if ((first & wire::kCompact) != 0) {
    return Compact(first, in);
  }
  const auto tag = static_cast<wire::Tag>(first);
  if (tag >= wire::Tag::kMapping && tag <= wire::Tag::kTagName) {
    return Definition(tag, in);
  }
  Event(tag, in);
}

void Decoder::Mapping(ByteCursor& in) {
  const std::uint64_t id = in.Varint();
  MappingRow row;
  row.start = in.Varint();
  row.size = in.Varint();
  row.file_offset = in.Varint();
  row.bias = in.Varint();
  row.path = Text(in);
  row.build_id = Text(in);
  const std::uint64_t start = row.start;
  Unique(id != 0 && definitions_.mappings.Define(id, std::move(row)), in);
  loaded_[start] = id;
}

void Decoder::Frame(ByteCursor& in) {
  const std::uint64_t id = in.Varint();
  FrameRow row{.parent = in.Varint()};
  const std::uint64_t address = address_ + static_cast<std::uint64_t>(wire::UnZigZag(in.Varint()));
  row.address = address;
  // The frame's code is the byte before the return address.
  const auto after = loaded_.upper_bound(address - 1);
  if (after != loaded_.begin()) {
    const auto& [start, mapping] = *std::prev(after);
    const MappingRow* found = definitions_.mappings.Find(mapping);
    row.mapping = found != nullptr && address - 1 - start < found->size ? mapping : 0;
  }
  // Parents are defined first, so that chains end.
  if (row.parent != 0 && definitions_.frames.Find(row.parent) == nullptr) {
    row.parent = 0;
  }
  Unique(id != 0 && definitions_.frames.Define(id, row), in);
  address_ = address;
}

void Decoder::Code(ByteCursor& in) {
  const std::uint64_t id = in.Varint();
  CodeRow row;
  row.version = in.Varint();
  row.first_line = static_cast<std::int64_t>(in.Varint() & 0x7fffffffU);
  row.name = Text(in);
  row.file = Text(in);
  row.lines = Text(in, wire::kMaxRecord);
  Unique(id != 0 && definitions_.codes.Define(id, std::move(row)), in);
}

void Decoder::MemoryDomain(ByteCursor& in) {
  const std::uint64_t id = in.Varint();
  DomainRow row;
  const std::uint64_t space = in.Varint();
  const std::uint64_t kind = in.Varint();
  const std::uint64_t level = in.Varint();
  const std::uint64_t device = in.Varint();
  row.name = Text(in);
  constexpr std::uint64_t kMaxDevices = 1U << 16U;
  if (space > 0xff || kind > 4 || level > 2 || device > kMaxDevices) {
    Malformed(in, "a ledger of an unknown kind");
  }
  row.space = static_cast<wire::Space>(space);
  row.kind = static_cast<wire::Kind>(kind);
  row.level = static_cast<wire::Level>(level);
  row.device = static_cast<std::int32_t>(device) - 1;
  Unique(id != 0 && definitions_.domains.Define(id, std::move(row)), in);
}

void Decoder::AttributeSet(ByteCursor& in) {
  const std::uint64_t id = in.Varint();
  AttributesRow row;
  for (std::uint64_t* field :
       {&row.thread, &row.domain, &row.context, &row.stream, &row.pool, &row.tag}) {
    *field = in.Varint();
  }
  Unique(id != 0 && definitions_.attribute_sets.Define(id, row), in);
}

void Decoder::Definition(wire::Tag tag, ByteCursor& in) {
  switch (tag) {
    case wire::Tag::kMapping:
      return Mapping(in);
    case wire::Tag::kMappingGone: {
      const std::uint64_t id = in.Varint();
      const MappingRow* row = definitions_.mappings.Find(id);
      if (row != nullptr && loaded_.contains(row->start) && loaded_[row->start] == id) {
        loaded_.erase(row->start);
      }
      return;
    }
    case wire::Tag::kFrame:
      return Frame(in);
    case wire::Tag::kPyCode:
      return Code(in);
    case wire::Tag::kPyFrame: {
      const std::uint64_t id = in.Varint();
      PyFrameRow row{.parent = in.Varint(), .code = in.Varint(), .position = in.Varint()};
      row.entry = (in.Varint() & wire::kPyEntry) != 0;
      if (row.parent != 0 && definitions_.py_frames.Find(row.parent) == nullptr) {
        row.parent = 0;
      }
      return Unique(id != 0 && definitions_.py_frames.Define(id, row), in);
    }
    case wire::Tag::kStack: {
      const std::uint64_t id = in.Varint();
      StackRow row{.native = in.Varint(), .python = in.Varint()};
      return Unique(id != 0 && definitions_.stacks.Define(id, row), in);
    }
    case wire::Tag::kThread: {
      const std::uint64_t id = in.Varint();
      ThreadRow row{.tid = in.Varint(), .name = Text(in)};
      return Unique(id != 0 && definitions_.threads.Define(id, std::move(row)), in);
    }
    case wire::Tag::kDomain:
      return MemoryDomain(in);
    case wire::Tag::kAttributeSet:
      return AttributeSet(in);
    default: {
      const std::uint64_t id = in.Varint();
      std::string name = Text(in);
      return Unique(id != 0 && definitions_.tags.Define(id, std::move(name)), in);
    }
  }
}

// Time and attributes, which all events begin with. The chunk's time moves only in Commit.
Call Decoder::Begin(ByteCursor& in, bool with_attributes) {
  Call call;
  call.time = time_ + in.Varint();
  call.attributes = with_attributes ? in.Varint() : attributes_;
  return call;
}

void Decoder::Compact(std::uint8_t first, ByteCursor& in) {
  const bool is_free = (first & wire::kCompactFree) != 0;
  Call call = Begin(in, (first & wire::kCompactNewAttributes) != 0);
  auto difference = static_cast<std::uint64_t>(wire::UnZigZag(in.Varint()));
  if ((first & wire::kCompactFarKey) == 0) {
    difference <<= wire::kKeyShift;
  }
  call.key = key_ + difference;
  if (!is_free) {
    const std::uint64_t size = in.Varint();
    constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 62U;
    if (size > ((first & wire::kCompactOddSize) != 0 ? kMaxSize : kMaxSize >> wire::kSizeShift)) {
      Malformed(in, "an allocation larger than any memory");
    }
    call.size = static_cast<std::int64_t>(
        (first & wire::kCompactOddSize) != 0 ? size : size << wire::kSizeShift);
    call.stack = (first & wire::kCompactNewStack) != 0 ? in.Varint() : stack_;
    stack_ = call.stack;
  }
  call.estimated = (first & wire::kCompactEstimated) != 0;
  time_ = call.time;
  attributes_ = call.attributes;
  key_ = call.key;
  ++events_;
  if (is_free) {
    calls_.Free(call);
  } else {
    calls_.Alloc(call);
  }
}

void Decoder::GraphNode(ByteCursor& in) {
  Call call = Begin(in);
  call.stack = in.Varint();
  for (std::size_t i = 0; i < 3; ++i) {
    call.numbers[i] = in.Varint();
  }
  calls_.Other(wire::Tag::kGraphNode, call);
  time_ = call.time;
  ++events_;
}

void Decoder::Event(wire::Tag tag, ByteCursor& in) {
  if (tag == wire::Tag::kDropped || tag == wire::Tag::kEnd) {
    time_ = Begin(in, false).time;
    if (tag == wire::Tag::kDropped) {
      in.Varint();
    }
    return;
  }
  if (tag == wire::Tag::kGraphNode) {
    return GraphNode(in);
  }
  if (tag < wire::Tag::kFailed || tag > wire::Tag::kMark) {
    Malformed(in, "a record of an unknown kind");
  }
  Call call = Begin(in);
  if (tag == wire::Tag::kFailed || tag == wire::Tag::kReserve || tag == wire::Tag::kImport) {
    call.stack = in.Varint();
  }
  if (tag == wire::Tag::kMark) {
    const std::int64_t value = wire::UnZigZag(in.Varint());
    const std::string name = Text(in);
    calls_.Mark(call, name, value);
  } else {
    constexpr std::uint8_t kNumbers[] = {3, 2, 1, 1, 4, 2, 2, 2, 2, 2, 4};
    const std::size_t count =
        kNumbers[static_cast<std::size_t>(tag) - static_cast<std::size_t>(wire::Tag::kFailed)];
    for (std::size_t i = 0; i < count; ++i) {
      call.numbers[i] = in.Varint();
    }
    calls_.Other(tag, call);
  }
  time_ = call.time;
  ++events_;
}

}  // namespace memtool::formats::capture_log
