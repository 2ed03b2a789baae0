#include "torch_snapshot/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "support/read_error.h"

namespace memtool::formats::torch_snapshot {

namespace {
// Lists that come in several batches are interned anew with each one; this bounds the cost.
constexpr std::uint64_t kMaxRegrown = std::uint64_t{4} << 20U;
}  // namespace

Value FrameTable::Frame(std::span<const Value> pairs, std::uint64_t offset) {
  StringId name(std::uint32_t{0});
  StringId filename(std::uint32_t{0});
  std::int64_t line = 0;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const Word key = GetWord(pairs[i]);
    const Field field(pairs[i + 1], key, offset);
    switch (key) {
      case Word::kName:
        name = field.String();
        break;
      case Word::kFilename:
        filename = field.String();
        break;
      case Word::kLine:
        // PyTorch writes -1, for code without a line, as an unsigned number of 64 bits.
        line =
            pairs[i + 1].kind == ValueKind::kBigUint ? 0 : std::max<std::int64_t>(field.Int(), 0);
        break;
      case Word::kFxNodeOp:
      case Word::kFxNodeName:
      case Word::kFxNodeTarget:
      case Word::kFxOriginalTrace:
      case Word::kFxNodeInfo:
        context_.fx = true;
        break;
      default:
        context_.UnknownKey("a frame", pairs[i], offset);
    }
  }
  const auto [function, fresh] = functions_.try_emplace(std::pair(name, filename));
  if (fresh) {
    function->second =
        context_.builder.AddFunction({.name = name, .system_name = name, .filename = filename});
  }
  const auto [location, added] = locations_.try_emplace(std::pair(function->second, line));
  if (added) {
    const std::array<Line, 1> lines{{{.function = function->second, .line = line}}};
    location->second = context_.builder.AddLocation({}, lines);
  }
  return Value::Of(kind::kFrame, location->second.value());
}

Value FrameTable::Stack(const Value& base, std::span<const Value> frames, std::uint64_t offset) {
  run_.clear();
  if (base.kind == kind::kStack) {
    const auto known = stacks_[base.Low()];
    run_.resize(known.size() / sizeof(std::uint32_t));
    std::memcpy(run_.data(), known.data(), known.size());
    regrown_ += run_.size();
    if (regrown_ > kMaxRegrown) {
      ThrowRead(ErrorCode::kLimit, offset, "frames", "too many lists that grow piece by piece");
    }
  }
  const std::size_t had = run_.size();
  run_.resize(had + frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    run_[had + i] = frames[i].Low();
  }
  const std::size_t known = stacks_.size();
  const std::uint32_t id = stacks_.Intern(std::as_bytes(std::span(run_)));
  if (id == known) {
    ids_.clear();
    for (const std::uint32_t location : run_) {
      ids_.emplace_back(location);
    }
    context_.builder.AddStack(ids_);
  }
  return Value::Of(kind::kStack, id);
}

}  // namespace memtool::formats::torch_snapshot
