#include "memtool/profile/align/stack_keys.h"

#include <algorithm>
#include <array>
#include <span>

#include "memtool/profile/base/paths.h"
#include "memtool/profile/select/frame_class.h"
#include "memtool/profile/select/operation_name.h"

namespace memtool {

namespace {

// torch.compile's cache: "c" and the hash of the code, in base 32, as the file's name.
constexpr std::size_t kLeastHash = 40;
constexpr std::string_view kCompiled = "(compiled)";

constexpr std::uint32_t kHidden = 0;  // row 0 of the table is the empty text

bool IsHash(std::string_view name) {
  return name.size() >= kLeastHash && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
         });
}

// Between function and file.
constexpr char kSeparator = '\t';

}  // namespace

std::string ComparableFile(std::string_view file) {
  // "<eval_with_key>.12", "<ipython-input-7-0a1b>": a counter or a hash follows the name.
  if (file.starts_with('<')) {
    return std::string(file.substr(0, file.find_first_of("0123456789>")));
  }
  for (const std::string_view folder :
       {std::string_view("site-packages"), std::string_view("dist-packages")}) {
    const std::size_t at = file.rfind(folder);
    if (at != std::string_view::npos && at + folder.size() < file.size()) {
      std::string name(file.substr(at + folder.size() + 1));
      std::replace(name.begin(), name.end(), '\\', '/');
      return name;
    }
  }
  const std::string_view name = BaseName(file);
  return IsHash(name.substr(0, name.rfind('.'))) ? std::string(kCompiled) : std::string(name);
}

// Per line, its row in frames_ with the kind of frame in the lowest bit (1 = Python), or kHidden.
std::vector<std::uint32_t> StackKeys::FramesOf(const Recording& recording) {
  std::vector<std::uint32_t> frames;
  frames.reserve(recording.lines.size());
  std::vector<std::uint32_t> of_function(recording.functions.size(), UINT32_MAX);
  const FrameClassifier& classifier = FrameClassifier::Builtin();
  for (const Line& line : recording.lines) {
    if (!line.function.valid()) {
      frames.push_back(kHidden);
      continue;
    }
    std::uint32_t& known = of_function[line.function.value()];
    if (known == UINT32_MAX) {
      const Function& function = recording.functions[line.function.value()];
      const std::string_view name = recording.Text(function.name);
      const std::string_view file = recording.Text(function.filename);
      const FrameClass kind = classifier.Classify(name, file, recording.metadata.origin);
      known = kHidden;
      if (kind.python) {
        known = frames_.Intern(std::string(name) + kSeparator + ComparableFile(file)).value()
                    << 1U |
                1U;
      } else if (kind.op || kind.call) {
        const std::string_view operation = OperationName(name);
        known = frames_.Intern(operation.empty() ? name : operation).value() << 1U;
      }
    }
    frames.push_back(known);
  }
  return frames;
}

std::vector<std::uint32_t> StackKeys::Of(const Recording& recording) {
  const std::vector<std::uint32_t> frames = FramesOf(recording);
  std::vector<std::uint32_t> keys;
  keys.reserve(recording.stack_count());
  std::string python;
  std::string native;
  const auto add = [](std::string& key, std::uint32_t frame) {
    key.append(reinterpret_cast<const char*>(&frame), sizeof(frame));
  };
  for (std::uint32_t row = 0; row < recording.stack_count(); ++row) {
    python.clear();
    native.clear();
    for (const LocationId location : recording.Stack(StackId(row))) {
      const Location& at = recording.At(location);
      for (std::uint32_t line = at.first_line; line < at.first_line + at.line_count; ++line) {
        if (frames[line] != kHidden) {
          add((frames[line] & 1U) != 0 ? python : native, frames[line]);
        }
      }
    }
    const std::string& key = python.empty() ? native : python;
    keys.push_back(
        key.empty()
            ? kNoFrames
            : keys_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()) + 1).first->second);
  }
  return keys;
}

}  // namespace memtool
