// Names and lines of native addresses, from the program files when they are on this machine: an
// object counts only when its build id is the one in the log. Nothing is fetched or run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture_log/log/definitions.h"
#include "memtool/profile/base/key_hash.h"

namespace memtool::formats::capture_log {

struct Symbol {
  std::string name;
  std::string system_name;  // before demangling
  std::string file;         // empty when there is no line information
  std::int64_t line = 0;
};

class Symbols {
 public:
  // `executable`: the program, whose mapping has no name of its own.
  explicit Symbols(std::string executable);
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // What is at `address` (of the process), innermost inlined function first; empty when it is
  // unknown.
  std::vector<Symbol> At(const MappingRow& mapping, std::uint64_t address);
  // The mapping's file, with the main program's name filled in.
  [[nodiscard]] std::string GetPath(const MappingRow& mapping) const;
  // Addresses so far whose file is here, and that have no names because libdw is not installed.
  [[nodiscard]] std::uint64_t without_libdw() const { return without_libdw_; }

 private:
  class Module;
  Module* Open(const MappingRow& mapping);

  std::string executable_;
  std::uint64_t without_libdw_ = 0;
  KeyMap<std::string, std::unique_ptr<Module>> modules_;  // by path and build id
};

}  // namespace memtool::formats::capture_log
