// Which code ran around a moment: the spans of one thread nest, and the open ones form a stack.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "kineto/trace_events.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::kineto {

class CodeStacks {
 public:
  // Sorts the spans. `depth`: deeper stacks lose their outermost frames.
  CodeStacks(RecordingBuilder& builder, TraceEvents& trace, std::uint64_t depth);

  // The stack around each memory event, by its row; none where no span is open.
  [[nodiscard]] std::vector<StackId> Around(const std::vector<MemoryEvent>& memory);
  [[nodiscard]] std::uint64_t cut() const { return cut_; }

 private:
  struct Node {  // a stack as its innermost frame and the rest
    std::uint32_t parent = 0;
    std::uint32_t name = 0;
    StackId stack;
  };
  struct Open {
    std::int64_t end = 0;
    std::uint32_t node = 0;
  };

  void Enter(const Span& span, std::vector<Open>& open);
  std::uint32_t NodeOf(std::uint32_t parent, std::uint32_t name);
  StackId StackOf(std::uint32_t node);
  LocationId LocationOf(std::uint32_t name);

  RecordingBuilder& builder_;
  TraceEvents& trace_;
  std::uint64_t depth_;
  std::uint64_t cut_ = 0;
  std::vector<Node> nodes_{Node{}};  // [0] is the empty stack
  std::unordered_map<std::uint64_t, std::uint32_t> node_of_;
  std::vector<LocationId> locations_;  // by name
};

}  // namespace memtool::formats::kineto
