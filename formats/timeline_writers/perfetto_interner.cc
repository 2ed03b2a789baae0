#include "timeline_writers/perfetto_interner.h"

#include <algorithm>

#include "memtool/profile/base/escape.h"
#include "memtool/profile/rows/node_space.h"

namespace memtool::formats {

namespace {

// InternedData
constexpr std::uint32_t kEventNames = 2;
constexpr std::uint32_t kAnnotationNames = 3;
constexpr std::uint32_t kFunctionNames = 5;
constexpr std::uint32_t kFrames = 6;
constexpr std::uint32_t kCallstacks = 7;
constexpr std::uint32_t kMappingPaths = 17;
constexpr std::uint32_t kSourcePaths = 18;
constexpr std::uint32_t kMappings = 19;

// True the first time.
bool Note(std::vector<bool>& known, std::size_t row) {
  if (row >= known.size()) {
    known.resize(std::max(row + 1, known.size() * 2));
  }
  const bool fresh = !known[row];
  known[row] = true;
  return fresh;
}

}  // namespace

PerfettoInterner::PerfettoInterner(const Recording& recording)
    : recording_(recording),
      frames_(recording.lines.size()),
      stacks_(recording.stack_count()),
      mappings_(recording.mappings.size() + 1) {}

// Strings are {1: iid, 2: text} everywhere.
void PerfettoInterner::Define(std::uint32_t field, std::uint64_t iid, std::string_view text) {
  ProtoBytes entry;
  pending_.Message(field, entry.Number(1, iid).Bytes(2, ToUtf8(text)));
}

std::uint64_t PerfettoInterner::EventName(const ExportName& name) {
  const std::uint64_t iid = std::uint64_t{name.number} + 1;
  if (Note(event_names_, name.number)) {
    Define(kEventNames, iid, name.name);
  }
  return iid;
}

std::uint64_t PerfettoInterner::AnnotationName(std::string_view name) {
  const auto known = annotation_names_.find(name);
  if (known != annotation_names_.end()) {
    return known->second;
  }
  const std::uint64_t iid = annotation_names_.size() + 1;
  annotation_names_.emplace(name, iid);
  Define(kAnnotationNames, iid, name);
  return iid;
}

std::uint64_t PerfettoInterner::Text(std::uint32_t field, std::vector<bool>& known, StringId text) {
  const std::size_t row = text.valid() ? text.value() : 0;
  if (Note(known, row)) {
    Define(field, row + 1, recording_.Text(text));
  }
  return row + 1;
}

// Readers want a mapping for every frame, Python's too.
std::uint64_t PerfettoInterner::GetMapping(const Location& location) {
  const bool none = !location.mapping.valid();
  const std::size_t row = none ? recording_.mappings.size() : location.mapping.value();
  if (Note(mappings_, row)) {
    const StringId path = none ? StringId() : recording_.mappings[row].filename;
    const std::uint64_t text = Text(kMappingPaths, mapping_paths_, path);
    ProtoBytes entry;
    pending_.Message(kMappings, entry.Number(1, row + 1).Number(7, text));
  }
  return row + 1;
}

std::uint64_t PerfettoInterner::Frame(std::uint32_t line, const Location& location) {
  const std::uint64_t iid = std::uint64_t{line} + 1;
  if (!Note(frames_, line)) {
    return iid;
  }
  ProtoBytes entry;
  entry.Number(1, iid);
  const Line& row = recording_.lines[line];
  if (row.function.valid()) {
    const Function& function = recording_.functions[row.function.value()];
    entry.Number(2, Text(kFunctionNames, function_names_, function.name));
    entry.Number(3, GetMapping(location));
    entry.Number(5, Text(kSourcePaths, source_paths_, function.filename));
    entry.Signed(6, std::clamp<std::int64_t>(row.line, 0, UINT32_MAX));
  } else {
    // A number that no string has.
    const std::uint64_t name = recording_.strings.size() + iid;
    Define(kFunctionNames, name, UnsymbolizedName(recording_, location));
    entry.Number(2, name);
    entry.Number(3, GetMapping(location));
    entry.Number(4, location.address);
  }
  pending_.Message(kFrames, entry);
  return iid;
}

std::uint64_t PerfettoInterner::Callstack(StackId stack) {
  const std::uint64_t iid = std::uint64_t{stack.value()} + 1;
  if (!Note(stacks_, stack.value())) {
    return iid;
  }
  ProtoBytes entry;
  entry.Number(1, iid);
  const auto locations = recording_.Stack(stack);
  for (std::size_t i = locations.size(); i-- > 0;) {  // outermost first
    const Location& location = recording_.At(locations[i]);
    for (std::uint32_t k = location.line_count; k-- > 0;) {
      entry.Number(2, Frame(location.first_line + k, location));
    }
  }
  pending_.Message(kCallstacks, entry);
  return iid;
}

}  // namespace memtool::formats
