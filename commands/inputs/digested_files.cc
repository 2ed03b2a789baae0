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

bool IsBelow(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// The path, below `folder`, that a digest's path leads to, or why there is none.
Result<std::string> FindBelow(const fs::path& folder, const fs::path& named) {
  std::error_code error;
  const fs::path top = fs::canonical(folder.empty() ? "." : folder, error);
  if (error) {
    return Fail(ErrorCode::kIo,
                fmt::format("cannot be looked for in '{}': {}", folder.string(), error.message()));
  }
  bool outside = false;
  bool link = false;
  // As the path was given when it was indexed, and from the folder; `/` drops what is before an
  // absolute path.
  for (const fs::path& path : {named, folder / named}) {
    const fs::path real = fs::canonical(path, error);
    if (error) {
      continue;
    }
    if (IsBelow(real, top)) {
      return path.string();
    }
    outside = true;
    link = link || IsBelow(fs::absolute(path).lexically_normal(), top);
  }
  if (!outside) {
    return Fail(ErrorCode::kIo, "is not there");
  }
  return Fail(
      ErrorCode::kIo,
      fmt::format(fmt::runtime(link ? "is behind a symbolic link that leads out of '{}'"
                                    : "is not below '{}'"),
                  top.string()),
      "--root DIR names the folder that holds the files; memtool ranks answers from digests "
      "alone");
}

// A device or a pipe has no end, and its reading may act: nothing is read before all else fits.
Result<void> CheckBytes(const Digest& digest, const fs::path& file, const formats::Limits& limits) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) {
    return Fail(ErrorCode::kIo, "is no regular file");
  }
  if (fs::file_size(file, error) == digest.bytes && !error) {
    const auto hash = formats::HashFile(file.string(), limits);
    MEMTOOL_TRY(hash);
    if (hash->hex == digest.hash) {
      return {};
    }
  }
  return Fail(ErrorCode::kIo, "has other bytes now");
}

Result<std::string> FindFile(const Digest& digest, const std::string& digests,
                             const DigestedFiles& files) {
  if (digest.hash.empty()) {
    return Fail(ErrorCode::kIo, "has no hash to be known by" +
                                    (digest.problem.empty() ? "" : ": " + digest.problem));
  }
  auto file = FindBelow(files.root.empty() ? fs::path(digests).parent_path() : fs::path(files.root),
                        digest.path);
  MEMTOOL_TRY(file);
  MEMTOOL_TRY(CheckBytes(digest, *file, files.limits));
  return file;
}

}  // namespace

Result<std::string> FileOfDigest(const Digest& digest, const std::string& digests,
                                 const DigestedFiles& files) {
  auto file = FindFile(digest, digests, files);
  if (!file) {
    Error error = std::move(file.error());
    error.input = digests;
    error.message =
        fmt::format("its digest of '{}' stands for a file that {}", digest.path, error.message);
    error.hint = error.hint.empty() ? "memtool ranks answers from digests alone" : error.hint;
    return Fail(std::move(error));
  }
  return file;
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
                                                 const DigestedFiles& files, Streams& streams) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    if (formats::GetStream(name) || !formats::HoldsDigests(name)) {
      all.push_back(name);
      continue;
    }
    const auto digests = DigestsIn(name, files.limits);
    MEMTOOL_TRY(digests);
    for (const Digest& digest : *digests) {
      auto file = FileOfDigest(digest, name, files);
      if (!file && files.keep_going) {
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
