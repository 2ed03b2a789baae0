// Stacks of the log as stacks of a recording: native frames with their symbols, Python frames put
// where the interpreter's evaluation loop is.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "capture_log/log/definitions.h"
#include "capture_log/stacks/symbols.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::capture_log {

class StackMaker {
 public:
  StackMaker(RecordingBuilder& builder, const Definitions& definitions, Symbols& symbols)
      : builder_(builder), definitions_(definitions), symbols_(symbols) {}

  // None for 0 and for ids that the log does not define.
  StackId Of(std::uint64_t stack);

 private:
  struct Native {
    LocationId location;
    bool evaluates = false;    // the interpreter's loop
    bool interpreter = false;  // some function of the interpreter
  };

  const Native& GetNative(const FrameRow& row);
  LocationId GetPythonLocation(const PyFrameRow& row);
  MappingId GetMapping(std::uint64_t mapping);
  std::vector<LocationId> Merge(const StackRow& row);

  RecordingBuilder& builder_;
  const Definitions& definitions_;
  Symbols& symbols_;
  KeyMap<std::uint64_t, StackId> stacks_;
  std::map<std::vector<LocationId>, StackId> same_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Native> natives_;      // mapping, address
  std::map<std::pair<std::uint64_t, std::uint64_t>, LocationId> pythons_;  // code, position
  KeyMap<std::uint64_t, MappingId> mappings_;
};

}  // namespace memtool::formats::capture_log
