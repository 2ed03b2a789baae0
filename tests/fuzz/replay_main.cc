// Runs a fuzz target over files, without a fuzzer: the corpus as an ordinary test. With
// --mutations=N, also over N changed copies of each file, the same ones on every run.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void Run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
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
        bytes[at] = static_cast<char>(bytes[at] ^ (1U << random() % 8));
        break;
      default:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length,
                    random() % 2 == 0 ? '\xff' : '9');
        break;
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kMutations = "--mutations=";
  unsigned mutations = 0;
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with(kMutations)) {
      std::from_chars(word.data() + kMutations.size(), word.data() + word.size(), mutations);
      continue;
    }
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot open %s\n", argv[i]);
      return 1;
    }
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    std::printf("%s\n", argv[i]);
    std::fflush(stdout);  // so that a crash names its file
    Run(bytes);
    std::mt19937 random(static_cast<unsigned>(bytes.size()));
    for (unsigned n = 0; n < mutations; ++n) {
      const std::string changed = Mutated(bytes, random);
      // What crashes is left behind to look at.
      std::ofstream("mutated.input", std::ios::binary | std::ios::trunc) << changed;
      Run(changed);
    }
    ++files;
  }
  std::printf("%d files, %u mutations of each\n", files, mutations);
  return files > 0 ? 0 : 1;
}
