// Dicts of a known shape (pickle_shapes.h). What the machine holds changes only once all of a dict
// is known; until then, nothing is done that reading it opcode by opcode would not do as well.
#include "support/pickle/pickle_machine.h"
#include "support/pickle/pickle_push.h"

namespace memtool::formats {

namespace {

// A key, then the longest push or the beginning of a list, then an opcode.
constexpr std::size_t kMaxPairLength = 32;

}  // namespace

// The lists of a dict that are in the memo, by their places from the dict on.
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
  // Not a copy of cursor_: its position has just been stored, and a wider load of it would stall.
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
  const std::size_t count = 2 * shape.keys.size();
  stack_.Reserve(1 + count);
  const std::span<Value> room = stack_.Room(1 + count);
  MadeLists lists;
  if (!ReadShapedValues(cursor, shape, memo_.size() + (memoised ? 1 : 0), room.subspan(1), lists)) {
    return false;
  }
  op_ = cursor.offset();
  cursor_.Pass(static_cast<std::size_t>(op_ - cursor_.offset()) + 1);
  room[0] = Value::Of(ValueKind::kEmptyDict, 0);
  if (memoised) {
    AddToMemo(room[0]);
  }
  for (std::size_t i = 0; i < lists.count; ++i) {
    AddToMemo(room[lists.places[i]]);
  }
  stack_.Grow(1 + count);
  const std::size_t begin = stack_.size() - count;
  if (shape.plan) {
    Replace(begin - 1, room[0].memo, builder_.PlannedDict(*shape.plan, stack_.From(begin), op_));
    return true;
  }
  for (std::size_t i = 0; i < shape.keys.size(); ++i) {
    room[1 + 2 * i] = shape.keys[i].value;
  }
  Replace(begin - 1, room[0].memo, builder_.Dict(room[0], stack_.From(begin), op_));
  return true;
}

// The values of pairs, up to the SETITEMS that ends the dict; keys are compared, not set.
// `first_entry`: of the memo, for the first list.
[[gnu::always_inline]] inline bool PickleMachine::ReadShapedValues(ByteCursor& cursor,
                                                                   const PickleShapes::Shape& shape,
                                                                   std::size_t first_entry,
                                                                   std::span<Value> pairs,
                                                                   MadeLists& lists) {
  std::size_t at = 1;
  for (const PickleShapes::Key& key : shape.keys) {
    if (cursor.left() < kMaxPairLength || (cursor.WordAhead(0) & key.mask) != key.word) {
      return false;
    }
    cursor.Pass(key.size);
    Value& value = pairs[at];
    at += 2;
    if (PushPredictable(cursor, memo_, value)) {
      continue;
    }
    bool in_memo = false;
    if (!ReadShapedList(cursor, first_entry + lists.count, value, in_memo)) {
      return false;
    }
    lists.places[lists.count] = static_cast<std::uint8_t>(at - 1);
    lists.count += in_memo ? 1 : 0;
  }
  return !cursor.done() && cursor.Peek() == pickle::kSetItems;
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
