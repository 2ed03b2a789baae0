// The fuzz targets by name. Each takes the bytes of one input, aborts when something does not hold,
// and returns 0. `replay NAME` runs one over files; `fuzz` is libFuzzer's program for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memtool::fuzz {

int FuzzCaptureBooks(const std::uint8_t* data, std::size_t size);
int FuzzCaptureCfi(const std::uint8_t* data, std::size_t size);
int FuzzCaptureElf(const std::uint8_t* data, std::size_t size);
int FuzzCaptureLog(const std::uint8_t* data, std::size_t size);
int FuzzCapturePython(const std::uint8_t* data, std::size_t size);
int FuzzCommands(const std::uint8_t* data, std::size_t size);
int FuzzHistory(const std::uint8_t* data, std::size_t size);
int FuzzMemtoolFile(const std::uint8_t* data, std::size_t size);
int FuzzOom(const std::uint8_t* data, std::size_t size);
int FuzzPipeline(const std::uint8_t* data, std::size_t size);
int FuzzPprof(const std::uint8_t* data, std::size_t size);
int FuzzReader(std::string_view reader, const std::uint8_t* data, std::size_t size);
int FuzzSnapshot(const std::uint8_t* data, std::size_t size);
int FuzzWords(const std::uint8_t* data, std::size_t size);
int FuzzWriters(const std::uint8_t* data, std::size_t size);

// Runs the target of this name; a name without one of its own is a reader's, for FuzzReader().
int RunTarget(std::string_view name, const std::uint8_t* data, std::size_t size);

}  // namespace memtool::fuzz
