// Nodes: what rows of a report stand for (a function, a line, a file …). One NodeSpace is shared by
// all recordings of a report, so that sums over inputs and differences between inputs join by row
// number and never by text.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "memtool/profile/base/ids.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/base/string_table.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/filter.h"
#include "memtool/profile/select/view.h"

namespace memtool {

using NodeId = Id<struct NodeTag>;

enum class Granularity : std::uint8_t {
  kFunction,      // by name alone: same-named functions of several files are one row
  kFileFunction,  // by name and file; functions that share both by what distinguishes them
                  // (same_names.h); code in no function ("<module>") by line
  kLine,          // by name, file and line
  kFile,
  kModule,  // the binary, or for Python the package
};

struct Node {
  StringId name;                // function; empty for files and modules
  StringId file;                // empty when not part of the key
  std::int64_t line = 0;        // 0 when not part of the key
  std::int64_t start_line = 0;  // of functions that share name and file
  friend bool operator==(const Node&, const Node&) = default;
  [[nodiscard]] auto KeyFields() const { return std::tuple(name, file, line, start_line); }
};

class NodeSpace {
 public:
  NodeId Intern(std::string_view name, std::string_view file, std::int64_t line);
  // The node of each line of a recording (index = row of Recording::lines).
  std::vector<NodeId> OfLines(const Recording& recording, Granularity granularity);
  StringId InternText(std::string_view text) { return strings_->Intern(text); }
  NodeId OfLabelFrame(const LabelFrame& frame);

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] const Node& operator[](NodeId id) const { return nodes_[id.value()]; }
  [[nodiscard]] std::string_view Text(StringId id) const { return (*strings_)[id]; }
  // The one copy of a text that all rows share.
  const SharedText& Share(StringId id);
  const SharedText& ShareName(NodeId id) { return Share((*this)[id].name); }
  // Names of a stack, outermost first: by them stacks are told apart. `stack`: innermost first.
  [[nodiscard]] std::vector<StringId> StackNames(std::span<const NodeId> stack) const;
  // "outermost;…;innermost".
  [[nodiscard]] SharedText ShareStack(std::vector<StringId> names) {
    return names.size() == 1 ? Share(names.front()) : SharedText::Join(strings_, std::move(names));
  }
  [[nodiscard]] std::string_view Name(NodeId id) const { return Text(nodes_[id.value()].name); }
  [[nodiscard]] std::string_view File(NodeId id) const { return Text(nodes_[id.value()].file); }

 private:
  NodeId Intern(const Node& node);
  struct Texts;
  NodeId OfLine(const Recording& recording, Texts& texts, const Location& location,
                const Line& line, Granularity granularity);
  void Separate(const Recording& recording, std::vector<NodeId>& nodes);

  // Joined texts hold on to it.
  std::shared_ptr<StringTable> strings_ = std::make_shared<StringTable>();
  std::vector<SharedText> shared_;  // by StringId, made when a row asks
  std::vector<Node> nodes_;
  KeyMap<Node, NodeId> index_;
  // Where each line of a Python function went, so that inputs join however much each says about
  // names.
  KeyMap<Node, NodeId> parts_;
};

// What a frame without a symbol is called: "[libfoo.so]", or "<unknown>".
std::string UnsymbolizedName(const Recording& recording, const Location& location);
// The Python package or the script of a file ("flax", "leak"), "(Python library)", or its base
// name.
std::string_view ModuleOfFile(std::string_view file);

}  // namespace memtool
