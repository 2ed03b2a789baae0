#include "inputs/digested_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "memtool/formats/digest.h"
#include "memtool/formats/open.h"
#include "memtool/profile/base/natural_order.h"

namespace memtool::commands {

namespace {

namespace fs = std::filesystem;

std::optional<std::string> Found(const std::string& path, const std::string& digests) {
  std::error_code error;
  if (fs::exists(path, error)) {
    return path;
  }
  const fs::path beside = fs::path(digests).parent_path() / path;
  if (fs::path(path).is_relative() && fs::exists(beside, error)) {
    return beside.string();
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> FileOfDigest(const Digest& digest, const std::string& digests) {
  const auto fail = [&](std::string message) {
    return Fail({.code = ErrorCode::kIo,
                 .input = digests,
                 .message = fmt::format("its digest of '{}' stands for a file that {}", digest.path,
                                        message),
                 .hint = "memtool ranks answers from digests alone"});
  };
  auto path = Found(digest.path, digests);
  if (!path) {
    return fail("is not there");
  }
  // A device or a pipe has no end, and its reading may act. Nothing is read before the size fits.
  std::error_code error;
  if (!fs::is_regular_file(*path, error)) {
    return fail("is no regular file");
  }
  if (digest.hash.empty()) {
    return *std::move(path);
  }
  if (fs::file_size(*path, error) != digest.bytes || error) {
    return fail("has other bytes now");
  }
  const auto hash = formats::HashFile(*path);
  MEMTOOL_TRY(hash);
  if (hash->hex != digest.hash) {
    return fail("has other bytes now");
  }
  return *std::move(path);
}

namespace {

Result<std::vector<Digest>> DigestsIn(const std::string& name, const formats::Limits& limits) {
  formats::OpenOptions options;
  options.limits = limits;
  options.accepted = {.recordings = false, .digests = true};
  auto document = formats::Open(name, options);
  MEMTOOL_TRY(document);
  std::vector<Digest> digests = (*std::move(document)).digests();
  std::stable_sort(digests.begin(), digests.end(), [](const Digest& a, const Digest& b) {
    return a.path != b.path ? NaturalLess(a.path, b.path) : a.hash < b.hash;
  });
  digests.erase(std::unique(digests.begin(), digests.end(),
                            [](const Digest& a, const Digest& b) {
                              return a.path == b.path && a.hash == b.hash;
                            }),
                digests.end());
  return digests;
}

}  // namespace

Result<std::vector<std::string>> WithDigestsRead(const std::vector<std::string>& names,
                                                 const formats::Limits& limits, bool keep_going,
                                                 Streams& streams) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    if (formats::GetStream(name) || !formats::HoldsDigests(name)) {
      all.push_back(name);
      continue;
    }
    const auto digests = DigestsIn(name, limits);
    MEMTOOL_TRY(digests);
    for (const Digest& digest : *digests) {
      auto file = FileOfDigest(digest, name);
      if (!file && keep_going) {
        Warn(streams, ToString(file.error()) + "; left out");
        continue;
      }
      MEMTOOL_TRY(file);
      all.push_back(*std::move(file));
    }
  }
  if (all.empty() && !names.empty()) {
    return Fail(ErrorCode::kIo, "none of the files that the digests stand for is there",
                "memtool ranks answers from digests alone");
  }
  return all;
}

}  // namespace memtool::commands
