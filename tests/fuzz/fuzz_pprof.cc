// The pprof reader alone, on unpacked bytes. What it accepts must survive being written and read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/open.h"
#include "memtool/formats/reader.h"
#include "memtool/formats/writer.h"
#include "support/read_error.h"

namespace {

using namespace memtool;

Result<Recording> Read(std::span<const std::byte> bytes) {
  formats::Limits limits;
  limits.record_bytes = 1U << 20U;
  for (const formats::Reader* reader : formats::Readers()) {
    if (reader->name() == "pprof") {
      formats::ByteWindow window(formats::MakeMemorySource(bytes));
      try {
        return reader->Read(window, limits);
      } catch (const formats::ReadError& error) {
        return Fail(error.error());
      }
    }
  }
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto recording = Read(std::as_bytes(std::span(data, size)));
  if (!recording) {
    return 0;
  }
  const auto written = formats::WriteAs("pprof", *recording);
  if (!written) {
    std::abort();
  }
  const auto again = formats::OpenRecording(
      formats::MakeMemorySource(std::as_bytes(std::span(written->data(), written->size()))),
      "again", {.limits = {}, .format = "pprof"});
  // A profile without sample types may be indistinguishable from other bytes; this one was read by
  // the format's name.
  if (!again || again->profile->size() != recording->profile->size() ||
      again->profile->values != recording->profile->values) {
    std::abort();
  }
  return 0;
}
