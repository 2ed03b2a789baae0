#include "stacks/python_frames.h"

#include <atomic>
#include <cstring>
#include <initializer_list>

#include "base/fixed_table.h"
#include "base/pages.h"
#include "wire.h"

namespace memtool::capture {

namespace {

constexpr PyLayout kLayouts[] = {
    {9, 24, -1, 24, 32, 104, 0, 0, 112, 104, 40, 120, 0, 48, 72, 176},
    {10, 24, -1, 24, 32, 96, 0, 0, 112, 104, 40, 120, 0, 48, 72, 176},
    {11, 56, 8, 48, 32, 56, 69, 68, 128, 112, 72, 136, 184, 48, 72, 152},
    {12, 56, 0, 8, 0, 56, 70, 0, 128, 112, 68, 136, 192, 40, 56, 0},
    {13, 72, -1, 8, 0, 56, 70, 0, 128, 112, 68, 136, 200, 40, 56, 0},
};
constexpr unsigned kOwnedByCStack = 3;  // 3.12 on: a frame that stands for a call from C
constexpr std::size_t kTypeAt = 8;
constexpr std::size_t kSizeAt = 16;  // length of a str, size of a bytes
constexpr std::size_t kStateAt = 32;
constexpr std::size_t kBytesData = 32;

// Pages that could be read, | 1, each in one of its two slots: frames and code lie in some dozens
// of pages, of which two may well share a slot, and to ask about one in each walk costs as much as
// the rest of the walk. What was found holds for later walks because a page that a sound
// interpreter's frames point at is one that it has not given back: the calling thread's frames own
// their code, and both stay until it returns. It is forgotten where that may not be so: when an
// object came or went (of an interpreter that is no more, the pages are others'), and when a chain
// ended early, because its interpreter is not sound.
constexpr std::size_t kPages = 4096;
std::atomic<std::uintptr_t> g_readable[kPages];

constexpr std::uintptr_t PageOf(std::uintptr_t at) {
  return at & ~(kMinPage - 1);
}

inline std::atomic<std::uintptr_t>& FirstSlot(std::uintptr_t page) {
  return g_readable[page / kMinPage % kPages];
}

std::atomic<std::uintptr_t>& SecondSlot(std::uintptr_t page) {
  return g_readable[Mix(0, page) % kPages];
}

inline bool Holds(const std::atomic<std::uintptr_t>& slot, std::uintptr_t page) {
  return slot.load(std::memory_order_relaxed) == (page | 1U);
}

bool PageCanBeRead(std::uintptr_t page) {
  std::atomic<std::uintptr_t>& first = FirstSlot(page);
  std::atomic<std::uintptr_t>& second = SecondSlot(page);
  if (Holds(first, page) || Holds(second, page)) {
    return true;
  }
  if (!CanRead(page)) {
    return false;
  }
  (first.load(std::memory_order_relaxed) == 0 ? first : second)
      .store(page | 1U, std::memory_order_relaxed);
  return true;
}

__attribute__((noinline)) bool PagesCanBeRead(std::uintptr_t at, std::size_t size) {
  if (at + size < at) {
    return false;
  }
  for (std::uintptr_t page = PageOf(at); page < at + size; page += kMinPage) {
    if (!PageCanBeRead(page)) {
      return false;
    }
  }
  return true;
}

// Whether so many bytes can be read there.
inline bool CanHold(std::uintptr_t at, std::size_t size) {
  const std::uintptr_t page = PageOf(at);
  return (at - page + size <= kMinPage && Holds(FirstSlot(page), page)) || PagesCanBeRead(at, size);
}

// Where objects of so many bytes can be read: in the page of the last one, which the next is often
// in, or in others that can be read.
template <std::size_t kSize>
class Window {
 public:
  bool Reaches(std::uintptr_t at) {
    if (at - page_ <= kMinPage - kSize) {
      return true;
    }
    if (!CanHold(at, kSize)) {
      return false;
    }
    page_ = PageOf(at);
    return true;
  }

 private:
  std::uintptr_t page_ =
      PageOf(reinterpret_cast<std::uintptr_t>(&g_readable));  // one to begin with
};

constexpr std::size_t End(std::initializer_list<std::size_t> offsets) {
  std::size_t greatest = 0;
  for (const std::size_t offset : offsets) {
    greatest = offset > greatest ? offset : greatest;
  }
  return greatest + 8;
}

constexpr std::size_t FrameSize(const PyLayout& of) {
  return End({of.previous, of.code, of.position, of.owner, of.entry});
}

constexpr std::size_t CodeSize(const PyLayout& of) {
  return End({of.name, of.file, of.first_line, of.lines});
}

std::size_t PutUtf8(std::uint32_t point, char* to, std::size_t room) {
  const auto put = [to](std::size_t at, std::uint32_t byte) { to[at] = static_cast<char>(byte); };
  const std::size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  if (size > room) {
    return 0;
  }
  if (size == 1) {
    put(0, point);
    return size;
  }
  constexpr std::uint32_t kLead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (std::size_t i = size; i-- > 1;) {
    put(i, 0x80U | (point & 0x3fU));
    point >>= 6U;
  }
  put(0, kLead[size] | point);
  return size;
}

inline std::uint32_t Position(const PyLayout& layout, std::uintptr_t frame, std::uintptr_t code) {
  if (layout.minor >= 11) {
    const auto at = Load<std::uintptr_t>(frame + layout.position);
    const std::uintptr_t begin = code + layout.instructions;
    return at < begin ? 0 : static_cast<std::uint32_t>(at - begin) + 1;
  }
  const auto last = Load<std::int32_t>(frame + layout.position);
  return last < 0 ? 0 : static_cast<std::uint32_t>(last) * (layout.minor == 10 ? 2 : 1) + 1;
}

// From 3.12 on the frame behind it tells.
inline bool IsEntry(const PyLayout& layout, std::uintptr_t frame) {
  return layout.minor <= 10 ||
         (layout.minor == 11 && Load<std::uint8_t>(frame + layout.entry) != 0);
}

inline void MarkEntry(PyFrame* frames, std::uint32_t count) {
  if (count > 0) {
    frames[count - 1].flags = wire::kPyEntry;
  }
}

template <class Codes>
bool IsCode(Codes& codes, std::uintptr_t frame, std::uintptr_t code, std::uintptr_t type) {
  return (frame | code) % 8 == 0 && codes.Reaches(code) &&
         Load<std::uintptr_t>(code + kTypeAt) == type;
}

// Compiled for each version: an offset is then part of an instruction, and a frame costs half.
template <unsigned kMinor>
std::uint32_t WalkChain(std::uintptr_t frame, std::uintptr_t code_type, PyFrame* frames,
                        std::uint32_t most, PythonEnd* end) {
  constexpr const PyLayout& layout = kLayouts[kMinor - kLayouts[0].minor];
  static_assert(layout.minor == kMinor);
  Window<FrameSize(layout)> chain;
  Window<CodeSize(layout)> codes;
  std::uint32_t count = 0;
  // 3.12 on, frames that stand for calls from C alternate with others: many more are a ring.
  for (std::uint32_t links = 0; frame != 0; ++links) {
    if (links > 2 * most || !chain.Reaches(frame)) {
      return count;
    }
    const bool is_call = kMinor >= 12 && Load<std::uint8_t>(frame + layout.owner) == kOwnedByCStack;
    if (is_call) {
      MarkEntry(frames, count);
    } else {
      const auto code = Load<std::uintptr_t>(frame + layout.code);
      if (!IsCode(codes, frame, code, code_type)) {
        return count;
      }
      if (count == most) {
        end->early = false;
        end->cut = true;
        return count;
      }
      frames[count++] = {code, Position(layout, frame, code),
                         IsEntry(layout, frame) ? wire::kPyEntry : 0U};
    }
    frame = Load<std::uintptr_t>(frame + layout.previous);
  }
  if (kMinor >= 12) {
    MarkEntry(frames, count);
  }
  end->early = false;
  return count;
}

}  // namespace

const PyLayout* FindPyLayout(std::uint32_t minor) {
  for (const PyLayout& layout : kLayouts) {
    if (layout.minor == minor && sizeof(void*) == 8) {
      return &layout;
    }
  }
  return nullptr;
}

void ForgetPyPages() {
  for (std::atomic<std::uintptr_t>& page : g_readable) {
    page.store(0, std::memory_order_relaxed);
  }
}

std::uint64_t PyCodeKey::Hash() const {
  return Mix(Mix(Mix(Mix(Mix(7, code), name), file), lines), first_line);
}

// Where the chain begins; false when that cannot be read.
bool PyReader::FindHead(std::uintptr_t thread, std::uintptr_t* frame) const {
  if (!CanHold(thread + layout_->head, 8)) {
    return false;
  }
  *frame = Load<std::uintptr_t>(thread + layout_->head);
  if (layout_->head_indirect >= 0 && *frame != 0) {
    *frame += static_cast<std::uintptr_t>(layout_->head_indirect);
    if (!CanHold(*frame, 8)) {
      return false;
    }
    *frame = Load<std::uintptr_t>(*frame);
  }
  return true;
}

std::uint32_t PyReader::Walk(std::uintptr_t thread, PyFrame* frames, std::uint32_t most,
                             PythonEnd* end) const {
  std::uintptr_t frame = 0;
  std::uint32_t count = 0;
  end->early = true;
  if (FindHead(thread, &frame)) {
    const auto walk = layout_->minor == 9    ? WalkChain<9>
                      : layout_->minor == 10 ? WalkChain<10>
                      : layout_->minor == 11 ? WalkChain<11>
                      : layout_->minor == 12 ? WalkChain<12>
                                             : WalkChain<13>;
    count = walk(frame, code_type_, frames, most, end);
  }
  if (end->early) {
    ForgetPyPages();
  }
  return count;
}

std::uint64_t PyReader::ThreadId(std::uintptr_t thread) const {
  const std::uintptr_t at = thread + layout_->thread_id;
  return CanHold(at, 8) ? Load<std::uint64_t>(at) : 0;
}

std::size_t PyReader::CopyUnicode(std::uint64_t object, char* to, std::size_t most) const {
  if (!CanHold(object, kStateAt + 8)) {
    return 0;
  }
  const auto length = Load<std::uint64_t>(object + kSizeAt);
  const auto state = Load<std::uint32_t>(object + kStateAt);
  const unsigned kind = state >> 2U & 7U;
  const bool compact = (state >> 5U & 1U) != 0;
  const bool ascii = (state >> 6U & 1U) != 0;
  const std::size_t count = length < most ? length : most;
  const std::uintptr_t data = object + (ascii ? layout_->ascii_data : layout_->other_data);
  if (!compact || (kind != 1 && kind != 2 && kind != 4) || !CanHold(data, count * kind)) {
    return 0;
  }
  std::size_t size = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t point = kind == 1   ? Load<std::uint8_t>(data + i)
                                : kind == 2 ? Load<std::uint16_t>(data + 2 * i)
                                            : Load<std::uint32_t>(data + 4 * i);
    const std::size_t put = PutUtf8(point, to + size, most - size);
    if (put == 0) {
      break;
    }
    size += put;
  }
  return size;
}

std::size_t PyReader::CopyLines(const PyCodeKey& key, char* to, std::size_t most) {
  if (!CanHold(key.lines, kBytesData)) {
    return 0;
  }
  const auto size = Load<std::uint64_t>(key.lines + kSizeAt);
  if (size > most || !CanHold(key.lines + kBytesData, size)) {
    return 0;
  }
  memcpy(to, reinterpret_cast<const void*>(key.lines + kBytesData), size);
  return size;
}

}  // namespace memtool::capture
