#include "hlo/frame_index.h"

#include <array>

#include "support/wire.h"

namespace memtool::formats::hlo {

namespace {

constexpr std::size_t kMaxFrames = 64;

// Fields 1 to 3 of a message of numbers.
std::array<std::uint64_t, 3> Numbers(ByteCursor cursor) {
  std::array<std::uint64_t, 3> numbers{};
  while (!cursor.done()) {
    const wire::Field field = wire::Next(cursor);
    if (field.number <= numbers.size()) {
      numbers[static_cast<std::size_t>(field.number - 1)] = field.Varint("stack_frame_index");
    }
  }
  return numbers;
}

std::string Text(const wire::Field& field) {
  field.Expect(wire::kLength, "stack_frame_index");
  return std::string(AsText(field.bytes));
}

std::string At(const std::vector<std::string>& texts, std::uint64_t id) {
  return id == 0 || id > texts.size() ? std::string() : texts[static_cast<std::size_t>(id - 1)];
}

}  // namespace

void FrameIndex::Read(ByteCursor cursor) {
  while (!cursor.done()) {
    const wire::Field field = wire::Next(cursor);
    if (field.number == 1) {
      files_.push_back(Text(field));
    } else if (field.number == 2) {
      functions_.push_back(Text(field));
    } else if (field.number == 3) {
      const auto [file, function, line] = Numbers(field.Message("file_locations"));
      places_.push_back(
          {.file = file, .function = function, .line = static_cast<std::int64_t>(line)});
    } else if (field.number == 4) {
      const auto numbers = Numbers(field.Message("stack_frames"));
      frames_.push_back({.place = numbers[0], .parent = numbers[1]});
    }
  }
}

std::vector<CodeFrame> FrameIndex::Stack(std::uint64_t frame) const {
  std::vector<CodeFrame> stack;
  while (frame > 0 && frame <= frames_.size() && stack.size() < kMaxFrames) {
    const Frame& at = frames_[static_cast<std::size_t>(frame - 1)];
    if (at.place == 0 || at.place > places_.size()) {
      break;
    }
    const Place& place = places_[static_cast<std::size_t>(at.place - 1)];
    stack.push_back({.function = At(functions_, place.function),
                     .file = At(files_, place.file),
                     .line = place.line});
    frame = at.parent;
  }
  return stack;
}

}  // namespace memtool::formats::hlo
