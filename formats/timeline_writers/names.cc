#include "timeline_writers/names.h"

#include "memtool/profile/model/label_text.h"

namespace memtool::formats {

namespace {

constexpr std::uint32_t kUnknown = UINT32_MAX;

}  // namespace

ExportNames::ExportNames(const Recording& recording, const WriteOptions& options)
    : view_(recording, options.filter ? *options.filter : none_),
      walker_(view_, Granularity::kFileFunction, space_),
      of_stack_(recording.stack_count(), kUnknown) {}

ExportName ExportNames::Of(StackId stack) {
  if (!stack.valid()) {
    return {.number = 0, .name = kNoStack, .file = {}};
  }
  std::uint32_t& known = of_stack_[stack.value()];
  if (known == kUnknown) {
    const bool shown = walker_.Expand({.stack = stack}, visible_) && !visible_.nodes.empty();
    known = shown ? visible_.nodes.front().value() + 1 : 0;
  }
  if (known == 0) {
    return {.number = 0, .name = kNoStack, .file = {}};
  }
  const NodeId node(known - 1);
  return {.number = known, .name = space_.Name(node), .file = space_.File(node)};
}

}  // namespace memtool::formats
