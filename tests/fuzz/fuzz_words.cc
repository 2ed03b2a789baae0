// What people write: sizes, moments, groupings, filters, keywords, rules for frames and settings of
// allocators. The first byte chooses; the rest is the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/device_report.h"
#include "memtool/formats/frames.h"
#include "memtool/formats/keywords.h"
#include "memtool/formats/open.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/filter.h"
#include "memtool/profile/select/frame_class.h"
#include "memtool/profile/whatif/allocator_settings.h"
#include "targets.h"

namespace {

using namespace memtool;

void Filters(const std::string& text) {
  const std::size_t middle = text.size() / 2;
  FilterOptions options;
  options.focus = text.substr(0, middle);
  options.tag_focus = text.substr(middle);
  (void)Filter::Compile(options);
}

void KeywordsFile(std::string_view text) {
  if (auto file = formats::ParseKeywords(text, "keywords")) {
    (void)memtool::Keywords::Compile(std::move(file->dictionary));
  }
}

void Rules(std::string_view text) {
  if (const auto rules = formats::ParseFrameRules(text, "rules")) {
    (void)FrameClassifier::Compile(*rules);
  }
}

// What is written is read again as the same.
void Settings(std::string_view text) {
  if (const auto settings = whatif::ParseAllocatorConf(text)) {
    const std::string again = whatif::ConfText(*settings);
    const auto back = whatif::ParseAllocatorConf(again);
    if (!back || whatif::ConfText(*back) != again) {
      std::abort();
    }
  }
}

void Truth(std::string_view text) {
  (void)formats::Open(formats::MakeMemorySource(std::as_bytes(std::span(text.data(), text.size()))),
                      "truth", {.accepted = {.recordings = false, .device_report = true}});
}

}  // namespace

int memtool::fuzz::FuzzWords(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the bytes are the text.
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  constexpr std::uint8_t kSettings = 0xf8;
  if (data[0] >= kSettings) {
    Settings(text);
    return 0;
  }
  switch (data[0] % 7) {
    case 0:
      (void)ParseSize(text);
      break;
    case 1:
      (void)ParseMoment(text);
      break;
    case 2:
      (void)ParseBy(text);
      break;
    case 3:
      Filters(text);
      break;
    case 4:
      KeywordsFile(text);
      break;
    case 5:
      Rules(text);
      break;
    default:
      Truth(text);
      break;
  }
  return 0;
}
