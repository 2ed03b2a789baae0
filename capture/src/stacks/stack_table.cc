#include "stacks/stack_table.h"

#include <cstring>

#include "base/fixed_table.h"
#include "base/text.h"
#include "log/encoder.h"
#include "objects/object_table.h"

namespace memtool::capture {

namespace {

struct FrameKey {
  std::uint64_t address;
  std::uint32_t parent;
  std::uint32_t mapping;  // another object may come to the same address
  friend bool operator==(const FrameKey&, const FrameKey&) = default;
  [[nodiscard]] std::uint64_t Hash() const {
    return Mix(Mix(1, address), std::uint64_t{mapping} << 32U | parent);
  }
};

struct PyFrameKey {
  std::uint32_t parent;
  std::uint32_t code;
  std::uint32_t position;
  std::uint32_t flags;
  friend bool operator==(const PyFrameKey&, const PyFrameKey&) = default;
  [[nodiscard]] std::uint64_t Hash() const {
    return Mix(Mix(3, std::uint64_t{parent} << 32U | code), std::uint64_t{position} << 8U | flags);
  }
};

struct StackKey {
  std::uint32_t native;
  std::uint32_t python;
  friend bool operator==(const StackKey&, const StackKey&) = default;
  [[nodiscard]] std::uint64_t Hash() const { return Mix(5, std::uint64_t{native} << 32U | python); }
};

// Together at most 60 MiB, of which a program with few stacks touches little.
FixedTable<FrameKey, std::size_t{1} << 20U> g_frames;
FixedTable<PyFrameKey, std::size_t{1} << 18U> g_py_frames;
FixedTable<PyCodeKey, std::size_t{1} << 15U> g_codes;
FixedTable<StackKey, std::size_t{1} << 18U> g_stacks;

// Stacks seen before, by their hash: a repeated stack is one look-up.
struct Known {
  std::uint64_t hash;
  std::uint32_t id;
};
constexpr std::size_t kKnown = 65536;
Known g_known[kKnown];

std::uint32_t g_chunk = 0;  // the chunk that g_last_address belongs to
std::uint64_t g_last_address = 0;

// Mappings that this log has defined, as bits by id.
std::uint64_t g_defined[kMaxMappingIds / 64];

bool DefineMapping(const Object& object, Sink& sink, std::int64_t now) {
  const std::size_t path = CutLength(object.path, wire::kMaxText);
  std::uint8_t* at = sink.Begin(kPlainRecord + path + object.build_id_size, now);
  if (at == nullptr) {
    return false;
  }
  Encoder out(at);
  out.Begin(wire::Tag::kMapping);
  out.Varint(object.id);
  out.Varint(object.start);
  out.Varint(object.size);
  out.Varint(object.file_offset);
  out.Varint(object.bias);
  out.Text(object.path, path);
  out.Text(object.build_id, object.build_id_size);
  sink.Commit(out.at());
  return true;
}

std::uint32_t g_written = 0;  // the version of the objects in the log

void DefineGone(std::uint64_t id, Sink& sink, std::int64_t now) {
  if (std::uint8_t* at = sink.Begin(kPlainRecord, now); at != nullptr) {
    Encoder out(at);
    out.Begin(wire::Tag::kMappingGone);
    out.Varint(id);
    sink.Commit(out.at());
    g_defined[id / 64] &= ~(std::uint64_t{1} << id % 64);
  }
}

// The main program has no name in the linker's list; the header of the log names it. Each object is
// copied before it is written: the file's functions are never called with the objects' lock held.
void WriteMappings(Sink& sink, std::int64_t now) {
  const std::uint32_t version = Objects::Refresh();
  if (version == g_written) {
    return;
  }
  g_written = version;
  static std::uint64_t still_there[kMaxMappingIds / 64];
  static char path[wire::kMaxText];
  memset(still_there, 0, sizeof still_there);
  Object object;
  while (Objects::CopyAfter(object.start, &object, path, sizeof path)) {
    if (object.id >= kMaxMappingIds) {
      continue;
    }
    const std::uint64_t bit = std::uint64_t{1} << object.id % 64;
    still_there[object.id / 64] |= bit;
    if ((g_defined[object.id / 64] & bit) == 0 && DefineMapping(object, sink, now)) {
      g_defined[object.id / 64] |= bit;
    }
  }
  for (std::uint64_t id = 0; id < kMaxMappingIds; ++id) {
    const std::uint64_t gone = g_defined[id / 64] & ~still_there[id / 64];
    if (gone == 0) {
      id |= 63U;
    } else if ((gone >> id % 64 & 1U) != 0) {
      DefineGone(id, sink, now);
    }
  }
}

std::uint32_t InternFrames(const RawStack& stack, Sink& sink, std::int64_t now, bool* folded) {
  static std::uint32_t mappings[kMaxDepth];
  Objects::FindIds(stack.native, stack.native_count, mappings);
  std::uint32_t parent = 0;
  bool mapped = false;
  for (std::uint32_t i = stack.native_count; i-- > 0;) {
    bool added = false;
    const std::uint32_t id = g_frames.Find({stack.native[i], parent, mappings[i]}, &added);
    if (id == 0) {
      *folded = true;
      return parent;
    }
    if (added) {
      // Asking the dynamic linker costs more than all the rest, so only for new addresses.
      if (!mapped) {
        WriteMappings(sink, now);
        mapped = true;
      }
      std::uint8_t* at = sink.Begin(kPlainRecord, now);
      if (at == nullptr) {
        return parent;
      }
      if (g_chunk != sink.chunk()) {
        g_chunk = sink.chunk();
        g_last_address = 0;
      }
      Encoder out(at);
      out.Begin(wire::Tag::kFrame);
      out.Varint(id);
      out.Varint(parent);
      out.ZigZag(static_cast<std::int64_t>(stack.native[i] - g_last_address));
      g_last_address = stack.native[i];
      sink.Commit(out.at());
    }
    parent = id;
  }
  return parent;
}

std::uint32_t InternCode(std::uintptr_t code, Sink& sink, std::int64_t now) {
  const PyCodeKey key = Python::Reader().Key(code);
  bool added = false;
  const std::uint32_t id = g_codes.Find(key, &added);
  if (id == 0 || !added) {
    return id;
  }
  static char text[wire::kMaxRecord];
  constexpr std::size_t kMaxLines = wire::kMaxRecord - 2 * wire::kMaxText - 256;
  const std::size_t lines = PyReader::CopyLines(key, text, kMaxLines);
  std::uint8_t* at = sink.Begin(kPlainRecord + lines + 2 * wire::kMaxText, now);
  if (at == nullptr) {
    return 0;
  }
  Encoder out(at);
  out.Begin(wire::Tag::kPyCode);
  out.Varint(id);
  out.Varint(Python::Version());
  out.Varint(key.first_line);
  static char name[wire::kMaxText];
  out.Text(name, Python::Reader().CopyUnicode(key.name, name, sizeof name));
  out.Text(name, Python::Reader().CopyUnicode(key.file, name, sizeof name));
  out.Text(text, lines);
  sink.Commit(out.at());
  return id;
}

std::uint32_t InternPyFrames(const RawStack& stack, Sink& sink, std::int64_t now, bool* folded) {
  std::uint32_t parent = 0;
  for (std::uint32_t i = stack.python_count; i-- > 0;) {
    const PyFrame& frame = stack.python[i];
    const std::uint32_t code = InternCode(frame.code, sink, now);
    bool added = false;
    const std::uint32_t id =
        code == 0 ? 0 : g_py_frames.Find({parent, code, frame.position, frame.flags}, &added);
    if (id == 0) {
      *folded = true;
      return parent;
    }
    if (added) {
      std::uint8_t* at = sink.Begin(kPlainRecord, now);
      if (at == nullptr) {
        return parent;
      }
      Encoder out(at);
      out.Begin(wire::Tag::kPyFrame);
      out.Varint(id);
      out.Varint(parent);
      out.Varint(code);
      out.Varint(frame.position);
      out.Varint(frame.flags);
      sink.Commit(out.at());
    }
    parent = id;
  }
  return parent;
}

// Of this log.
struct Missing {
  std::uint64_t python = 0;
  std::uint64_t cut = 0;
};
Missing g_missing_parts;

std::uint32_t Intern(const RawStack& stack, Sink& sink, std::int64_t now, bool* folded) {
  if (stack.native_count == 0 && stack.python_count == 0) {
    *folded = stack.missing;
    return 0;
  }
  Known& known = g_known[stack.hash % kKnown];
  if (known.id != 0 && known.hash == stack.hash) {
    return known.id;
  }
  const std::uint32_t native = InternFrames(stack, sink, now, folded);
  const std::uint32_t python = InternPyFrames(stack, sink, now, folded);
  bool added = false;
  const std::uint32_t id = g_stacks.Find({native, python}, &added);
  if (id == 0) {
    *folded = true;
    return 0;
  }
  if (added) {
    std::uint8_t* at = sink.Begin(kPlainRecord, now);
    if (at == nullptr) {
      return 0;
    }
    Encoder out(at);
    out.Begin(wire::Tag::kStack);
    out.Varint(id);
    out.Varint(native);
    out.Varint(python);
    sink.Commit(out.at());
  }
  known = {stack.hash, id};
  return id;
}

}  // namespace

std::uint32_t InternStack(const RawStack& stack, Sink& sink, std::int64_t now, bool* folded) {
  const std::uint32_t id = Intern(stack, sink, now, folded);
  g_missing_parts.python += stack.python_unknown ? 1 : 0;
  g_missing_parts.cut += stack.cut ? 1 : 0;
  if (wire::Header* header = sink.header(); header != nullptr) {
    header->lost_python = g_missing_parts.python;
    header->cut_stacks = g_missing_parts.cut;
    header->lost_mappings = Objects::LeftOut();
  }
  return id;
}

void ForgetStacks() {
  g_frames.Clear();
  g_py_frames.Clear();
  g_codes.Clear();
  g_stacks.Clear();
  memset(g_known, 0, sizeof g_known);
  memset(g_defined, 0, sizeof g_defined);
  g_chunk = 0;
  g_written = 0;
  g_missing_parts = {};
}

}  // namespace memtool::capture
