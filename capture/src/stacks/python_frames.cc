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

// Pages that could be read, + 1. They are not asked about again before an object comes or goes: an
// interpreter that is sound never points at what it has given back, and one that is not seldom
// points at a page that it pointed at before.
std::atomic<std::uintptr_t> g_readable[4096];

__attribute__((noinline)) bool AskForPage(std::uintptr_t page) {
  if (!CanRead(page)) {
    return false;
  }
  g_readable[page / kMinPage % 4096].store(page + 1, std::memory_order_relaxed);
  return true;
}

bool PageCanBeRead(std::uintptr_t page) {
  return g_readable[page / kMinPage % 4096].load(std::memory_order_relaxed) == page + 1 ||
         AskForPage(page);
}

// Where an object of so many bytes may be, at a multiple of 8 as all of the interpreter's are: in
// the pages of the last one, which the next is often beside, or in others that can be read.
class Window {
 public:
  explicit Window(std::size_t size) : size_(size) {}

  bool Reaches(std::uintptr_t at) {
    if (at - places_.first > places_.span) {
      places_ = Look(at, size_);
    }
    return at - places_.first <= places_.span && at % 8 == 0;
  }

 private:
  struct Places {
    std::uintptr_t first = 1;  // nowhere
    std::uintptr_t span = 0;
  };

  static __attribute__((noinline)) Places Look(std::uintptr_t at, std::size_t size) {
    const std::uintptr_t begin = at & ~(kMinPage - 1);
    std::uintptr_t end = begin;
    while (at + size > at && end < at + size) {
      if (!PageCanBeRead(end)) {
        return {};
      }
      end += kMinPage;
    }
    return end == begin ? Places{} : Places{begin, end - begin - size};
  }

  std::size_t size_;
  Places places_;
};

// Of what a window reaches.
template <class T>
T Load(std::uintptr_t at) {
  T value{};
  memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
  return value;
}

constexpr std::size_t Greatest(std::initializer_list<std::size_t> offsets) {
  std::size_t greatest = 0;
  for (const std::size_t offset : offsets) {
    greatest = offset > greatest ? offset : greatest;
  }
  return greatest;
}

std::size_t FrameSize(const PyLayout& of) {
  return Greatest({of.previous, of.code, of.position, of.owner, of.entry}) + 8;
}

std::size_t CodeSize(const PyLayout& of) {
  return Greatest({of.name, of.file, of.first_line, of.lines}) + 8;
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
  Window words(8);
  if (!words.Reaches(thread + layout_->head)) {
    return false;
  }
  *frame = Load<std::uintptr_t>(thread + layout_->head);
  if (layout_->head_indirect >= 0 && *frame != 0) {
    *frame += static_cast<std::uintptr_t>(layout_->head_indirect);
    if (!words.Reaches(*frame)) {
      return false;
    }
    *frame = Load<std::uintptr_t>(*frame);
  }
  return true;
}

std::uint32_t PyReader::Walk(std::uintptr_t thread, PyFrame* frames, std::uint32_t most,
                             PythonEnd* end) const {
  const PyLayout layout = *layout_;  // a copy stays in registers
  Window chain(FrameSize(layout));
  Window codes(CodeSize(layout));
  std::uintptr_t frame = 0;
  end->early = true;
  if (!FindHead(thread, &frame)) {
    return 0;
  }
  std::uint32_t count = 0;
  // 3.12 on, frames that stand for calls from C alternate with others: many more are a ring.
  for (std::uint32_t links = 0; frame != 0; ++links) {
    if (links > 2 * most || !chain.Reaches(frame)) {
      return count;
    }
    const bool is_call =
        layout.minor >= 12 && Load<std::uint8_t>(frame + layout.owner) == kOwnedByCStack;
    if (is_call && count > 0) {
      frames[count - 1].flags = wire::kPyEntry;
    }
    if (!is_call) {
      const auto code = Load<std::uintptr_t>(frame + layout.code);
      if (!codes.Reaches(code) || Load<std::uintptr_t>(code + kTypeAt) != code_type_) {
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
  if (count > 0 && layout.minor >= 12) {
    frames[count - 1].flags = wire::kPyEntry;
  }
  end->early = false;
  return count;
}

std::uint64_t PyReader::ThreadId(std::uintptr_t thread) const {
  const std::uintptr_t at = thread + layout_->thread_id;
  return Window(8).Reaches(at) ? Load<std::uint64_t>(at) : 0;
}

PyCodeKey PyReader::Key(std::uintptr_t code) const {
  return {.code = code,
          .name = Load<std::uintptr_t>(code + layout_->name),
          .file = Load<std::uintptr_t>(code + layout_->file),
          .lines = Load<std::uintptr_t>(code + layout_->lines),
          .first_line = Load<std::uint32_t>(code + layout_->first_line)};
}

std::size_t PyReader::CopyUnicode(std::uint64_t object, char* to, std::size_t most) const {
  if (!Window(kStateAt + 8).Reaches(object)) {
    return 0;
  }
  const auto length = Load<std::uint64_t>(object + kSizeAt);
  const auto state = Load<std::uint32_t>(object + kStateAt);
  const unsigned kind = state >> 2U & 7U;
  const bool compact = (state >> 5U & 1U) != 0;
  const bool ascii = (state >> 6U & 1U) != 0;
  const std::size_t count = length < most ? length : most;
  const std::uintptr_t data = object + (ascii ? layout_->ascii_data : layout_->other_data);
  if (!compact || (kind != 1 && kind != 2 && kind != 4) || !Window(count * kind).Reaches(data)) {
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
  if (!Window(kBytesData).Reaches(key.lines)) {
    return 0;
  }
  const auto size = Load<std::uint64_t>(key.lines + kSizeAt);
  if (size > most || !Window(size).Reaches(key.lines + kBytesData)) {
    return 0;
  }
  memcpy(to, reinterpret_cast<const void*>(key.lines + kBytesData), size);
  return size;
}

}  // namespace memtool::capture
