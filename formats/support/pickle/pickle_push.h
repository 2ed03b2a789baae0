// Opcodes that only push a value, which two thirds of a snapshot's are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "support/byte_cursor.h"
#include "support/data_value.h"
#include "support/pickle/pickle_memo.h"
#include "support/pickle/pickle_opcodes.h"

namespace memtool::formats {

constexpr std::size_t kMaxPushLength = 10;

// What follows such an opcode. LONG1's number of digits is in the pickle.
struct PushForm {
  bool integer = false;
  bool reference = false;
  bool is_signed = false;
  std::uint8_t bytes = 0;
};
constexpr std::array<PushForm, 256> MakePushForms() {
  std::array<PushForm, 256> forms{};
  forms[pickle::kBinGet] = {.reference = true, .bytes = 1};
  forms[pickle::kLongBinGet] = {.reference = true, .bytes = 4};
  forms[pickle::kBinInt1] = {.integer = true, .bytes = 1};
  forms[pickle::kBinInt2] = {.integer = true, .bytes = 2};
  forms[pickle::kBinInt] = {.integer = true, .is_signed = true, .bytes = 4};
  forms[pickle::kLong1] = {.integer = true, .is_signed = true, .bytes = 0};
  return forms;
}
inline constexpr std::array<PushForm, 256> kPushForms = MakePushForms();

// Reads one such opcode; false, without consuming it, when the next one does more. kMaxPushLength
// bytes are buffered. Which of the opcodes it is nobody can foresee: there are no branches on it.
[[gnu::always_inline]] inline bool PushNext(ByteCursor& cursor, PickleMemo& memo, Value& value) {
  const std::uint8_t opcode = cursor.Peek();
  const PushForm form = kPushForms[opcode];
  const std::uint64_t operand = cursor.WordAhead(1);
  if (form.integer) {
    const bool counted = opcode == pickle::kLong1;
    const unsigned bytes = counted ? static_cast<std::uint8_t>(operand) : form.bytes;
    if (bytes - 1 > 7) {
      return false;
    }
    const unsigned unused = 64U - 8U * bytes;
    const std::uint64_t word = cursor.WordAhead(counted ? 2 : 1) << unused;
    const auto negative = static_cast<std::uint64_t>(static_cast<std::int64_t>(word) >> unused);
    value = Value::Of(ValueKind::kInt, form.is_signed ? negative : word >> unused);
    cursor.Pass((counted ? 2U : 1U) + bytes);
    return true;
  }
  const auto entry = static_cast<std::uint32_t>(operand & (form.bytes == 1 ? 0xffU : 0xffffffffU));
  if (!form.reference || !memo.Get(entry, value)) {
    return false;
  }
  cursor.Pass(std::size_t{1} + form.bytes);
  return true;
}

// The same, for values of dicts of one shape, whose opcodes are mostly the same: branches on them
// are predicted well, so that the next key is read before the length of the value has been loaded.
[[gnu::always_inline]] inline bool PushPredictable(ByteCursor& cursor, PickleMemo& memo,
                                                   Value& value) {
  const std::uint8_t opcode = cursor.Peek();
  const std::uint64_t operand = cursor.WordAhead(1);
  if (opcode == pickle::kLongBinGet && memo.Get(static_cast<std::uint32_t>(operand), value)) {
    cursor.Pass(5);
    return true;
  }
  if (opcode == pickle::kBinGet && memo.Get(static_cast<std::uint8_t>(operand), value)) {
    cursor.Pass(2);
    return true;
  }
  return PushNext(cursor, memo, value);
}

}  // namespace memtool::formats
