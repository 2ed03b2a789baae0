#include "support/pickle/pickle_opcodes.h"

#include <algorithm>
#include <array>

namespace memtool::formats::pickle {

namespace {

// clang-format off
constexpr std::array<Refused, 33> kRefused{{
    {kGlobal, "GLOBAL", true},
    {kStackGlobal, "STACK_GLOBAL", true},
    {kInst, "INST", true},
    {kObj, "OBJ", true},
    {kNewObj, "NEWOBJ", true},
    {kNewObjEx, "NEWOBJ_EX", true},
    {kReduce, "REDUCE", true},
    {kBuild, "BUILD", true},
    {kExt1, "EXT1", true},
    {kExt2, "EXT2", true},
    {kExt4, "EXT4", true},
    {kPersId, "PERSID", true},
    {kBinPersId, "BINPERSID", true},
    {kNextBuffer, "NEXT_BUFFER", true},
    {kReadonlyBuffer, "READONLY_BUFFER", true},
    {kByteArray8, "BYTEARRAY8", true},
    {kEmptySet, "EMPTY_SET", true},
    {kAddItems, "ADDITEMS", true},
    {kFrozenSet, "FROZENSET", true},
    {kDup, "DUP", false},
    {kPop, "POP", false},
    {kPopMark, "POP_MARK", false},
    {kInt, "INT", false},
    {kLong, "LONG", false},
    {kLong4, "LONG4", false},
    {kFloat, "FLOAT", false},
    {kString, "STRING", false},
    {kBinString, "BINSTRING", false},
    {kShortBinString, "SHORT_BINSTRING", false},
    {kUnicode, "UNICODE", false},
    {kGet, "GET", false},
    {kPut, "PUT", false},
    {kBinBytes8, "BINBYTES8", false},
}};
// clang-format on

}  // namespace

const Refused* FindRefused(std::uint8_t opcode) {
  const auto* const found = std::find_if(kRefused.begin(), kRefused.end(),
                                         [opcode](const Refused& r) { return r.opcode == opcode; });
  return found == kRefused.end() ? nullptr : found;
}

}  // namespace memtool::formats::pickle
