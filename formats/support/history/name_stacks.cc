#include "support/history/name_stacks.h"

#include <array>
#include <span>

#include "support/read_error.h"

namespace memtool::formats::ascend {

StackId NameStacks::Of(std::string_view name) {
  if (name.empty()) {
    return {};
  }
  if (name.size() > limits_.string_bytes) {
    ThrowRead(ErrorCode::kLimit, 0, {}, "a name longer than the limit on strings",
              "--max string-bytes=SIZE raises it");
  }
  const std::uint32_t id = names_.Intern(std::as_bytes(std::span(name.data(), name.size())));
  if (id == stacks_.size()) {
    const StringId text = builder_.Intern(name);
    const std::array<Line, 1> line{
        {{.function = builder_.AddFunction(
              {.name = text, .system_name = text, .filename = builder_.Intern({})})}}};
    stacks_.push_back(builder_.AddStack(std::array{builder_.AddLocation({}, line)}));
  }
  return stacks_[id];
}

}  // namespace memtool::formats::ascend
