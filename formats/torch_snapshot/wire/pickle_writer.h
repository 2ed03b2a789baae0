// Writes pickles of protocol 2 with the opcodes that every reader knows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "torch_snapshot/wire/words.h"

namespace memtool::formats::torch_snapshot {

class PickleWriter {
 public:
  PickleWriter();

  // Containers: Begin, then the items of a list, each after Item(), or the keys and values of a
  // dict, then End.
  void BeginDict();
  void Key(Word key);
  void Key(std::string_view key);
  void EndDict();
  void BeginList();
  void Item();  // before each item of a list
  void EndList();

  void Int(std::int64_t value);
  void Unsigned(std::uint64_t value);
  void Bool(bool value);
  void Float(double value);
  void Pair(std::uint64_t first, std::uint64_t second);  // a tuple
  // Text is written as UTF-8, with U+FFFD for what is not. Equal texts are written once.
  void Text(std::string_view text);
  void Text(Word word);

  // Keeps the value just written under a number, for later use.
  std::uint32_t Remember();
  void Recall(std::uint32_t number);

  // The whole pickle; the writer is empty afterwards.
  std::string Finish();

 private:
  struct Level {
    std::uint32_t items = 0;  // since the mark
    bool dict = false;
  };
  void Byte(unsigned char byte) { out_ += static_cast<char>(byte); }
  void Number(std::uint64_t value, std::size_t bytes);
  void Begin(bool dict);
  void Count();
  void End();
  void FreshText(std::string_view text);

  std::string out_;
  std::string scratch_;
  std::vector<Level> levels_;
  std::uint32_t next_ = 0;
  std::array<std::uint32_t, kWords.size()> words_{};  // number + 1; 0 = not written yet
  KeyMap<std::string, std::uint32_t> texts_;
};

}  // namespace memtool::formats::torch_snapshot
