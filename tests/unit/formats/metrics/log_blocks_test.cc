#include "metrics/log_blocks.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/source.h"
#include "support/byte_cursor.h"

namespace memtool::formats::metrics {
namespace {

const std::string kBegin(":W&B\xe1\xbe\x00", 7);

std::string Piece(int type, const std::string& data) {
  const std::string summed = static_cast<char>(type) + data;
  const auto crc =
      crc32(0, reinterpret_cast<const Bytef*>(summed.data()), static_cast<uInt>(summed.size()));
  std::string piece;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    piece += static_cast<char>(crc >> shift & 0xffU);
  }
  piece += static_cast<char>(data.size() & 0xffU);
  piece += static_cast<char>(data.size() >> 8U);
  return piece + summed;
}

// The records of a file, and the codes of what was lost.
std::pair<std::vector<std::string>, std::vector<std::string>> Read(const std::string& bytes,
                                                                   Limits limits = {}) {
  ByteWindow window(MakeMemorySource(std::as_bytes(std::span(bytes.data(), bytes.size()))));
  LogBlocks blocks(window, limits);
  std::pair<std::vector<std::string>, std::vector<std::string>> read;
  while (const auto record = blocks.Next()) {
    read.first.emplace_back(AsText(*record));
  }
  Recording recording;
  blocks.AddDiagnostics(recording);
  for (const Diagnostic& diagnostic : recording.diagnostics) {
    read.second.push_back(diagnostic.code);
  }
  return read;
}

using Texts = std::vector<std::string>;

TEST(LogBlocks, RecordsAreWholeOrJoined) {
  const auto [records, lost] =
      Read(kBegin + Piece(1, "one") + Piece(2, "be") + Piece(3, "gin") + Piece(4, "ning"));
  EXPECT_EQ(records, (Texts{"one", "beginning"}));
  EXPECT_EQ(lost, Texts{});
}

TEST(LogBlocks, ABlockEndsWithZeros) {
  // 7 of the file, 7 of the piece and its bytes leave 5 of the block.
  const std::string filler(32768 - 7 - 7 - 5, 'x');
  const auto [records, lost] =
      Read(kBegin + Piece(1, filler) + std::string(5, '\0') + Piece(1, "b"));
  EXPECT_EQ(records, (Texts{filler, "b"}));
  EXPECT_EQ(lost, Texts{});
}

TEST(LogBlocks, WhatIsDamagedIsLeftOutUpToTheNextBlock) {
  std::string damaged = kBegin + Piece(1, "a") + Piece(1, "bad") + Piece(1, "behind");
  damaged[7 + 8 + 7] ^= 1;
  damaged.resize(32768, '\0');
  const auto [records, lost] = Read(damaged + Piece(1, "next"));
  EXPECT_EQ(records, (Texts{"a", "next"}));
  EXPECT_EQ(lost, Texts{"damaged_block"});
}

TEST(LogBlocks, PiecesWithoutTheirOthersAreLost) {
  EXPECT_EQ(Read(kBegin + Piece(2, "a") + Piece(1, "b")),
            std::pair(Texts{"b"}, Texts{"lost_record"}));
  EXPECT_EQ(Read(kBegin + Piece(4, "a") + Piece(1, "b")),
            std::pair(Texts{"b"}, Texts{"lost_record"}));
  EXPECT_EQ(Read(kBegin + Piece(1, "b") + Piece(2, "a")), std::pair(Texts{"b"}, Texts{"cut"}));
  EXPECT_EQ(Read(kBegin + Piece(1, "b") + Piece(1, "word").substr(0, 9)),
            std::pair(Texts{"b"}, Texts{"cut"}));
}

TEST(LogBlocks, RecordsBeyondTheLimitAreLeftOut) {
  const auto [records, lost] =
      Read(kBegin + Piece(2, "12345") + Piece(3, "67890") + Piece(4, "1") + Piece(1, "b"),
           {.record_bytes = 8});
  EXPECT_EQ(records, Texts{"b"});
  EXPECT_EQ(lost, Texts{"large_record"});
}

}  // namespace
}  // namespace memtool::formats::metrics
