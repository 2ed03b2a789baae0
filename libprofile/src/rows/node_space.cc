#include "memtool/profile/rows/node_space.h"

#include <functional>
#include <map>
#include <utility>

#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/base/paths.h"
#include "memtool/profile/select/frame_class.h"
#include "memtool/profile/select/view.h"
#include "rows/same_names.h"

namespace memtool {

namespace {

// A file that PyTorch's compiler wrote has the hash of its content for a name, another in each run:
// "/tmp/torchinductor_lin/kq/ckq3…x7.py".
std::string_view FoldedFile(std::string_view file) {
  constexpr std::size_t kHash = 40;
  const std::size_t folder = file.find("torchinductor");
  const std::string_view base = BaseName(file);
  return folder != std::string_view::npos && folder + base.size() < file.size() &&
                 base.size() > kHash && base.ends_with(".py")
             ? "<torchinductor>"
             : file;
}

// Code of a script or a notebook's cell that is in no function: its lines are what functions are
// elsewhere.
bool IsModuleLevel(std::string_view name) {
  return name == "<module>" || name.starts_with("<cell line");
}

std::string UnsymbolizedName(std::string_view binary) {
  const std::string_view base = BaseName(binary);
  return base.empty() ? "<unknown>" : "[" + std::string(base) + "]";
}

}  // namespace

const SharedText& NodeSpace::Share(StringId id) {
  if (shared_.size() <= id.value()) {
    shared_.resize(strings_->size());
  }
  SharedText& text = shared_[id.value()];
  if (text.empty()) {
    text = Text(id);
  }
  return text;
}

std::vector<StringId> NodeSpace::StackNames(std::span<const NodeId> stack) const {
  std::vector<StringId> names(stack.size());
  std::transform(stack.rbegin(), stack.rend(), names.begin(),
                 [this](NodeId node) { return (*this)[node].name; });
  return names;
}

NodeId NodeSpace::Intern(std::string_view name, std::string_view file, std::int64_t line) {
  return Intern(Node{.name = strings_->Intern(name), .file = strings_->Intern(file), .line = line});
}

NodeId NodeSpace::Intern(const Node& node) {
  const auto [it, added] = index_.emplace(node, NodeId(nodes_.size()));
  if (added) {
    nodes_.push_back(node);
  }
  return it->second;
}

NodeId NodeSpace::OfLabelFrame(const LabelFrame& frame) {
  return Intern(frame.value.empty() ? "(no " + frame.key + ")" : frame.value, frame.key, 0);
}

// The texts of a recording as the space has them.
struct NodeSpace::Texts {
  using Find = OncePerText<std::function<StringId(StringId)>>;
  Find name;
  Find file;          // folded
  Find module;        // of a file
  Find binary;        // of a mapping, without its folders; empty where it has no name
  Find unsymbolized;  // what frames without a symbol are called, by the mapping's file
  OncePerText<std::function<bool(StringId)>> module_level;  // of a function's name

  Texts(const Recording& recording, StringTable& strings)
      : name([&](StringId id) { return strings.Intern(recording.Text(id)); }),
        file([&](StringId id) { return strings.Intern(FoldedFile(recording.Text(id))); }),
        module([&](StringId id) {
          return strings.Intern(ModuleOfFile(FoldedFile(recording.Text(id))));
        }),
        binary([&](StringId id) { return strings.Intern(BaseName(recording.Text(id))); }),
        unsymbolized(
            [&](StringId id) { return strings.Intern(UnsymbolizedName(recording.Text(id))); }),
        module_level([&](StringId id) { return IsModuleLevel(recording.Text(id)); }) {}
};

NodeId NodeSpace::OfLine(const Recording& recording, Texts& texts, const Location& location,
                         const Line& line, Granularity granularity) {
  constexpr StringId kEmpty(0U);
  const Function* function =
      line.function.valid() ? &recording.functions[line.function.value()] : nullptr;
  const StringId file = function != nullptr ? function->filename : kEmpty;
  const StringId mapping =
      location.mapping.valid() ? recording.mappings[location.mapping.value()].filename : kEmpty;
  if (granularity == Granularity::kModule) {
    const StringId binary = texts.binary(mapping);
    return Intern(Node{.name = binary == kEmpty ? texts.module(file) : binary, .file = kEmpty});
  }
  if (granularity == Granularity::kFile) {
    return file == kEmpty ? Intern(Node{.name = texts.unsymbolized(mapping), .file = kEmpty})
                          : Intern(Node{.name = kEmpty, .file = texts.file(file)});
  }
  const bool named = function != nullptr && function->name != kEmpty;
  const bool by_name = granularity == Granularity::kFunction;
  const bool by_line = granularity == Granularity::kLine ||
                       (!by_name && named && texts.module_level(function->name));
  return Intern(Node{.name = named ? texts.name(function->name) : texts.unsymbolized(mapping),
                     .file = by_name ? kEmpty : texts.file(file),
                     .line = by_line ? line.line : 0});
}

// Keeps functions with the same name and file apart. Lines that another recording knows keep their
// node, and the rest of their function follows them.
void NodeSpace::Separate(const Recording& recording, std::vector<NodeId>& nodes) {
  const std::vector<std::int64_t> parts = PartsOfNames(recording);
  // Identifies a line by its function's start where the format knows it.
  const auto key_of = [&](std::size_t row) {
    const Line& line = recording.lines[row];
    const std::int64_t start = recording.functions[line.function.value()].start_line;
    Node key = (*this)[nodes[row]];
    (start > 0 ? key.start_line : key.line) = start > 0 ? start : line.line;
    return key;
  };
  OncePerText python([this](StringId file) { return IsPythonFile(Text(file)); });
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    if (recording.lines[row].function.valid() && python((*this)[nodes[row]].file)) {
      rows.push_back(row);
    }
  }
  std::map<std::pair<NodeId, std::int64_t>, NodeId> known;  // by name and part
  for (const std::size_t row : rows) {
    if (const auto part = parts_.find(key_of(row)); part != parts_.end()) {
      known.try_emplace({nodes[row], parts[row]}, part->second);
    }
  }
  for (const std::size_t row : rows) {
    const auto [part, added] = parts_.try_emplace(key_of(row));
    if (added) {
      Node node = (*this)[nodes[row]];
      node.start_line = parts[row];
      const auto same = known.find({nodes[row], parts[row]});
      part->second = parts[row] != 0 && same != known.end() ? same->second : Intern(node);
    }
    nodes[row] = part->second;
  }
}

std::vector<NodeId> NodeSpace::OfLines(const Recording& recording, Granularity granularity) {
  std::vector<NodeId> nodes(recording.lines.size());
  const bool by_function =
      granularity == Granularity::kFunction || granularity == Granularity::kFileFunction;
  std::vector<NodeId> of_function(by_function ? recording.functions.size() : 0);
  Texts texts(recording, *strings_);
  for (const Location& location : recording.locations) {
    for (std::uint32_t i = 0; i < location.line_count; ++i) {
      const std::uint32_t row = location.first_line + i;
      const Line& line = recording.lines[row];
      // One without a name is called after its binary, which is the location's.
      // Nor has code in no function one node.
      const StringId name =
          line.function.valid() ? recording.functions[line.function.value()].name : StringId(0U);
      const bool named = by_function && !recording.Text(name).empty() &&
                         (granularity == Granularity::kFunction || !texts.module_level(name));
      if (named && of_function[line.function.value()].valid()) {
        nodes[row] = of_function[line.function.value()];
        continue;
      }
      nodes[row] = OfLine(recording, texts, location, line, granularity);
      if (named) {
        of_function[line.function.value()] = nodes[row];
      }
    }
  }
  if (granularity == Granularity::kFileFunction) {
    Separate(recording, nodes);
  }
  return nodes;
}

std::string UnsymbolizedName(const Recording& recording, const Location& location) {
  return UnsymbolizedName(
      location.mapping.valid()
          ? recording.Text(recording.mappings[location.mapping.value()].filename)
          : std::string_view{});
}

std::string_view ModuleOfFile(std::string_view file) {
  constexpr std::string_view kPackages = "-packages";
  const std::size_t packages = file.rfind(kPackages);
  if (packages != std::string_view::npos && packages + kPackages.size() < file.size()) {
    const std::string_view below = file.substr(packages + kPackages.size() + 1);
    return below.substr(0, below.find_first_of("/\\."));
  }
  if (file.find("/lib/python") != std::string_view::npos || file.starts_with("<frozen ")) {
    return "(Python library)";
  }
  const std::string_view base = BaseName(file);
  return base.ends_with(".py") ? base.substr(0, base.size() - 3) : base;
}

}  // namespace memtool
