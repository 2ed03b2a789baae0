#include "memtool/profile/align/stack_keys.h"

#include <algorithm>
#include <optional>

#include "memtool/profile/base/paths.h"
#include "memtool/profile/select/frame_class.h"
#include "memtool/profile/select/operation_name.h"

namespace memtool {

namespace {

// torch.compile's cache: "c" and the hash of the code, in base 32, as the file's name.
constexpr std::size_t kMinHash = 40;
constexpr std::string_view kCompiled = "(compiled)";

constexpr std::uint32_t kHidden = 0;  // frames count from 1
constexpr std::uint64_t kNoFile = 0;  // files of keys do, too

// Ranks of frames.
constexpr std::uint8_t kNative = 0;
constexpr std::uint8_t kFramework = 1;
constexpr std::uint8_t kInstalled = 2;
constexpr std::uint8_t kOwn = 3;

bool IsHash(std::string_view name) {
  return name.size() >= kMinHash && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
         });
}

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

std::vector<StackKeys::Frame> StackKeys::GetFrames(const Recording& recording) {
  FrameClasses classes(FrameClassifier::Builtin(), recording);
  OncePerText name_of(
      [&](StringId name) { return std::uint64_t{texts_.Intern(recording.Text(name)).value()}; });
  OncePerText file_of([&](StringId file) {
    return std::uint64_t{texts_.Intern(ComparableFile(recording.Text(file))).value()};
  });
  const auto id_of = [this](std::uint64_t name, std::uint64_t file) {
    return frames_.GetOrPut(name << 32U | file, static_cast<std::uint32_t>(frames_.size()) + 1);
  };
  const auto frame_of = [&](const Function& function) -> Frame {
    const FrameClass kind = classes(function);
    if (kind.python) {
      return {id_of(name_of(function.name), file_of(function.filename) + 1), kind.app ? kOwn
                                                                             : kind.installed
                                                                                 ? kInstalled
                                                                                 : kFramework};
    }
    if (kind.op || kind.call) {
      const std::string_view name = recording.Text(function.name);
      const std::string_view operation = OperationName(name);
      return {id_of(texts_.Intern(operation.empty() ? name : operation).value(), kNoFile), kNative};
    }
    return {};
  };
  std::vector<Frame> frames;
  frames.reserve(recording.lines.size());
  std::vector<std::optional<Frame>> of_function(recording.functions.size());
  for (const Line& line : recording.lines) {
    if (!line.function.valid()) {
      frames.emplace_back();
      continue;
    }
    std::optional<Frame>& known = of_function[line.function.value()];
    if (!known) {
      known = frame_of(recording.functions[line.function.value()]);
    }
    frames.push_back(*known);
  }
  return frames;
}

namespace {

// What of a stack is its key, frame by frame from the innermost on.
class KeyText {
 public:
  explicit KeyText(KeyLevel level) : level_(level) {}

  void Clear() {
    python_.clear();
    native_.clear();
    best_ = 0;
  }
  void Take(std::uint32_t frame, std::uint8_t rank, std::int64_t line) {
    const bool single = level_ == KeyLevel::kInnermost || level_ == KeyLevel::kOperation;
    if (rank == kNative) {
      if (!single || native_.empty()) {
        Add(native_, frame);
      }
    } else if (!single) {
      Add(python_, frame);
      if (level_ == KeyLevel::kFramesAndLines) {
        Add(python_, static_cast<std::uint32_t>(line));
      }
    } else if (rank > best_) {
      best_ = rank;
      python_.clear();
      Add(python_, frame);
    }
  }
  [[nodiscard]] const std::string& text() const {
    return python_.empty() || level_ == KeyLevel::kOperation ? native_ : python_;
  }

 private:
  static void Add(std::string& key, std::uint32_t part) {
    key.append(reinterpret_cast<const char*>(&part), sizeof(part));
  }

  KeyLevel level_;
  std::string python_;
  std::string native_;
  std::uint8_t best_ = 0;
};

}  // namespace

std::vector<std::uint32_t> StackKeys::Of(const Recording& recording) {
  const std::vector<Frame> frames = GetFrames(recording);
  std::vector<std::uint32_t> keys;
  keys.reserve(recording.stack_count());
  KeyText key(level_);
  for (std::uint32_t row = 0; row < recording.stack_count(); ++row) {
    key.Clear();
    for (const LocationId location : recording.Stack(StackId(row))) {
      const Location& at = recording.At(location);
      for (std::uint32_t line = at.first_line; line < at.first_line + at.line_count; ++line) {
        if (frames[line].id != kHidden) {
          key.Take(frames[line].id, frames[line].rank, recording.lines[line].line);
        }
      }
    }
    keys.push_back(key.text().empty()
                       ? kNoFrames
                       : keys_.try_emplace(key.text(), static_cast<std::uint32_t>(keys_.size()) + 1)
                             .first->second);
  }
  return keys;
}

}  // namespace memtool
