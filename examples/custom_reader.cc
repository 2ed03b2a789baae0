// A format of one's own, "BYTES NAME" a line, ranked like any other: custom_reader FILE
#include <array>
#include <cstdio>
#include <sstream>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/open.h"
#include "memtool/profile/answers/top.h"
#include "memtool/profile/answers/write.h"
#include "memtool/profile/model/recording_builder.h"

class BytesNameReader final : public memtool::formats::Reader {
 public:
  std::string_view name() const override { return "bytes-name"; }
  std::string_view summary() const override { return "lines of bytes and a name"; }
  memtool::formats::Match Sniff(std::span<const std::byte> /*head*/) const override {
    return memtool::formats::Match::kCertain;
  }
  memtool::Result<memtool::Recording> Read(memtool::formats::ByteWindow& in,
                                           const memtool::formats::Limits&) const override {
    std::stringstream text;
    for (auto bytes = in.Fill(1); !bytes.empty(); in.Advance(bytes.size()), bytes = in.Fill(1)) {
      text.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    }
    memtool::RecordingBuilder to;
    const auto space = to.Intern("space"), unit = to.Intern("bytes");
    to.StartProfile({{space, unit, memtool::Role::kBytes}}, space);
    std::string name;
    for (std::int64_t bytes = 0; text >> bytes >> name;) {
      const memtool::Line line{.function = to.AddFunction({.name = to.Intern(name)})};
      to.AddSample(to.AddStack(std::array{to.AddLocation({}, std::array{line})}), {}, {{bytes}});
    }
    return std::move(to).Finish();
  }
};

int main(int, char** argv) {
  const BytesNameReader reader;
  auto document = memtool::formats::Open(argv[1], {.readers = {&reader}});
  auto answer = memtool::Top(*memtool::Select(std::move(*document).recording()));
  memtool::WriteJson(memtool::ViewOf(answer), 0, [](auto bytes) { fputs(bytes.data(), stdout); });
}
