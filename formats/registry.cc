// Readers and writers as formats.cmake lists them.
#include <tuple>
#include <vector>

#include "memtool/formats/left_out.h"
#include "memtool/formats/reader.h"
#include "memtool/formats/writer.h"
#include "registered.h"

namespace memtool::formats {

namespace {

// The single instance of a kind; readers and writers have no state.
template <class Kind>
const Kind* The() {
  static const Kind one;
  return &one;
}

template <class Base, class... Kinds>
std::vector<const Base*> All(const std::tuple<Kinds...>* /*which*/) {
  return {The<Kinds>()...};
}

}  // namespace

std::span<const Reader* const> Readers() {
  static const auto readers = All<Reader>(static_cast<const RegisteredReaders*>(nullptr));
  return readers;
}

std::span<const Writer* const> Writers() {
  static const auto writers = All<Writer>(static_cast<const RegisteredWriters*>(nullptr));
  return writers;
}

std::span<const std::string_view> ReadersLeftOut() {
  return kReadersLeftOut;
}

std::span<const std::string_view> WritersLeftOut() {
  return kWritersLeftOut;
}

}  // namespace memtool::formats
