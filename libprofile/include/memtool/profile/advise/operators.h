// What autocast does to the operator under which a block was allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "memtool/profile/advise/program.h"
#include "memtool/profile/model/recording.h"

namespace memtool::advise {

enum class Operator : std::uint8_t {
  kUnknown,  // no operator is on the stack
  kProduct,  // runs in the lower precision
  kFused,    // attention in one: the same, beside sums in single precision
  kPart,     // of a product: its input, laid out anew
  kSingle,   // runs in single precision
  kSum,      // the same; of a bias's gradient it belongs to the product before it
  kLogits,   // the logarithms that a cross entropy makes of logits: as its input, and once more in
             // single precision for the loss
  kLogitsBackward,
  kFixed,   // what it makes depends on neither: integers, masks, tables, workspaces
  kWidest,  // of several inputs, as the widest of them
  kSame     // as its input
};

struct Operators {
  std::vector<Operator> of_stacks;  // per stack of the recording
  bool any = false;                 // is named by a stack
  bool autocast = false;            // it runs under autocast
};
// By the native functions of stacks, as at::autocast's registrations of CUDA sort them.
Operators OperatorsOf(const Recording& recording);

// Products in half precision, with copies of what goes into them. None where operators of forward
// and backward are not known.
std::optional<Program> Autocast(const Program& program, const Operators& operators);

}  // namespace memtool::advise
