// Which code ran around a moment: the spans of one thread nest, and the open ones form a stack.
// Profilers' traces record stacks only in this way.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats {

// Times are in any unit, the same for spans and instants.
struct CodeSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t name = 0;  // of the reader's table of names
  std::uint32_t thread = 0;
};

struct CodeInstant {
  std::int64_t time = 0;
  std::uint32_t thread = 0;
};

// Work that one thread began and another does: the spans of a producer and its consumers, by their
// rows.
struct CodeFlow {
  std::uint32_t producer = 0;
  std::uint32_t consumer = 0;
};

// Where code is, according to a name.
struct CodePlace {
  std::string_view function;
  std::string_view file;
  std::int64_t line = 0;
  std::int64_t start_line = 0;  // of the function; 0 = not reported
};

// "model.py(12): forward" as PyTorch's profiler names Python functions; anything else is a name.
CodePlace PlaceOfPythonCall(std::string_view name);

class CodeStacks {
 public:
  // A stack as its innermost frame and the rest, which is an earlier node. Node 0 is the empty
  // stack.
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t name = 0;
    std::uint32_t depth = 0;  // frames
    StackId stack{};
  };

  // `spans` must outlive this. `place_of`: of a name. `depth`: deeper stacks lose their outermost
  // frames, by multiples of half of it: then stacks of about one depth begin with the same frame,
  // and a tree of them is no larger than they are many.
  CodeStacks(RecordingBuilder& builder, std::span<const CodeSpan> spans,
             std::function<CodePlace(std::uint32_t)> place_of, std::uint64_t depth);

  // Work begun by another thread has that thread's stack around it. Before Around().
  void SetFlows(std::span<const CodeFlow> flows);

  // The node around each instant; 0 where no span is open.
  [[nodiscard]] std::vector<std::uint32_t> Around(std::span<const CodeInstant> instants);
  // The same of `count` instants that need not be kept.
  [[nodiscard]] std::vector<std::uint32_t> Around(
      std::size_t count, const std::function<CodeInstant(std::size_t)>& at);
  // No more instants follow: the spans need not outlive this call.
  void ForgetSpans();
  // Node `parent` with one more frame inside.
  std::uint32_t GetNode(std::uint32_t parent, std::uint32_t name);
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  // None for node 0.
  StackId GetStack(std::uint32_t node);
  [[nodiscard]] std::uint64_t cut() const { return cut_; }  // stacks that lost frames

 private:
  struct Open {
    std::int64_t end = 0;
    std::uint32_t node = 0;
  };

  void Enter(std::uint32_t row, std::vector<Open>& open);
  LocationId GetLocation(std::uint32_t name);

  RecordingBuilder& builder_;
  std::span<const CodeSpan> spans_;
  std::function<CodePlace(std::uint32_t)> place_of_;
  std::uint64_t depth_;
  std::uint64_t cut_ = 0;
  std::vector<std::uint32_t> order_;  // rows of spans, by thread, then time
  std::vector<Node> nodes_{Node{}};
  KeyMap<std::uint64_t, std::uint32_t> node_of_;
  KeyMap<std::uint32_t, LocationId> locations_;  // by name
  // Per consumer its producer; per producer its node, once it was met.
  KeyMap<std::uint32_t, std::uint32_t> producer_of_;
  KeyMap<std::uint32_t, std::uint32_t> producer_node_;
};

}  // namespace memtool::formats
