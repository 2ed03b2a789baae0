// A strict interpreter of pickles (protocols 2 to 5) as data: containers, numbers and text, as
// CPython and torch::jit::Pickler write them. An opcode that can call code is an error with its
// name and place; nothing is ever imported, called or built from a name in the file.
//
// Opcodes are read from a sliding window. Finished containers go to a DataBuilder at once, so
// memory holds the memo (8 bytes per entry) and one container's values.
#pragma once

#include <cstdint>
#include <vector>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "support/byte_cursor.h"
#include "support/data_value.h"
#include "support/known_runs.h"
#include "support/pickle/pickle_memo.h"
#include "support/pickle/pickle_shapes.h"
#include "support/pickle/value_stack.h"

namespace memtool::formats {

class PickleMachine {
 public:
  PickleMachine(ByteWindow& in, DataBuilder& builder, const Limits& limits);

  // Reads one pickle, up to and including its STOP; the window is then right after it. Throws
  // ReadError.
  Value Run();
  [[nodiscard]] int protocol() const { return protocol_; }

 private:
  struct MadeLists;

  void Loop();
  void Step(std::uint8_t opcode);
  void RareStep(std::uint8_t opcode);
  void Refill();
  void NeedMore(std::uint64_t size);

  void Protocol();
  void Frame();
  bool PushRun();
  void Get(std::size_t entry);
  bool ShapedDict();
  bool ReadShaped(const PickleShapes::Shape& shape);
  bool ReadShapedValues(ByteCursor& cursor, const PickleShapes::Shape& shape,
                        std::size_t first_entry, std::span<Value> pairs, MadeLists& lists);
  bool ReadShapedList(ByteCursor& cursor, std::size_t entry, Value& list, bool& in_memo) const;
  void AddToMemo(Value& value);
  void Put(std::size_t entry);
  void Mark();
  bool KnownRun();
  void WatchRun(std::span<const std::byte> ahead);
  std::size_t PopMark();
  void Long1();
  void Float();
  void Text(std::uint64_t size);
  void Bytes(std::uint64_t size);
  void MakeTuple(std::size_t count);
  void Tuple(std::size_t begin);
  // Adds the values from `begin` on to the container below them.
  void Fill(std::size_t begin, bool dict);
  void Replace(std::size_t at, std::uint32_t memo, Value filled);
  void FillDict(std::size_t begin);
  void FillOne(std::size_t values, bool dict);
  void MakeFromMark(bool dict);
  void CheckTarget(const Value& target, bool dict) const;
  void Stop();

  [[noreturn]] void Refuse(std::uint8_t opcode);
  [[noreturn]] void RefuseNamed(const char* opcode, const std::string& name) const;
  std::string TwoLines();
  [[noreturn]] void Malformed(const std::string& message) const;
  [[nodiscard]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  ByteWindow& in_;
  DataBuilder& builder_;
  Limits limits_;
  ByteCursor cursor_;
  std::uint64_t op_ = 0;  // offset of the current opcode
  std::uint64_t frame_end_ = 0;
  int protocol_ = 0;
  bool stopped_ = false;
  ValueStack stack_;
  std::vector<std::size_t> marks_;
  PickleMemo memo_;
  KnownRuns runs_;
  PickleShapes shapes_;
  std::vector<std::byte> watched_;  // a list of references that is not yet remembered
  std::uint64_t watched_end_ = 0;   // offset of the opcode that ends it
};

}  // namespace memtool::formats
