// Runtime allocations beside the compiler's: an arena that a program asks for while it starts has
// exactly the size of one of its buffer allocations, and the jitted function around it has its
// name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hlo/hlo_program.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording_builder.h"
#include "xplane/plane.h"

namespace memtool::formats::xplane {

// How far a match can be trusted.
enum class Certainty : std::uint8_t {
  kProgram,  // one program of the file fits
  kName,     // several programs of one name do
  kNone,     // programs of several names do: it is not said which
};

struct Match {
  Certainty certainty = Certainty::kNone;
  std::string_view module;    // "jit_step"; empty where that is not certain
  hlo::Category category{};   // meaningless where programs disagree: see `told`
  bool reported = false;      // the category is certain
  std::uint32_t program = 0;  // the first that fits, and its allocation
  std::uint32_t allocation = 0;
};

class Join {
 public:
  // Decodes the programs of the file; those that cannot be read are counted.
  explicit Join(const std::vector<const Program*>& programs);

  [[nodiscard]] std::size_t program_count() const { return programs_.size(); }
  [[nodiscard]] std::size_t unreadable() const { return unreadable_; }
  // `jit`: the jitted function around the allocation ("jit(step)"), or empty. None where no program
  // has an output or temporary of this size.
  [[nodiscard]] std::optional<Match> Find(std::int64_t requested, std::string_view jit) const;

  // Adds the parts of an arena of temporaries of `size` bytes to `parts`: the operations whose
  // buffers are live in it when the program needs most. Nothing where the program does not say.
  void Divide(const Match& match, StackId stack, std::int64_t size, RecordingBuilder& builder,
              std::vector<BreakdownPart>& parts) const;

 private:
  struct Place {
    std::uint32_t program = 0;
    std::uint32_t allocation = 0;
  };
  struct Named {
    std::string module;
    hlo::HloProgram program;
  };
  std::vector<Named> programs_;
  KeyMap<std::int64_t, std::vector<Place>> by_size_;
  std::size_t unreadable_ = 0;
};

}  // namespace memtool::formats::xplane
