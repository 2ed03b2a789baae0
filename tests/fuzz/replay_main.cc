// usage: replay TARGET [--mutations=N] FILE...
// Runs a fuzz target over files, without a fuzzer: the corpus as an ordinary test. With
// --mutations=N, also over N changed copies of each file, the same ones on every run. An archive
// (.tar.gz) stands for the files in it, which are not changed.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "memtool/formats/source.h"
#include "targets.h"

namespace {

std::string_view target;  // NOLINT: set once by main

void Run(const std::string& bytes) {
  memtool::fuzz::RunTarget(target, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                           bytes.size());
}

// A few bytes changed, doubled or left out, or the end cut off.
std::string Mutated(std::string bytes, std::mt19937& random) {
  const auto place = [&] { return bytes.empty() ? 0 : random() % bytes.size(); };
  for (auto changes = 1 + random() % 4; changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = place();
    const std::size_t length = std::min<std::size_t>(1 + random() % 16, bytes.size() - at);
    switch (random() % 6) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(at, bytes.substr(place(), length));
        break;
      case 3:
        bytes[at] = static_cast<char>(random());
        break;
      case 4:
        bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << random() % 8));
        break;
      default:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length,
                    random() % 2 == 0 ? '\xff' : '9');
        break;
    }
  }
  return bytes;
}

bool RunFile(const std::string& name, unsigned mutations) {
  std::ifstream file(name, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot open %s\n", name.c_str());
    return false;
  }
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::printf("%s\n", name.c_str());
  std::fflush(stdout);  // so that a crash names its file
  Run(bytes);
  std::mt19937 random(static_cast<unsigned>(bytes.size()));
  for (unsigned n = 0; n < mutations; ++n) {
    const std::string changed = Mutated(bytes, random);
    // What crashes is left behind to look at.
    std::ofstream(std::string(target) + ".mutated", std::ios::binary | std::ios::trunc) << changed;
    Run(changed);
  }
  return true;
}

// All bytes of a packed file; empty when it cannot be read.
std::string Unpacked(const std::string& name) {
  std::string bytes;
  std::string packing;
  auto file = memtool::formats::OpenFile(name);
  auto source = file ? memtool::formats::Unpack(*std::move(file), {}, &packing) : std::move(file);
  std::array<std::byte, 65536> buffer{};
  while (source) {
    const auto size = (*source)->Read(buffer);
    if (!size || *size == 0) {
      break;
    }
    bytes.append(reinterpret_cast<const char*>(buffer.data()), *size);
  }
  return bytes;
}

// The plain files of a tar archive: blocks of 512 bytes, a header before each file's bytes.
bool RunArchive(const std::string& name, int& files) {
  constexpr std::size_t kBlock = 512;
  constexpr std::size_t kSizeAt = 124;
  constexpr std::size_t kSizeDigits = 11;
  constexpr std::size_t kTypeAt = 156;
  const std::string archive = Unpacked(name);
  int found = 0;
  for (std::size_t at = 0; at + kBlock <= archive.size() && archive[at] != '\0';) {
    const char* digits = archive.data() + at + kSizeAt;
    std::size_t size = 0;
    std::from_chars(digits, digits + kSizeDigits, size, 8);
    const bool plain = archive[at + kTypeAt] == '0';
    const std::string member = archive.c_str() + at;
    at += kBlock;
    if (plain && size <= archive.size() - at) {
      std::printf("%s: %s\n", name.c_str(), member.c_str());
      std::fflush(stdout);
      Run(archive.substr(at, size));
      ++found;
    }
    at += (size + kBlock - 1) / kBlock * kBlock;
  }
  files += found;
  return found > 0;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kMutations = "--mutations=";
  unsigned mutations = 0;
  int files = 0;
  if (argc < 2) {
    std::fputs("usage: replay TARGET [--mutations=N] FILE...\n", stderr);
    return 2;
  }
  target = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with(kMutations)) {
      std::from_chars(word.data() + kMutations.size(), word.data() + word.size(), mutations);
    } else if (word.ends_with(".tar.gz")) {
      if (!RunArchive(argv[i], files)) {
        std::fprintf(stderr, "no files in %s\n", argv[i]);
        return 1;
      }
    } else if (RunFile(argv[i], mutations)) {
      ++files;
    } else {
      return 1;
    }
  }
  std::printf("%d files, %u mutations of each\n", files, mutations);
  return files > 0 ? 0 : 1;
}
