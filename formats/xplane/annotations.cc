#include "xplane/annotations.h"

#include <string_view>

#include "memtool/profile/select/xla_names.h"
#include "support/byte_cursor.h"

namespace memtool::formats::xplane {

std::vector<std::uint32_t> MakeAnnotations(const CodeStacks& code, const HostEvents& host) {
  struct State {
    std::uint32_t annotation = kNoText;
    bool closed = false;  // inside of the runtime
  };
  std::vector<State> states(1);
  const auto nodes = code.nodes();
  states.reserve(nodes.size());
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    State state = states[nodes[i].parent];
    const std::string_view name = AsText(host.texts[nodes[i].name]);
    if (!state.closed && !name.starts_with('$')) {
      state.closed =
          IsJitName(name) || IsXlaRuntimeSpan(name) || !host.code_spans.contains(nodes[i].name);
      state.annotation = state.closed ? state.annotation : nodes[i].name;
    }
    states.push_back(state);
  }
  std::vector<std::uint32_t> annotations;
  annotations.reserve(states.size());
  for (const State& state : states) {
    annotations.push_back(state.annotation);
  }
  return annotations;
}

}  // namespace memtool::formats::xplane
