#include "common/reading.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/reader.h"
#include "support/read_error.h"

namespace memtool::fuzz {

formats::Limits SmallLimits() {
  formats::Limits limits;
  limits.unpacked_bytes = 16U << 20U;
  limits.record_bytes = 1U << 20U;
  return limits;
}

Result<Recording> ReadAs(std::string_view reader, std::span<const std::byte> bytes,
                         const formats::Limits& limits) {
  for (const formats::Reader* one : formats::Readers()) {
    if (one->name() == reader) {
      try {
        formats::ByteWindow window(formats::MakeMemorySource(bytes));
        return one->Read(window, limits);
      } catch (const formats::ReadError& error) {
        return Fail(error.error());
      }
    }
  }
  std::abort();
}

void Require(bool holds, std::string_view what) {
  if (!holds) {
    std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(what.size()), what.data());
    std::abort();
  }
}

void RequireEqual(std::string_view a, std::string_view b, std::string_view what) {
  if (a == b) {
    return;
  }
  constexpr std::size_t kBefore = 200;
  constexpr std::size_t kShown = 400;
  const auto at = static_cast<std::size_t>(
      std::mismatch(a.begin(),
                    a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                    b.begin())
          .first -
      a.begin());
  const std::size_t from = at - std::min(at, kBefore);
  for (const std::string_view text : {a, b}) {
    const std::string_view part = text.substr(from, kShown);
    std::fprintf(stderr, "--- from byte %zu of %zu (they differ at %zu):\n%.*s\n", from,
                 text.size(), at, static_cast<int>(part.size()), part.data());
  }
  Require(false, what);
}

}  // namespace memtool::fuzz
