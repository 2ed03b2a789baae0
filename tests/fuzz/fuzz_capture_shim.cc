// What the capture shim reads of strangers: unwind tables, the dynamic sections of ELF objects, and
// the frames of a Python interpreter. Nothing outside of an object's segments is read (under ASan),
// and what is found has the size that was asked for.
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "objects/elf_image.h"
#include "objects/object_table.h"
#include "stacks/cfi.h"
#include "stacks/python_frames.h"
#include "targets.h"

namespace {

using namespace memtool::capture;  // NOLINT(google-build-using-namespace)

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// The same answer twice, whatever it is.
void AskForRules(const Object& object, std::uintptr_t begin, std::uintptr_t end,
                 std::uintptr_t step) {
  for (std::uintptr_t address = begin; address < end; address += step) {
    const FrameRule first = FindRule(object, address);
    const FrameRule again = FindRule(object, address);
    Require(std::memcmp(&first, &again, sizeof first) == 0);
  }
}

// As a linker loads it, but for what does not fit: at most 1 MiB in one piece of memory, which ends
// where the last segment ends.
class Image {
 public:
  Image(const std::uint8_t* data, std::size_t size) {
    Elf64_Ehdr header{};
    std::memcpy(&header, data, std::min(size, sizeof header));
    std::size_t end = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(header.e_phnum, kMaxSegments); ++i) {
      Elf64_Phdr segment{};
      const std::size_t at = sizeof header + i * sizeof segment;
      if (at + sizeof segment > size) {
        break;
      }
      std::memcpy(&segment, data + at, sizeof segment);
      if (segment.p_type == PT_LOAD) {
        segment.p_vaddr %= kMaxBytes;
        segment.p_memsz = std::min(segment.p_memsz, kMaxBytes - segment.p_vaddr);
        end = std::max(end, segment.p_vaddr + segment.p_memsz);
      }
      segments_.push_back(segment);
    }
    bytes_ = std::make_unique<std::uint8_t[]>(end);
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == PT_LOAD && segment.p_offset < size) {
        std::memcpy(bytes_.get() + segment.p_vaddr, data + segment.p_offset,
                    std::min({segment.p_memsz, segment.p_filesz, size - segment.p_offset}));
      }
    }
    info_.dlpi_addr = reinterpret_cast<std::uintptr_t>(bytes_.get());
    info_.dlpi_name = "image";
    info_.dlpi_phdr = segments_.data();
    info_.dlpi_phnum = static_cast<Elf64_Half>(segments_.size());
  }

  [[nodiscard]] const dl_phdr_info& info() const { return info_; }

 private:
  static constexpr std::size_t kMaxSegments = 16;
  static constexpr std::uint64_t kMaxBytes = 1U << 20U;

  std::vector<Elf64_Phdr> segments_;
  std::unique_ptr<std::uint8_t[]> bytes_;
  dl_phdr_info info_{};
};

constexpr std::uintptr_t kArena = 0x10000000;  // inputs hold addresses
constexpr std::size_t kArenaBytes = 65536;

std::uint8_t* Arena() {
  // NOLINTNEXTLINE(performance-no-int-to-ptr, cppcoreguidelines-avoid-non-const-global-variables)
  static void* const arena =
      mmap(reinterpret_cast<void*>(kArena), kArenaBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  Require(reinterpret_cast<std::uintptr_t>(arena) == kArena);
  return static_cast<std::uint8_t*>(arena);
}

}  // namespace

// The entries of .eh_frame, behind a table whose one row is for all addresses; the first two bytes
// say where its entry is.
int memtool::fuzz::FuzzCaptureCfi(const std::uint8_t* data, std::size_t size) {
  struct Header {
    std::array<std::uint8_t, 4> encodings{1, 0x1b, 0x03, 0x3b};
    std::int32_t frames = 0;
    std::uint32_t count = 1;
    std::int32_t start = 0;
    std::int32_t entry = sizeof(Header);
  };
  if (size < 2) {
    return 0;
  }
  Header header;
  header.entry += data[0] | data[1] << 8;
  std::vector<std::uint8_t> bytes(sizeof header + size - 2);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::copy(data + 2, data + size, bytes.begin() + sizeof header);
  Object object;
  object.eh_frame_hdr = reinterpret_cast<std::uintptr_t>(bytes.data());
  object.tables = {object.eh_frame_hdr, object.eh_frame_hdr + bytes.size()};
  AskForRules(object, object.eh_frame_hdr, object.tables.end, 7);
  return 0;
}

int memtool::fuzz::FuzzCaptureElf(const std::uint8_t* data, std::size_t size) {
  const Image image(data, size);
  const dl_phdr_info& info = image.info();
  for (const char* name : {"cuMemAlloc_v2", "entry", "", "cuInit"}) {
    (void)FindSymbol(info, name);
  }
  const BuildId id = FindBuildId(info);
  std::string copy(reinterpret_cast<const char*>(id.bytes), id.size);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) {
      Object object;
      object.eh_frame_hdr = info.dlpi_addr + info.dlpi_phdr[i].p_vaddr;
      object.tables = FindSegment(info, object.eh_frame_hdr);
      constexpr std::uintptr_t kAround = 8192;
      AskForRules(object, object.eh_frame_hdr - kAround, object.eh_frame_hdr + kAround, 41);
    }
  }
  return 0;
}

// A byte that chooses the version, then memory at kArena: a thread state, and what it points at.
int memtool::fuzz::FuzzCapturePython(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  std::uint8_t* arena = Arena();
  std::fill_n(arena, kArenaBytes, std::uint8_t{0});
  std::copy_n(data + 1, std::min(size - 1, kArenaBytes), arena);
  // A sanitizer has memory of its own that can be read, and must not be: no address leads there.
  for (std::size_t at = 0; at < kArenaBytes; at += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, arena + at, sizeof word);
    if (word >= 2 * kArena && word >> 47U == 0) {
      word |= std::uintptr_t{1} << 62U;
      std::memcpy(arena + at, &word, sizeof word);
    }
  }
  const PyLayout* layout = FindPyLayout(9U + data[0] % 5U);
  const PyReader reader(*layout, kArena + 0x200);
  constexpr std::uint32_t kMost = 16;
  std::array<PyFrame, kMost> frames{};
  PythonEnd end;
  const std::uint32_t count = reader.Walk(kArena, frames.data(), kMost, &end);
  Require(count <= kMost && !(end.cut && end.early));
  for (std::uint32_t i = 0; i < count; ++i) {
    const PyCodeKey key = reader.Key(frames.at(i).code);
    std::array<char, 100> text{};
    Require(reader.CopyUnicode(key.name, text.data(), text.size()) <= text.size());
    Require(reader.CopyUnicode(key.file, text.data(), text.size()) <= text.size());
    Require(PyReader::CopyLines(key, text.data(), text.size()) <= text.size());
  }
  (void)reader.ThreadId(kArena);
  return 0;
}
