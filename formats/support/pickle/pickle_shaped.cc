// Dicts of a known shape (pickle_shapes.h). What the machine holds changes only once all of a dict
// is known; until then, nothing is done that reading it opcode by opcode would not do as well.
#include "support/pickle/pickle_machine.h"
#include "support/pickle/pickle_push.h"

namespace memtool::formats {

namespace {

// A key, then the longest push or the beginning of a list, then an opcode.
constexpr std::size_t kMaxPairLength = 32;

}  // namespace

// The lists of a dict that are in the memo, by their place among its values.
struct PickleMachine::MadeLists {
  std::array<std::uint8_t, PickleShapes::kMaxKeys> places{};
  std::size_t count = 0;
};

// A dict that begins here. False where it has no shape that is known.
bool PickleMachine::ShapedDict() {
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    if (ReadShaped(shapes_[i])) {
      shapes_.Used(i);
      return true;
    }
  }
  return false;
}

bool PickleMachine::ReadShaped(const PickleShapes::Shape& shape) {
  // Not copied whole: its position has just been written, and a wider read has to wait for that.
  ByteCursor cursor(cursor_.rest(), cursor_.offset());
  if (cursor.left() < kMaxPairLength || marks_.size() >= limits_.depth) {
    return false;
  }
  cursor.Pass(1);  // EMPTY_DICT
  const bool memoised = cursor.Peek() == pickle::kMemoize;
  cursor.Skip(memoised ? 1 : 0);
  if (cursor.Peek() != pickle::kMark) {
    return false;
  }
  cursor.Skip(1);
  stack_.Reserve(1 + 2 * shape.keys.size());
  const std::span<Value> room = stack_.Room(1 + 2 * shape.keys.size());
  const std::size_t first_entry = memo_.size() + (memoised ? 1 : 0);
  MadeLists lists;
  std::size_t at = 0;
  for (const PickleShapes::Key& key : shape.keys) {
    if (cursor.left() < kMaxPairLength || (cursor.WordAhead(0) & key.mask) != key.word) {
      return false;
    }
    cursor.Pass(key.size);
    at += 2;
    Value& value = room[at];
    if (PushForeseen(cursor, memo_, value)) {
      continue;
    }
    bool in_memo = false;
    if (!ReadShapedList(cursor, first_entry + lists.count, value, in_memo)) {
      return false;
    }
    lists.places[lists.count] = static_cast<std::uint8_t>(at);
    lists.count += in_memo ? 1 : 0;
  }
  if (cursor.done() || cursor.Peek() != pickle::kSetItems) {
    return false;
  }
  op_ = cursor.offset();
  cursor.Skip(1);
  cursor_.Pass(static_cast<std::size_t>(cursor.offset() - cursor_.offset()));
  room[0] = Value::Of(ValueKind::kEmptyDict, 0);
  if (memoised) {
    AddToMemo(room[0]);
  }
  for (std::size_t i = 0; i < lists.count; ++i) {
    AddToMemo(room[lists.places[i]]);
  }
  stack_.Grow(1 + at);
  const std::size_t begin = stack_.size() - at;
  if (shape.plan != nullptr) {
    Replace(begin - 1, room[0].memo, builder_.PlannedDict(*shape.plan, stack_.From(begin), op_));
    return true;
  }
  for (std::size_t i = 0; i < shape.keys.size(); ++i) {
    room[1 + 2 * i] = shape.keys[i].value;
  }
  Replace(begin - 1, room[0].memo, builder_.Dict(room[0], stack_.From(begin), op_));
  return true;
}

// A list without items, or one of references that is known by its bytes. `entry`: of the memo, the
// next one.
bool PickleMachine::ReadShapedList(ByteCursor& cursor, std::size_t entry, Value& list,
                                   bool& in_memo) const {
  if (cursor.Peek() != pickle::kEmptyList) {
    return false;
  }
  cursor.Skip(1);
  in_memo = cursor.Peek() == pickle::kMemoize;
  cursor.Skip(in_memo ? 1 : 0);
  list = Value::Of(ValueKind::kEmptyList, 0);
  if (cursor.Peek() != pickle::kMark) {
    return true;
  }
  cursor.Skip(1);
  const KnownRuns::Run* run = runs_.Find(cursor.rest());
  if (run == nullptr) {
    return false;
  }
  cursor.Skip(run->size);
  list = run->value;
  list.memo = 0;
  if (cursor.left() < kMaxPairLength) {
    return false;
  }
  // torch::jit::Pickler puts a list into the memo once it is filled.
  const std::uint64_t operand = cursor.WordAhead(1);
  if (!in_memo && cursor.Peek() == pickle::kLongBinPut &&
      static_cast<std::uint32_t>(operand) == entry) {
    cursor.Skip(5);
    in_memo = true;
  }
  return true;
}

void PickleMachine::AddToMemo(Value& value) {
  memo_.Add(value);
  value.memo = static_cast<std::uint32_t>(memo_.size());
}

}  // namespace memtool::formats
