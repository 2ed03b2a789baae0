#include "stacks.h"

#include <cstring>

#include "base.h"
#include "encoder.h"
#include "native_stack.h"
#include "objects.h"

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
std::uint64_t g_defined[kMostMappingIds / 64];

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

std::uint32_t g_written = 0;             // the version of the objects that the log has
std::atomic<std::uint32_t> g_looked{0};  // the version of the objects that was searched

// An interpreter may be loaded long after the first event.
void LookForPython(std::uint32_t version) {
  if (g_looked.load(std::memory_order_relaxed) != version &&
      g_looked.exchange(version, std::memory_order_acq_rel) != version) {
    Python::Look();
  }
}

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
// copied before it is written: the file's functions are never called behind the objects' lock.
void WriteMappings(Sink& sink, std::int64_t now) {
  const std::uint32_t version = Objects::Refresh();
  if (version == g_written) {
    return;
  }
  g_written = version;
  static std::uint64_t still_there[kMostMappingIds / 64];
  static char path[wire::kMaxText];
  memset(still_there, 0, sizeof still_there);
  Object object;
  while (Objects::CopyAfter(object.start, &object, path, sizeof path)) {
    if (object.id >= kMostMappingIds) {
      continue;
    }
    const std::uint64_t bit = std::uint64_t{1} << object.id % 64;
    still_there[object.id / 64] |= bit;
    if ((g_defined[object.id / 64] & bit) == 0 && DefineMapping(object, sink, now)) {
      g_defined[object.id / 64] |= bit;
    }
  }
  for (std::uint64_t id = 0; id < kMostMappingIds; ++id) {
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
      // Asking the dynamic linker costs more than all the rest: only for addresses that are new.
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
  const PyCodeKey key = Python::KeyOf(code);
  bool added = false;
  const std::uint32_t id = g_codes.Find(key, &added);
  if (id == 0 || !added) {
    return id;
  }
  static char text[wire::kMaxRecord];
  constexpr std::size_t kMostLines = wire::kMaxRecord - 2 * wire::kMaxText - 256;
  const std::size_t lines = Python::CopyLines(key, text, kMostLines);
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
  out.Text(name, Python::CopyUnicode(key.name, name, sizeof name));
  out.Text(name, Python::CopyUnicode(key.file, name, sizeof name));
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

}  // namespace

namespace {

// Threads that wait for the log's lock hold one each. Pages that were never used cost nothing.
constexpr std::size_t kBuffers = 1024;
std::atomic<RawStack*> g_buffers{nullptr};
std::atomic<std::uint64_t> g_taken[kBuffers / 64];
RawStack g_none;     // no stack wanted
RawStack g_missing;  // no buffer left

RawStack* Buffers() {
  RawStack* buffers = g_buffers.load(std::memory_order_acquire);
  if (buffers == nullptr) {
    void* pages = MapPages(kBuffers * sizeof(RawStack));
    if (pages != nullptr &&
        g_buffers.compare_exchange_strong(buffers, static_cast<RawStack*>(pages))) {
      return static_cast<RawStack*>(pages);
    }
    if (pages != nullptr) {
      munmap(pages, kBuffers * sizeof(RawStack));
    }
  }
  return buffers;
}

RawStack* TakeBuffer() {
  RawStack* buffers = Buffers();
  if (buffers == nullptr) {
    return nullptr;
  }
  for (std::size_t word = 0; word < kBuffers / 64; ++word) {
    std::uint64_t seen = g_taken[word].load(std::memory_order_relaxed);
    while (seen != ~std::uint64_t{0}) {
      const int bit = __builtin_ctzll(~seen);
      if (g_taken[word].compare_exchange_weak(seen, seen | std::uint64_t{1} << bit,
                                              std::memory_order_acquire)) {
        return buffers + word * 64 + bit;
      }
    }
  }
  return nullptr;
}

void Capture(RawStack& stack) {
  stack.native_count = stack.python_count = 0;
  stack.ended_early = stack.cut = stack.python_unknown = false;
  const Settings& settings = GetSettings();
  // A loaded object may lie where another was, or where generated code was: what is known of a
  // stack holds for one state of the table.
  stack.objects = Objects::Refresh();
  LookForPython(stack.objects);
  if (settings.native_stacks) {
    UnwindEnd end;
    stack.native_count = Unwind(stack.native, stack.second, settings.depth, &end);
    stack.ended_early = end.early;
    stack.cut = end.cut;
  }
  if (settings.python_stacks) {
    PythonEnd end;
    stack.python_count = Python::Walk(stack.python, settings.depth, &end);
    stack.python_unknown = end.unknown;
    stack.cut = stack.cut || end.cut;
  }
  std::uint64_t hash = Mix(11, stack.objects);
  for (std::uint32_t i = 0; i < stack.native_count; ++i) {
    hash = Mix(hash, stack.native[i]);
  }
  for (std::uint32_t i = 0; i < stack.python_count; ++i) {
    const PyCodeKey key = Python::KeyOf(stack.python[i].code);
    hash = Mix(Mix(hash, stack.python[i].code + stack.python[i].position),
               key.lines + key.first_line + stack.python[i].flags);
  }
  stack.hash = hash;
}

}  // namespace

CapturedStack::CapturedStack(bool wanted) : stack_(&g_none) {
  const Settings& settings = GetSettings();
  if (!wanted || !(settings.native_stacks || settings.python_stacks)) {
    return;
  }
  stack_ = TakeBuffer();
  if (stack_ == nullptr) {
    g_missing.missing = true;
    stack_ = &g_missing;
  } else {
    Capture(*stack_);
  }
}

CapturedStack::~CapturedStack() {
  if (stack_ != &g_none && stack_ != &g_missing) {
    const std::ptrdiff_t at = stack_ - g_buffers.load(std::memory_order_relaxed);
    g_taken[at / 64].fetch_and(~(std::uint64_t{1} << at % 64), std::memory_order_release);
  }
}

namespace {

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

// In the order in which a look-up takes them.
void HoldStacks() {
  Python::LookLock().Acquire();
  Objects::TableLock().Acquire();
  Objects::WaitForLinker();
}

void ReleaseStacks() {
  Objects::TableLock().Release();
  Python::LookLock().Release();
}

void ResetStackLocks() {
  Objects::TableLock().Reset();
  Python::LookLock().Reset();
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
  for (std::atomic<std::uint64_t>& taken : g_taken) {
    taken.store(0, std::memory_order_relaxed);
  }
}

}  // namespace memtool::capture
