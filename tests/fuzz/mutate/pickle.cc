#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mutate/mutate.h"
#include "support/pickle/pickle_opcodes.h"

namespace memtool::fuzz {

namespace {

namespace pickle = formats::pickle;

struct Operation {
  std::uint8_t opcode = 0;
  std::string operand;
  std::size_t length = 0;  // bytes of the operand's length, where it is text
};

// Bytes of the operand of a fixed size, or those of the length before a text.
struct Form {
  std::size_t fixed = 0;
  std::size_t length = 0;
};

Form GetForm(std::uint8_t opcode) {
  switch (opcode) {
    case pickle::kProto:
    case pickle::kBinInt1:
    case pickle::kBinGet:
    case pickle::kBinPut:
      return {.fixed = 1};
    case pickle::kBinInt2:
      return {.fixed = 2};
    case pickle::kBinInt:
    case pickle::kLongBinGet:
    case pickle::kLongBinPut:
      return {.fixed = 4};
    case pickle::kBinFloat:
    case pickle::kFrame:
      return {.fixed = 8};
    case pickle::kShortBinUnicode:
    case pickle::kShortBinBytes:
    case pickle::kLong1:
      return {.length = 1};
    case pickle::kBinUnicode:
    case pickle::kBinBytes:
      return {.length = 4};
    case pickle::kBinUnicode8:
      return {.length = 8};
    default:
      return {};
  }
}

std::uint64_t Little(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

std::string ToLittle(std::uint64_t value, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i, value >>= 8U) {
    out += static_cast<char>(value & 0xffU);
  }
  return out;
}

// What does not end in whole operations is left out.
std::vector<Operation> Split(std::string_view bytes) {
  std::vector<Operation> operations;
  while (!bytes.empty()) {
    Operation operation{.opcode = static_cast<std::uint8_t>(bytes[0])};
    const Form form = GetForm(operation.opcode);
    bytes.remove_prefix(1);
    if (form.length > bytes.size()) {
      break;
    }
    const std::uint64_t size = form.length > 0 ? Little(bytes.substr(0, form.length)) : form.fixed;
    bytes.remove_prefix(form.length);
    if (size > bytes.size()) {
      break;
    }
    operation.length = form.length;
    operation.operand = bytes.substr(0, static_cast<std::size_t>(size));
    bytes.remove_prefix(static_cast<std::size_t>(size));
    operations.push_back(std::move(operation));
  }
  return operations;
}

std::string Join(const std::vector<Operation>& operations) {
  std::string out;
  for (const Operation& operation : operations) {
    out += static_cast<char>(operation.opcode);
    out += ToLittle(operation.operand.size(), operation.length);
    out += operation.operand;
  }
  return out;
}

void ChangeOperand(Operation& operation, Random& random, std::size_t most) {
  if (operation.length > 0) {
    operation.operand = AnyChange(std::move(operation.operand), most);
    if (operation.length == 1) {
      operation.operand.resize(std::min<std::size_t>(operation.operand.size(), 0xff));
    }
    return;
  }
  const std::uint64_t number =
      random() % 2 == 0 ? Little(operation.operand) + random() % 5 - 2 : OddNumber(random);
  operation.operand = ToLittle(number, operation.operand.size());
}

Operation NewOperation(Random& random) {
  constexpr std::uint8_t kOpcodes[] = {
      pickle::kMark,    pickle::kNone,    pickle::kEmptyDict, pickle::kEmptyList, pickle::kSetItems,
      pickle::kAppends, pickle::kSetItem, pickle::kAppend,    pickle::kTuple,     pickle::kTuple1,
      pickle::kTuple2,  pickle::kTuple3,  pickle::kNewTrue,   pickle::kNewFalse,  pickle::kMemoize,
      pickle::kBinInt1, pickle::kBinInt,  pickle::kLong1,     pickle::kBinFloat,  pickle::kBinGet,
      pickle::kBinPut,  pickle::kList,    pickle::kDict,      pickle::kEmptyTuple};
  Operation operation{.opcode = kOpcodes[Below(random, std::size(kOpcodes))]};
  const Form form = GetForm(operation.opcode);
  operation.length = form.length;
  operation.operand = ToLittle(OddNumber(random), form.length > 0 ? 8 : form.fixed);
  return operation;
}

// A value, with all that it holds, ends where the stack is back at its height; a run of operations
// is taken as one when it begins and ends alike.
void Repeat(std::vector<Operation>& operations, Random& random) {
  const std::size_t from = Below(random, operations.size());
  const std::size_t count = std::min(1 + Below(random, 24), operations.size() - from);
  const auto begin = operations.begin() + static_cast<std::ptrdiff_t>(from);
  const std::vector<Operation> run(begin, begin + static_cast<std::ptrdiff_t>(count));
  if (random() % 2 == 0) {
    operations.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  } else {
    const std::size_t to = random() % 2 == 0 ? from : Below(random, operations.size());
    operations.insert(operations.begin() + static_cast<std::ptrdiff_t>(to), run.begin(), run.end());
  }
}

void Change(std::vector<Operation>& operations, Random& random, std::size_t most) {
  switch (random() % 8) {
    case 0:
      return Rearrange(operations, random);
    case 1:
      return Repeat(operations, random);
    case 2:
      operations.insert(
          operations.begin() + static_cast<std::ptrdiff_t>(Below(random, operations.size())),
          NewOperation(random));
      return;
    default: {
      // An operation with something to change, of a few that are looked at.
      for (int tries = 0; tries < 16; ++tries) {
        Operation& operation = operations[Below(random, operations.size())];
        if (!operation.operand.empty() && operation.opcode != pickle::kProto) {
          return ChangeOperand(operation, random, most);
        }
      }
    }
  }
}

}  // namespace

std::size_t MutatePickle(std::uint8_t* data, std::size_t size, std::size_t most, Random& random) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text.
  std::vector<Operation> operations = Split({reinterpret_cast<const char*>(data), size});
  for (auto changes = 1 + random() % 3; changes > 0 && !operations.empty(); --changes) {
    Change(operations, random, most);
  }
  // Frames need not fit what they hold, and would only hide the rest.
  std::erase_if(operations,
                [](const Operation& operation) { return operation.opcode == pickle::kFrame; });
  return Store(Join(operations), data, most);
}

}  // namespace memtool::fuzz
