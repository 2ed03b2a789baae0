// Where programs cannot be looked into (a page in a browser): addresses keep their mapping alone.
#include "capture_log/stacks/symbols.h"

namespace memtool::formats::capture_log {

class Symbols::Module {};

Symbols::Symbols(std::string executable) : executable_(std::move(executable)) {}
Symbols::~Symbols() = default;

std::string Symbols::GetPath(const MappingRow& mapping) const {
  return mapping.path.empty() ? executable_ : mapping.path;
}

std::vector<Symbol> Symbols::At(const MappingRow& /*mapping*/, std::uint64_t /*address*/) {
  return {};
}

}  // namespace memtool::formats::capture_log
