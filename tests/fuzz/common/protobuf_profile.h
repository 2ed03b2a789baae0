// A pprof profile as libprotobuf reads it: the other opinion on our reader.
//
// On purpose, our reader refuses what libprotobuf lets pass and no writer of profiles writes:
// ids that are 0 or defined twice, references and string indices to nothing, a first string that is
// not empty, no strings at all, samples whose values are not as many as the types (or that name no
// type), a time twice (two profiles end to end), and known fields of another wire type (libprotobuf
// keeps these as unknown). It joins nothing: of two period_types the last counts.
// libprotobuf refuses, and ours reads: field numbers of unknown fields beyond 2^29, tags that are
// longer than 5 bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace memtool::fuzz {

struct ProtobufProfile {
  std::optional<std::string> text;  // SamplesText() of what was read; none when it is refused
  bool stricter = false;            // it holds something that our reader refuses
  bool looser = false;              // it holds something that only our reader reads
};

ProtobufProfile ReadByProtobuf(std::span<const std::byte> bytes);

}  // namespace memtool::fuzz
