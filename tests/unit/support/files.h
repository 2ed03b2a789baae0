// Test data and bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/formats/open.h"
#include "memtool/formats/source.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool::test {

using Bytes = std::vector<std::byte>;

Bytes ToBytes(std::string_view text);
std::string_view AsView(std::span<const std::byte> bytes);
// A file below testdata/; throws when it is not there.
Bytes TestFile(const std::string& name);
std::filesystem::path TestFolder(const std::string& name);
Bytes ReadFile(const std::filesystem::path& path);
// `name` in the first folder of MEMTOOL_REFERENCE_DATA that has it. Real files are not part of the
// project: a test without them is skipped.
std::optional<std::filesystem::path> ReferenceFolder(const std::string& name = "");

// Whole inputs from memory, through unpacking and sniffing.
Result<Recording> LoadBytes(std::span<const std::byte> bytes,
                            const formats::OpenOptions& options = {});

// Everything that a source yields, in reads of `step` bytes.
Result<Bytes> Drain(formats::Source& source, std::size_t step = 65536);

// A source that yields at most `step` bytes per read, as pipes do.
std::unique_ptr<formats::Source> Trickle(std::span<const std::byte> bytes, std::size_t step);

}  // namespace memtool::test
