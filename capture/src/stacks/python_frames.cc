#include "stacks/python_frames.h"

#include <atomic>
#include <cstring>

#include "base/fixed_table.h"
#include "base/pages.h"
#include "objects/object_table.h"
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

// Pages that could be read. They are not asked about again before an object comes or goes, which
// its version in the low bits tells: an interpreter that is sound never points at what it has given
// back, and one that is not seldom points at a page that it pointed at before.
std::atomic<std::uintptr_t> g_readable[4096];

bool PageCanBeRead(std::uintptr_t page) {
  const std::uintptr_t mark = page | (Objects::Version() & (kMinPage - 1));
  std::atomic<std::uintptr_t>& slot = g_readable[page / kMinPage % 4096];
  if (slot.load(std::memory_order_relaxed) == mark) {
    return true;
  }
  if (page == 0 || !CanRead(page)) {
    return false;
  }
  slot.store(mark, std::memory_order_relaxed);
  return true;
}

bool RangeCanBeRead(std::uintptr_t at, std::size_t size) {
  const std::uintptr_t last = at + size - 1;
  for (std::uintptr_t page = at & ~(kMinPage - 1); size > 0; page += kMinPage) {
    if (last < at || !PageCanBeRead(page)) {
      return false;
    }
    if (last - page < kMinPage) {
      break;
    }
  }
  return true;
}

// False for what is not aligned either: no pointer of the interpreter's is so.
template <class T>
bool Read(std::uintptr_t at, T* value) {
  if (at % sizeof(T) != 0 || !PageCanBeRead(at & ~(kMinPage - 1))) {
    return false;
  }
  memcpy(value, reinterpret_cast<const void*>(at), sizeof *value);
  return true;
}

// A zero for what cannot be read.
template <class T>
T ReadOrZero(std::uintptr_t at) {
  T value{};
  Read(at, &value);
  return value;
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

}  // namespace

const PyLayout* FindPyLayout(std::uint32_t minor) {
  for (const PyLayout& layout : kLayouts) {
    if (layout.minor == minor && sizeof(void*) == 8) {
      return &layout;
    }
  }
  return nullptr;
}

std::uint64_t PyCodeKey::Hash() const {
  return Mix(Mix(Mix(Mix(Mix(7, code), name), file), lines), first_line);
}

std::uint32_t PyReader::Position(std::uintptr_t frame, std::uintptr_t code) const {
  if (layout_->minor >= 11) {
    const auto at = ReadOrZero<std::uintptr_t>(frame + layout_->position);
    const std::uintptr_t begin = code + layout_->instructions;
    return at < begin ? 0 : static_cast<std::uint32_t>(at - begin) + 1;
  }
  const auto last = ReadOrZero<std::int32_t>(frame + layout_->position);
  return last < 0 ? 0 : static_cast<std::uint32_t>(last) * (layout_->minor == 10 ? 2 : 1) + 1;
}

bool PyReader::IsCStack(std::uintptr_t frame) const {
  return layout_->minor >= 12 && ReadOrZero<std::uint8_t>(frame + layout_->owner) == kOwnedByCStack;
}

bool PyReader::IsEntry(std::uintptr_t frame, std::uintptr_t previous) const {
  if (layout_->minor <= 10) {
    return true;
  }
  if (layout_->minor == 11) {
    return ReadOrZero<std::uint8_t>(frame + layout_->entry) != 0;
  }
  return previous == 0 || IsCStack(previous);
}

std::uintptr_t PyReader::Head(std::uintptr_t thread, bool* read) const {
  std::uintptr_t head = 0;
  *read = Read(thread + layout_->head, &head);
  if (layout_->head_indirect >= 0 && head != 0) {
    *read = Read(head + static_cast<std::uintptr_t>(layout_->head_indirect), &head);
  }
  return head;
}

std::uint32_t PyReader::Walk(std::uintptr_t thread, PyFrame* frames, std::uint32_t most,
                             PythonEnd* end) const {
  std::uint32_t count = 0;
  std::uint32_t links = 0;
  bool sound = true;
  for (std::uintptr_t frame = Head(thread, &sound); frame != 0 && sound;) {
    std::uintptr_t previous = 0;
    std::uintptr_t code = 0;
    std::uintptr_t type = 0;
    // Frames that stand for calls from C alternate with others: more than twice as many is a ring.
    sound = Read(frame + layout_->previous, &previous) && links++ < 2 * most + 2;
    if (sound && !IsCStack(frame)) {
      sound =
          Read(frame + layout_->code, &code) && Read(code + kTypeAt, &type) && type == code_type_;
      if (sound && count == most) {
        end->cut = true;
        return count;
      }
      if (sound) {
        frames[count++] = {code, Position(frame, code),
                           IsEntry(frame, previous) ? wire::kPyEntry : 0U};
      }
    }
    frame = previous;
  }
  end->early = !sound;
  return count;
}

std::uint64_t PyReader::ThreadId(std::uintptr_t thread) const {
  return ReadOrZero<std::uint64_t>(thread + layout_->thread_id);
}

PyCodeKey PyReader::Key(std::uintptr_t code) const {
  return {.code = code,
          .name = ReadOrZero<std::uintptr_t>(code + layout_->name),
          .file = ReadOrZero<std::uintptr_t>(code + layout_->file),
          .lines = ReadOrZero<std::uintptr_t>(code + layout_->lines),
          .first_line = ReadOrZero<std::uint32_t>(code + layout_->first_line)};
}

std::size_t PyReader::CopyUnicode(std::uint64_t object, char* to, std::size_t most) const {
  const auto length = ReadOrZero<std::uint64_t>(object + kSizeAt);
  const auto state = ReadOrZero<std::uint32_t>(object + kStateAt);
  const unsigned kind = state >> 2U & 7U;
  const bool compact = (state >> 5U & 1U) != 0;
  const bool ascii = (state >> 6U & 1U) != 0;
  if (!compact || (kind != 1 && kind != 2 && kind != 4)) {
    return 0;
  }
  const std::uintptr_t data = object + (ascii ? layout_->ascii_data : layout_->other_data);
  std::size_t size = 0;
  for (std::size_t i = 0; i < length; ++i) {
    std::uint8_t one = 0;
    std::uint16_t two = 0;
    std::uint32_t point = 0;
    const std::uintptr_t at = data + i * kind;
    if (!(kind == 1 ? Read(at, &one) : kind == 2 ? Read(at, &two) : Read(at, &point))) {
      break;
    }
    const std::size_t put = PutUtf8(point + one + two, to + size, most - size);
    if (put == 0) {
      break;
    }
    size += put;
  }
  return size;
}

std::size_t PyReader::CopyLines(const PyCodeKey& key, char* to, std::size_t most) {
  const auto size = ReadOrZero<std::uint64_t>(key.lines + kSizeAt);
  if (size > most || !RangeCanBeRead(key.lines + kBytesData, size)) {
    return 0;
  }
  memcpy(to, reinterpret_cast<const void*>(key.lines + kBytesData), size);
  return size;
}

}  // namespace memtool::capture
