#include "support/files.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace memtool::test {

namespace {

class TrickleSource final : public formats::Source {
 public:
  TrickleSource(std::span<const std::byte> bytes, std::size_t step) : bytes_(bytes), step_(step) {}
  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    const std::size_t size = std::min({buffer.size(), bytes_.size(), step_});
    std::copy_n(bytes_.begin(), size, buffer.begin());
    bytes_ = bytes_.subspan(size);
    return size;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t step_;
};

}  // namespace

Bytes ToBytes(std::string_view text) {
  Bytes bytes(text.size());
  if (!text.empty()) {
    std::memcpy(bytes.data(), text.data(), text.size());
  }
  return bytes;
}

std::string_view AsView(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("cannot open " + path.string());
  }
  return ToBytes(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::filesystem::path TestFolder(const std::string& name) {
  return std::filesystem::path(MEMTOOL_TESTDATA) / name;
}

namespace {

// A folder that is there and empty, or that holds only such folders, has nothing to compare with.
bool HoldsFiles(const std::filesystem::path& folder) {
  std::error_code missing;
  const std::filesystem::recursive_directory_iterator entries(folder, missing);
  return std::any_of(begin(entries), end(entries),
                     [](const auto& entry) { return entry.is_regular_file(); });
}

}  // namespace

std::optional<std::filesystem::path> ReferenceFolder(const std::string& name) {
  const char* folders = std::getenv("MEMTOOL_REFERENCE_DATA");
  std::istringstream list(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!folder.empty() && HoldsFiles(std::filesystem::path(folder) / name)) {
      return std::filesystem::path(folder) / name;
    }
  }
  return std::nullopt;
}

Bytes TestFile(const std::string& name) {
  return ReadFile(TestFolder(name));
}

Result<Recording> LoadBytes(std::span<const std::byte> bytes, const formats::OpenOptions& options) {
  return formats::OpenRecording(formats::MakeMemorySource(bytes), "test", options);
}

Result<Bytes> Drain(formats::Source& source, std::size_t step) {
  Bytes all;
  Bytes buffer(step);
  while (true) {
    auto got = source.Read(buffer);
    if (!got) {
      return Fail(std::move(got.error()));
    }
    if (*got == 0) {
      return all;
    }
    all.insert(all.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*got));
  }
}

std::unique_ptr<formats::Source> Trickle(std::span<const std::byte> bytes, std::size_t step) {
  return std::make_unique<TrickleSource>(bytes, step);
}

}  // namespace memtool::test
