// The interned data of one sequence of a Perfetto trace: each name, frame and stack is defined in
// the packet that first uses it, and has a number from then on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "timeline_writers/names.h"
#include "timeline_writers/proto_bytes.h"

namespace memtool::formats {

class PerfettoInterner {
 public:
  // Kept by reference.
  explicit PerfettoInterner(const Recording& recording);

  // Numbers of definitions; new ones go into pending().
  std::uint64_t EventName(const ExportName& name);
  std::uint64_t AnnotationName(std::string_view name);
  std::uint64_t Callstack(StackId stack);

  // InternedData of what is new since the last Clear().
  [[nodiscard]] const ProtoBytes& pending() const { return pending_; }
  void Clear() { pending_.Clear(); }

 private:
  void Define(std::uint32_t field, std::uint64_t iid, std::string_view text);
  std::uint64_t Text(std::uint32_t field, std::vector<bool>& known, StringId text);
  std::uint64_t Frame(std::uint32_t line, const Location& location);
  std::uint64_t GetMapping(const Location& location);

  const Recording& recording_;
  ProtoBytes pending_;
  std::vector<bool> function_names_;  // per string
  std::vector<bool> source_paths_;    // per string
  std::vector<bool> mapping_paths_;   // per string
  std::vector<bool> frames_;          // per line
  std::vector<bool> stacks_;
  std::vector<bool> mappings_;     // per mapping, then "none"
  std::vector<bool> event_names_;  // per ExportName::number, as far as used
  std::map<std::string, std::uint64_t, std::less<>> annotation_names_;
};

}  // namespace memtool::formats
