// What the pickle machine says about opcodes that it does not follow.
#include <fmt/format.h>

#include <string>

#include "support/pickle/pickle_machine.h"
#include "support/pickle/pickle_opcodes.h"
#include "support/read_error.h"

namespace memtool::formats {

namespace {

constexpr std::size_t kNameBytes = 256;
constexpr std::string_view kNotASnapshot = "this is not a snapshot; nothing was executed";

}  // namespace

std::string PickleMachine::TwoLines() {
  std::string name;
  NeedMore(2 * kNameBytes);
  for (int lines = 0; lines < 2 && !cursor_.done() && name.size() < kNameBytes;) {
    const char c = static_cast<char>(cursor_.Byte());
    if (c != '\n') {
      name += c;
    } else if (++lines == 1) {
      name += '.';
    }
  }
  return name;
}

void PickleMachine::RefuseNamed(const char* opcode, const std::string& name) const {
  ThrowRead(
      ErrorCode::kUnsafeOpcode, op_, {},
      fmt::format("contains {}{}{}: {}", opcode, name.empty() ? "" : " ", name, kNotASnapshot));
}

void PickleMachine::Refuse(std::uint8_t opcode) {
  const pickle::Refused* refused = pickle::FindRefused(opcode);
  if (refused == nullptr) {
    Malformed(opcode == pickle::kProto
                  ? std::string("a second PROTO: two pickles run into each other")
                  : fmt::format("the byte 0x{:02x} is not a pickle opcode", opcode));
  }
  if (!refused->unsafe) {
    ThrowRead(ErrorCode::kUnsupported, op_, {},
              fmt::format("contains {}, which no snapshot needs", refused->name));
  }
  std::string name;
  if (opcode == pickle::kGlobal || opcode == pickle::kInst) {
    name = TwoLines();
  } else if (opcode == pickle::kStackGlobal && stack_.size() >= floor() + 2) {
    name = std::string(builder_.Text(stack_[stack_.size() - 2]).substr(0, kNameBytes)) + "." +
           std::string(builder_.Text(stack_.top()).substr(0, kNameBytes));
  }
  RefuseNamed(refused->name, name);
}

}  // namespace memtool::formats
