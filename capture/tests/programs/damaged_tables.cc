// usage: damaged_tables LIBRARY FOLDER FIRST COUNT
//
// Copies of LIBRARY (unwind_shapes) with damaged unwind tables, numbers FIRST to FIRST + COUNT - 1,
// each loaded and called by a child: the same number is the same damage on every run. A child must
// end as one does without any damage. Prints the numbers of those that do not, and exits 1 if there
// are any.
#include <dlfcn.h>
#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "programs/driver.h"

namespace {

constexpr unsigned kSeconds = 20;  // a child that takes longer hangs
int g_calls = 0;

void Allocate() {
  Pointer pointer = 0;
  if (cuMemAlloc_v2(&pointer, 4096) == 0 && cuMemFree_v2(pointer) == 0) {
    ++g_calls;
  }
}

struct Part {
  std::size_t at = 0;
  std::size_t size = 0;
};

template <class T>
T Load(const std::string& bytes, std::size_t at) {
  T value{};
  memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Part FindSection(const std::string& file, std::string_view name) {
  const auto header = Load<Elf64_Ehdr>(file, 0);
  const auto section = [&](std::size_t n) {
    return Load<Elf64_Shdr>(file, header.e_shoff + n * sizeof(Elf64_Shdr));
  };
  const std::size_t names = section(header.e_shstrndx).sh_offset;
  for (std::size_t n = 0; n < header.e_shnum; ++n) {
    if (name == file.data() + names + section(n).sh_name) {
      return {section(n).sh_offset, section(n).sh_size};
    }
  }
  fprintf(stderr, "there is no section %s\n", std::string(name).c_str());
  exit(2);
}

struct Tables {
  Part header;
  Part frames;
  std::vector<Part> common;   // CIEs
  std::vector<Part> entries;  // FDEs
};

Tables FindTables(const std::string& file) {
  Tables tables{FindSection(file, ".eh_frame_hdr"), FindSection(file, ".eh_frame"), {}, {}};
  for (std::size_t at = tables.frames.at; at + 8 <= tables.frames.at + tables.frames.size;) {
    const std::size_t size = Load<std::uint32_t>(file, at) + std::size_t{4};
    if (size > 4) {
      (Load<std::uint32_t>(file, at + 4) == 0 ? tables.common : tables.entries)
          .push_back({at, size});
    }
    at += size;
  }
  return tables;
}

class Damage {
 public:
  Damage(const Tables& tables, unsigned number) : tables_(tables), random_(number) {}

  std::string Of(std::string file) {
    for (unsigned changes = 1 + Below(4); changes > 0; --changes) {
      Change(file);
    }
    return file;
  }

 private:
  unsigned Below(std::size_t most) { return static_cast<unsigned>(random_() % most); }
  const Part& Any(const std::vector<Part>& parts) { return parts[Below(parts.size())]; }

  std::uint32_t Number() {
    constexpr std::array<std::uint32_t, 12> kNumbers = {
        0,        1,          4,          12,         0xff,       0x1000,
        0x100000, 0x7fffffff, 0x80000000, 0xfffff000, 0xfffffffe, 0xffffffff};
    switch (Below(3)) {
      case 0:
        return static_cast<std::uint32_t>(random_());
      case 1:
        return Below(65536);
      default:
        return kNumbers[Below(kNumbers.size())];
    }
  }
  unsigned char Byte() {
    // Ends and endless LEB128s, encodings of pointers, letters of augmentations, instructions.
    constexpr std::array<unsigned char, 24> kBytes = {
        0,    1,    0x7f, 0x80, 0xff, 0x1b, 0x9b, 0x50, 'z',  'R',  'S',  'e',
        0x01, 0x04, 0x07, 0x09, 0x0a, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x12, 0x16};
    return Below(2) == 0 ? static_cast<unsigned char>(random_()) : kBytes[Below(kBytes.size())];
  }
  void PutNumber(std::string& file, std::size_t at) {
    const std::uint32_t number = Number();
    memcpy(file.data() + at, &number, sizeof number);
  }
  void PutBytes(std::string& file, std::size_t at, std::size_t end, std::size_t most) {
    for (std::size_t count = 1 + Below(most); count > 0 && at < end; --count) {
      file[at++] = static_cast<char>(Byte());
    }
  }
  void PutRun(std::string& file, std::size_t at, std::size_t end) {
    const unsigned char byte = Byte();
    for (std::size_t count = 1 + Below(32); count > 0 && at < end; --count) {
      file[at++] = static_cast<char>(byte);
    }
  }

  void FlipBit(char& byte) {
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << Below(8)));
  }

  void Change(std::string& file) {
    constexpr std::size_t kProgramAt = 17;  // in an FDE with an empty augmentation
    const Part& all = tables_.frames;
    const Part& cie = Any(tables_.common);
    const Part& fde = Any(tables_.entries);
    switch (Below(10)) {
      case 0:
        FlipBit(file[all.at + Below(all.size)]);
        break;
      case 1:
        PutBytes(file, all.at + Below(all.size), all.at + all.size, 16);
        break;
      case 2:
        PutRun(file, all.at + Below(all.size), all.at + all.size);
        break;
      case 3:  // lengths, and offsets to the CIE
        PutNumber(file, fde.at + (Below(2) == 0 ? 0 : 4));
        break;
      case 4:
        PutNumber(file, cie.at + (Below(2) == 0 ? 0 : 4));
        break;
      case 5:
        PutBytes(file, cie.at + 8 + Below(cie.size - 8), cie.at + cie.size, 3);
        break;
      case 6:  // where the function begins, and its size
        PutNumber(file, fde.at + (Below(2) == 0 ? 8 : 12));
        break;
      case 7:
        PutBytes(file, fde.at + kProgramAt, fde.at + fde.size, 8);
        break;
      case 8:
        PutBytes(file, tables_.header.at + Below(12), tables_.header.at + 12, 4);
        break;
      default:
        PutNumber(file,
                  tables_.header.at + 12 + std::size_t{4} * Below((tables_.header.size - 12) / 4));
    }
  }

  const Tables& tables_;
  std::mt19937 random_;
};

// How a child ends that calls the library: with the number of its calls that came back.
int StatusOf(const std::string& path, const std::string& bytes) {
  remove(path.c_str());
  std::ofstream(path, std::ios::binary) << bytes;
  const pid_t child = fork();
  if (child == 0) {
    alarm(kSeconds);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto call = reinterpret_cast<void (*)(void (*)())>(
        library == nullptr ? nullptr : dlsym(library, "CallFromEveryShape"));
    if (call == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      _exit(101);
    }
    call(Allocate);
    _exit(g_calls);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    return 2;
  }
  std::ifstream stream(argv[1], std::ios::binary);
  const std::string file(std::istreambuf_iterator<char>(stream), {});
  const Tables tables = FindTables(file);
  const std::string path = std::string(argv[2]) + "/damaged.so";
  void* context = nullptr;
  cuInit(0);
  cuCtxCreate_v2(&context, 0, 0);
  Allocate();
  const int whole = StatusOf(path, file);
  if (!WIFEXITED(whole) || WEXITSTATUS(whole) < 2) {
    fprintf(stderr, "the undamaged library: status %d\n", whole);
    return 2;
  }
  const unsigned first = strtoul(argv[3], nullptr, 10);
  const unsigned count = strtoul(argv[4], nullptr, 10);
  unsigned harmed = 0;
  for (unsigned number = first; number < first + count; ++number) {
    const int status = StatusOf(path, Damage(tables, number).Of(file));
    if (status != whole) {
      printf("%u: status %d\n", number, status);
      ++harmed;
    }
  }
  printf("%u of %u harmed\n", harmed, count);
  return harmed == 0 ? 0 : 1;
}
