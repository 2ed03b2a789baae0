// A digest: what answers about many inputs need to know of one. Every figure is exact and an
// integer, so that a report from digests is the report from their files; some 10 KB, where the file
// has megabytes. formats/digest writes and reads it as a line of JSON (memtool-formats(5)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

inline constexpr std::size_t kMaxDigestRows = 512;
inline constexpr std::size_t kMaxDigestBins = 256;
inline constexpr std::size_t kMaxDigestOoms = 16;
inline constexpr std::size_t kMaxDigestDevices = 64;

// A row as `top` has it, by function and file; bytes that are live.
struct DigestRow {
  std::string name;
  std::string file;
  std::int64_t peak = 0;  // when the device with the highest peak is at it
  std::int64_t end = 0;   // of all devices
  friend bool operator==(const DigestRow&, const DigestRow&) = default;
};

// One device of a history. Times are ns since the epoch or an unknown beginning
// (Digest::since_epoch), kNoTime where the input has none; events count within the device's trace.
struct DigestDevice {
  std::string name;
  std::int32_t device = -1;
  std::optional<std::int64_t> capacity;
  std::uint64_t events = 0;
  bool overflowed = false;
  std::int64_t begin = kNoTime;
  std::int64_t last = kNoTime;
  std::int64_t base = 0;  // live before the recording
  std::int64_t peak = 0;
  std::int64_t peak_event = -1;
  std::int64_t peak_time = kNoTime;
  std::int64_t end = 0;
  std::int64_t reserved_peak = 0;
  std::int64_t reserved_end = 0;
  friend bool operator==(const DigestDevice&, const DigestDevice&) = default;
};

struct DigestOom {
  std::int32_t device = -1;
  std::int64_t event = -1;
  std::int64_t time = kNoTime;
  std::int64_t requested_bytes = 0;
  std::optional<std::int64_t> free;  // as the driver said
  std::int64_t live = 0;
  std::int64_t reserved = 0;
  friend bool operator==(const DigestOom&, const DigestOom&) = default;
};

// The highest live and reserved bytes of the device with the highest peak, per bin of time. A bin
// is 2^shift ns long and begins at a multiple of that, so that grids of different files line up and
// a coarser one is the maximum of a finer one's bins. Empty where times are not reported.
struct DigestGrid {
  std::int64_t first = 0;  // bin of the first value: time >> shift
  unsigned shift = 0;
  std::vector<std::int64_t> live;
  std::vector<std::int64_t> reserved;
  friend bool operator==(const DigestGrid&, const DigestGrid&) = default;
};

struct Digest {
  std::string path;  // as the user gave it
  std::string hash;  // of the file's bytes: 32 hexadecimal digits (XXH3, 128 bits), or empty
  std::uint64_t bytes = 0;
  std::string format;
  std::string display;  // the format for people
  // Identity of the writing process, as recorded in the file.
  std::string host;
  std::optional<std::int64_t> process;
  std::string rank;          // "3", "3 of 8"
  bool since_epoch = false;  // times are, and not since an unknown beginning
  // What kept the file from being read, or nothing; then all below is empty.
  std::string problem;
  std::vector<DigestDevice> devices;  // those with any bytes or events
  // Row of `devices` with the highest peak; of equals the first. None where an input has no
  // history: then peak and end are the same.
  std::optional<std::size_t> fullest;
  std::int64_t peak = 0;  // of the fullest device; of an input without a history, its sum
  std::int64_t end = 0;   // of all devices
  // By max(peak, end), largest first; ties by name.
  std::vector<DigestRow> rows;
  // Beyond kMaxDigestRows: how many, what they hold, and the most that one of them holds.
  std::uint64_t cut_rows = 0;
  std::int64_t cut_peak = 0;
  std::int64_t cut_end = 0;
  std::int64_t cut_largest = 0;
  std::vector<DigestOom> ooms;  // by time, then event; the first kMaxDigestOoms
  DigestGrid grid;
  std::vector<std::pair<std::string, std::string>> settings;       // by name
  std::vector<std::pair<std::string, std::uint64_t>> diagnostics;  // code → count, by code
  friend bool operator==(const Digest&, const Digest&) = default;
};

// What stands beside an input: where it is and which bytes it has.
struct DigestedFile {
  std::string path;
  std::string hash;
  std::uint64_t bytes = 0;
};

// All texts become UTF-8. Errors: kUnsupported where a recording has neither a history nor samples
// in bytes.
Result<Digest> MakeDigest(const std::shared_ptr<const Recording>& recording, DigestedFile file);
// Of a file that could not be read.
Digest DigestOfProblem(DigestedFile file, std::string_view problem);

}  // namespace memtool
