#include "support/pickle/pickle_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "support/pickle/pickle_opcodes.h"
#include "support/pickle/pickle_push.h"
#include "support/read_error.h"

namespace memtool::formats {

namespace {

// Every opcode with its operand, but for long text, and every run of pushes fits into this.
constexpr std::size_t kMaxStepLength = 1024;
constexpr std::size_t kRefillBytes = std::size_t{64} << 10U;
constexpr std::size_t kMinValues = 4096;
constexpr std::size_t kMaxHole = std::size_t{1} << 16U;

constexpr bool IsGet(std::uint8_t opcode) {
  return opcode == pickle::kBinGet || opcode == pickle::kLongBinGet;
}

// Opcodes that only push a value, and are frequent.
constexpr std::array<bool, 256> MakePushing() {
  std::array<bool, 256> pushing{};
  for (const std::uint8_t opcode : {pickle::kBinGet, pickle::kLongBinGet, pickle::kBinInt1,
                                    pickle::kBinInt2, pickle::kBinInt, pickle::kLong1}) {
    pushing[opcode] = true;
  }
  return pushing;
}
constexpr std::array<bool, 256> kPushing = MakePushing();

}  // namespace

PickleMachine::PickleMachine(ByteWindow& in, DataBuilder& builder, const Limits& limits)
    : in_(in),
      builder_(builder),
      limits_(limits),
      cursor_({}, in.offset()),
      stack_(std::max<std::size_t>(limits.record_bytes / sizeof(Value), kMinValues)) {}

Value PickleMachine::Run() {
  NeedMore(kRefillBytes);
  try {
    Protocol();
    Loop();
  } catch (const ReadError& error) {
    if (error.error().code == ErrorCode::kTruncated && error.error().offset) {
      ThrowRead(ErrorCode::kTruncated, cursor_.offset(), {},
                "the pickle ends before its STOP opcode: the file was cut");
    }
    if (!error.error().offset) {
      Error placed = error.error();
      placed.offset = op_;
      throw ReadError(std::move(placed));
    }
    throw;
  }
  in_.Advance(static_cast<std::size_t>(cursor_.offset() - in_.offset()));
  return stack_.top();
}

void PickleMachine::Refill() {
  NeedMore(kRefillBytes);
}

// Buffers `size` bytes, or all that are left.
void PickleMachine::NeedMore(std::uint64_t size) {
  in_.Advance(static_cast<std::size_t>(cursor_.offset() - in_.offset()));
  const auto bytes = in_.Fill(static_cast<std::size_t>(size));
  cursor_ = ByteCursor(bytes, in_.offset());
}

void PickleMachine::Malformed(const std::string& message) const {
  ThrowRead(ErrorCode::kMalformed, op_, {}, message);
}

void PickleMachine::Protocol() {
  if (cursor_.Byte() != pickle::kProto) {
    Malformed("a pickle of protocol 0 or 1, which no PyTorch writes");
  }
  protocol_ = cursor_.Byte();
  if (protocol_ < 2 || protocol_ > 5) {
    ThrowRead(ErrorCode::kUnsupported, op_, {},
              fmt::format("pickle protocol {}; protocols 2 to 5 are read", protocol_));
  }
}

// Two thirds of a snapshot's opcodes push a key or a number: they are read in one go, with all
// state in registers. False when there was none.
bool PickleMachine::PushRun() {
  constexpr std::size_t kRun = 64;
  stack_.Reserve(kRun);
  const std::span<Value> room = stack_.Room(kRun);
  ByteCursor cursor = cursor_;
  std::size_t count = 0;
  while (count < kRun && cursor.left() >= kMaxPushLength && PushNext(cursor, memo_, room[count])) {
    ++count;
  }
  cursor_ = cursor;
  stack_.Grow(count);
  return count > 0;
}

void PickleMachine::Get(std::size_t entry) {
  stack_.Reserve(1);
  if (!memo_.Get(entry, stack_.Room(1).front())) {
    Malformed(fmt::format("refers to memo entry {}, which does not exist", entry));
  }
  stack_.Grow(1);
}

inline void PickleMachine::Step(std::uint8_t opcode) {
  switch (opcode) {
    case pickle::kBinGet:
      return Get(cursor_.Byte());
    case pickle::kLongBinGet:
      return Get(cursor_.Fixed32());
    case pickle::kBinInt1:
      return stack_.Push(Value::OfInt(cursor_.Byte()));
    case pickle::kBinInt2: {
      const std::uint8_t low = cursor_.Byte();
      return stack_.Push(Value::OfInt(low | cursor_.Byte() << 8));
    }
    case pickle::kBinInt:
      return stack_.Push(Value::OfInt(static_cast<std::int32_t>(cursor_.Fixed32())));
    case pickle::kLong1:
      return Long1();
    case pickle::kMark:
      return Mark();
    case pickle::kMemoize:
      return Put(memo_.size());
    case pickle::kBinPut:
      return Put(cursor_.Byte());
    case pickle::kLongBinPut:
      return Put(cursor_.Fixed32());
    case pickle::kEmptyDict:
      return stack_.Push(Value::Of(ValueKind::kEmptyDict, 0));
    case pickle::kEmptyList:
      return stack_.Push(Value::Of(ValueKind::kEmptyList, 0));
    case pickle::kSetItems:
      return FillDict(PopMark());
    case pickle::kAppends:
      return Fill(PopMark(), false);
    case pickle::kShortBinUnicode:
      return Text(cursor_.Byte());
    case pickle::kBinUnicode:
      return Text(cursor_.Fixed32());
    case pickle::kTuple2:
      return MakeTuple(2);
    default:
      return RareStep(opcode);
  }
}

void PickleMachine::Loop() {
  while (!stopped_) {
    if (cursor_.left() < kMaxStepLength) {
      Refill();
    }
    if (!cursor_.done() && kPushing[cursor_.Peek()] && PushRun()) {
      continue;
    }
    op_ = cursor_.offset();
    if (!cursor_.done() && cursor_.Peek() == pickle::kEmptyDict && ShapedDict()) {
      continue;
    }
    Step(cursor_.Byte());
  }
}

void PickleMachine::RareStep(std::uint8_t opcode) {
  switch (opcode) {
    case pickle::kStop:
      return Stop();
    case pickle::kFrame:
      return Frame();
    case pickle::kNone:
      return stack_.Push({});
    case pickle::kNewTrue:
      return stack_.Push(Value::OfBool(true));
    case pickle::kNewFalse:
      return stack_.Push(Value::OfBool(false));
    case pickle::kBinFloat:
      return Float();
    case pickle::kSetItem:
      return FillOne(2, true);
    case pickle::kAppend:
      return FillOne(1, false);
    case pickle::kBinUnicode8:
      return Text(cursor_.Fixed64());
    case pickle::kShortBinBytes:
      return Bytes(cursor_.Byte());
    case pickle::kBinBytes:
      return Bytes(cursor_.Fixed32());
    case pickle::kEmptyTuple:
      return MakeTuple(0);
    case pickle::kTuple1:
      return MakeTuple(1);
    case pickle::kTuple3:
      return MakeTuple(3);
    case pickle::kTuple:
      return Tuple(PopMark());
    case pickle::kList:
      return MakeFromMark(false);
    case pickle::kDict:
      return MakeFromMark(true);
    default:
      Refuse(opcode);
  }
}

void PickleMachine::Frame() {
  const std::uint64_t size = cursor_.Fixed64();
  if (op_ < frame_end_) {
    Malformed("a FRAME begins inside another");
  }
  if (size > limits_.unpacked_bytes) {
    Malformed(fmt::format("a FRAME of {} bytes", size));
  }
  frame_end_ = cursor_.offset() + size;
}

void PickleMachine::Put(std::size_t entry) {
  if (stack_.size() <= floor()) {
    Malformed("memoises a value that is not there");
  }
  if (memo_.Has(entry)) {
    Malformed(fmt::format("writes memo entry {} a second time", entry));
  }
  if (entry > memo_.size() + kMaxHole) {
    Malformed(fmt::format("writes memo entry {} where there are only {}", entry, memo_.size()));
  }
  Value& value = stack_.top();
  if (IsContainer(value.kind) && value.memo != 0) {
    Malformed("memoises one container twice");
  }
  if (entry == memo_.size()) {
    memo_.Add(value);
  } else {
    memo_.Set(entry, value);
  }
  if (!value.row) {
    value.memo = static_cast<std::uint32_t>(entry + 1);
  }
}

// Makes the list that begins here from an earlier one with the same bytes. Entries of the memo that
// are not containers never change, so the same bytes mean the same list.
bool PickleMachine::KnownRun() {
  if (stack_.empty() || stack_.top().kind != ValueKind::kEmptyList || cursor_.done() ||
      !IsGet(cursor_.Peek())) {
    return false;
  }
  const auto ahead = cursor_.rest();
  const KnownRuns::Run* run = runs_.Find(ahead);
  if (run == nullptr) {
    WatchRun(ahead);
    return false;
  }
  Value& list = stack_.top();
  CheckTarget(list, false);
  cursor_.Skip(run->size);
  const std::uint32_t memo = list.memo;
  list = run->value;
  list.memo = memo;
  if (memo != 0) {
    memo_.Set(memo - 1, list);
  }
  return true;
}

// Notes a list of references only, to be remembered once it is made.
void PickleMachine::WatchRun(std::span<const std::byte> ahead) {
  std::size_t size = 0;
  while (size < ahead.size() && IsGet(static_cast<std::uint8_t>(ahead[size]))) {
    size += ahead[size] == std::byte{pickle::kBinGet} ? 2 : 5;
  }
  if (size < ahead.size() && ahead[size] == std::byte{pickle::kAppends}) {
    watched_.assign(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(size) + 1);
    watched_end_ = cursor_.offset() + size;
  }
}

void PickleMachine::Mark() {
  if (KnownRun()) {
    return;
  }
  if (marks_.size() >= limits_.depth) {
    ThrowRead(ErrorCode::kLimit, op_, {},
              fmt::format("containers nested deeper than {}", limits_.depth),
              "lift it with --max depth=N");
  }
  marks_.push_back(stack_.size());
}

std::size_t PickleMachine::PopMark() {
  if (marks_.empty()) {
    Malformed("ends a container that was not begun: there is no MARK");
  }
  const std::size_t mark = marks_.back();
  marks_.pop_back();
  return mark;
}

void PickleMachine::Long1() {
  const std::uint8_t size = cursor_.Byte();
  ByteCursor digits = cursor_;
  const auto bytes = cursor_.Take(size);
  // Nine bytes hold an unsigned 64-bit number: its sign byte is zero.
  if (size > 9 || (size == 9 && bytes[8] != std::byte{0})) {
    Malformed(fmt::format("an integer of {} bytes, which does not fit 64 bits", size));
  }
  std::uint64_t value = 0;
  if (size >= 8) {
    value = digits.Fixed64();
  } else if (size > 0) {
    const unsigned unused = 64U - 8U * size;
    if (digits.left() >= 8) {
      value = digits.Fixed64() << unused;
    } else {
      for (std::size_t i = 0; i < size; ++i) {
        value |= static_cast<std::uint64_t>(bytes[i]) << (unused + 8 * i);
      }
    }
    value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> unused);
  }
  const bool big = size == 9 && value >> 63U != 0;
  stack_.Push(Value::Of(big ? ValueKind::kBigUint : ValueKind::kInt, value));
}

void PickleMachine::Float() {
  std::uint64_t bits = 0;
  for (const std::byte byte : cursor_.Take(8)) {
    bits = bits << 8U | static_cast<std::uint64_t>(byte);
  }
  stack_.Push(Value::OfFloat(std::bit_cast<double>(bits)));
}

void PickleMachine::Text(std::uint64_t size) {
  if (size > cursor_.left()) {
    if (size > limits_.string_bytes) {
      ThrowRead(
          ErrorCode::kLimit, op_, {},
          fmt::format("a string of {} bytes, over the limit of {}", size, limits_.string_bytes),
          "lift it with --max string-bytes=SIZE");
    }
    NeedMore(size);
  }
  stack_.Push(builder_.String(AsText(cursor_.Take(size)), op_));
}

void PickleMachine::Bytes(std::uint64_t size) {
  in_.Advance(static_cast<std::size_t>(cursor_.offset() - in_.offset()));
  const bool whole = in_.Skip(size);
  cursor_ = ByteCursor(in_.buffered(), in_.offset());
  if (!whole) {
    cursor_.Take(1 + cursor_.left());  // throws, because the input ends here
  }
  stack_.Push(Value::Of(ValueKind::kOpaque, 0));
}

void PickleMachine::MakeTuple(std::size_t count) {
  if (stack_.size() < floor() + count) {
    Malformed("a tuple of more values than there are");
  }
  Tuple(stack_.size() - count);
}

void PickleMachine::Tuple(std::size_t begin) {
  const Value tuple = builder_.Tuple(stack_.From(begin), op_);
  stack_.Truncate(begin);
  stack_.Push(tuple);
}

void PickleMachine::CheckTarget(const Value& target, bool dict) const {
  const ValueKind wrong = dict ? ValueKind::kEmptyList : ValueKind::kEmptyDict;
  if (!IsContainer(target.kind) || target.kind == wrong) {
    Malformed(fmt::format("adds to something that is not an open {}", dict ? "dict" : "list"));
  }
  if (target.shared || (target.memo != 0 && memo_.Used(target.memo - 1))) {
    ThrowRead(ErrorCode::kUnsupported, op_, {},
              fmt::format("adds to a {} that is already in use: it contains itself, or it was "
                          "changed after its use",
                          dict ? "dict" : "list"));
  }
}

void PickleMachine::Fill(std::size_t begin, bool dict) {
  if (begin <= floor() || begin > stack_.size()) {
    Malformed("adds to a container that is not there");
  }
  const Value target = stack_[begin - 1];
  CheckTarget(target, dict);
  if (begin == stack_.size()) {
    return;  // torch::jit::Pickler writes MARK and SETITEMS for empty ones too
  }
  const auto values = stack_.From(begin);
  if (dict && values.size() % 2 != 0) {
    Malformed("a dict with a key that has no value");
  }
  const Value filled =
      dict ? builder_.Dict(target, values, op_) : builder_.List(target, values, op_);
  if (op_ == watched_end_ && std::none_of(values.begin(), values.end(), [](const Value& value) {
        return IsContainer(value.kind);
      })) {
    runs_.Add(watched_, filled);
  }
  Replace(begin - 1, target.memo, filled);
}

// Puts a container in the place where it began, and into its entry of the memo.
void PickleMachine::Replace(std::size_t at, std::uint32_t memo, Value filled) {
  if (memo != 0) {
    memo_.Set(memo - 1, filled);
  }
  filled.memo = memo;
  stack_.Truncate(at);
  if (marks_.empty() || stack_.size() <= floor() || !JoinRows(stack_.top(), filled)) {
    stack_.Push(filled);
  }
}

void PickleMachine::FillDict(std::size_t begin) {
  if (begin <= stack_.size()) {
    shapes_.Learn(stack_.From(begin), builder_);
  }
  Fill(begin, true);
}

void PickleMachine::FillOne(std::size_t values, bool dict) {
  if (stack_.size() < floor() + values + 1) {
    Malformed("adds to a container that is not there");
  }
  Fill(stack_.size() - values, dict);
}

void PickleMachine::MakeFromMark(bool dict) {
  const std::size_t begin = PopMark();
  const auto values = stack_.From(begin);
  if (dict && values.size() % 2 != 0) {
    Malformed("a dict with a key that has no value");
  }
  Value made = Value::Of(dict ? ValueKind::kEmptyDict : ValueKind::kEmptyList, 0);
  if (!values.empty()) {
    made = dict ? builder_.Dict(made, values, op_) : builder_.List(made, values, op_);
  }
  stack_.Truncate(begin);
  stack_.Push(made);
}

void PickleMachine::Stop() {
  if (stack_.size() != 1 || !marks_.empty()) {
    Malformed(
        fmt::format("STOP with {} values and {} open containers", stack_.size(), marks_.size()));
  }
  stopped_ = true;
}

}  // namespace memtool::formats
