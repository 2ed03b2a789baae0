// The largest rows of a custom format, lines of "NAME BYTES": custom_reader FILE
#include <cstdio>
#include <sstream>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/open.h"
#include "memtool/profile/answers/top.h"
#include "memtool/profile/model/recording_builder.h"
using namespace memtool;

class NamesReader final : public formats::Reader {
 public:
  std::string_view name() const override { return "names"; }
  std::string_view summary() const override { return "lines of NAME BYTES"; }
  formats::Match Sniff(std::span<const std::byte>) const override {
    return formats::Match::kCertain;
  }
  Result<Recording> Read(formats::ByteWindow& in, const formats::Limits&) const override {
    RecordingBuilder to;
    to.StartProfile({{to.Intern("size"), to.Intern("bytes"), Role::kBytes}}, to.Intern("size"));
    const auto bytes = in.Fill(1 << 20);  // the whole file, which is enough for an example
    std::istringstream lines({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    std::string name;
    for (std::int64_t size = 0; lines >> name >> size;) {
      const Line frame{.function = to.AddFunction({.name = to.Intern(name)})};
      const LocationId location = to.AddLocation({}, {&frame, 1});
      to.AddSample(to.AddStack({&location, 1}), to.InternLabels({}), {&size, 1});
    }
    return std::move(to).Finish();
  }
};

int main(int argc, char** argv) {
  const NamesReader own;
  auto document = formats::Open(argc > 1 ? argv[1] : "-", {.readers = {&own}});
  if (!document)
    return std::fprintf(stderr, "%s\n", ToString(document.error()).c_str()), 3;
  for (const TopRow& row : Top(*Select(std::move(*document).recording())).rows) {
    std::printf("%8lld  %s\n", static_cast<long long>(row.flat), row.name.c_str());
  }
}
