#include "capture_log/stacks/stack_maker.h"

#include <algorithm>
#include <string_view>

#include "capture_log/stacks/python_lines.h"

namespace memtool::formats::capture_log {

namespace {

constexpr std::string_view kEvaluates = "_PyEval_EvalFrameDefault";
constexpr std::size_t kMaxFrames = 1024;

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

bool IsInterpreter(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("python") || name.starts_with("libpython");
}

}  // namespace

MappingId StackMaker::GetMapping(std::uint64_t mapping) {
  const MappingRow* row = definitions_.mappings.Find(mapping);
  if (row == nullptr) {
    return {};
  }
  const auto [found, added] = mappings_.emplace(mapping, MappingId{});
  if (added) {
    found->second = builder_.AddMapping({.start = row->start,
                                         .limit = row->start + row->size,
                                         .offset = row->file_offset,
                                         .filename = builder_.Intern(symbols_.GetPath(*row)),
                                         .build_id = builder_.Intern(Hex(row->build_id))});
  }
  return found->second;
}

const StackMaker::Native& StackMaker::GetNative(const FrameRow& row) {
  const auto [found, added] = natives_.emplace(std::pair(row.mapping, row.address), Native{});
  if (!added) {
    return found->second;
  }
  Native& native = found->second;
  std::vector<Line> lines;
  const MappingRow* mapping = definitions_.mappings.Find(row.mapping);
  if (mapping != nullptr) {
    native.interpreter = IsInterpreter(symbols_.GetPath(*mapping));
    for (const Symbol& symbol : symbols_.At(*mapping, row.address - 1)) {
      native.evaluates = native.evaluates || symbol.system_name.starts_with(kEvaluates);
      const FunctionId function = builder_.AddFunction(
          {.name = builder_.Intern(symbol.name),
           .system_name = builder_.Intern(symbol.system_name),
           .filename = builder_.Intern(symbol.file.empty() ? "??" : symbol.file)});
      lines.push_back({.function = function, .line = symbol.line});
    }
  }
  native.location =
      builder_.AddLocation({.mapping = GetMapping(row.mapping), .address = row.address - 1}, lines);
  return native;
}

LocationId StackMaker::GetPythonLocation(const PyFrameRow& row) {
  const auto [found, added] = pythons_.emplace(std::pair(row.code, row.position), LocationId{});
  if (!added) {
    return found->second;
  }
  const CodeRow* code = definitions_.codes.Find(row.code);
  const CodeRow unknown{.name = "(lost Python function)"};
  const CodeRow& known = code == nullptr ? unknown : *code;
  const StringId name = builder_.Intern(known.name);
  const FunctionId function = builder_.AddFunction({.name = name,
                                                    .system_name = name,
                                                    .filename = builder_.Intern(known.file),
                                                    .start_line = known.first_line});
  const Line line{.function = function, .line = PythonLine(known, row.position)};
  found->second = builder_.AddLocation({}, std::span(&line, 1));
  return found->second;
}

// Each call of the evaluation loop stands for the Python frames up to the one that it was entered
// with. Where loops and entries do not match in number (a part of the stack is missing, the
// interpreter has no symbols), all Python frames go where the first function of the interpreter is.
std::vector<LocationId> StackMaker::Merge(const StackRow& row) {
  std::vector<const PyFrameRow*> python;
  for (std::uint64_t id = row.python; python.size() < kMaxFrames;) {
    const PyFrameRow* frame = definitions_.py_frames.Find(id);
    if (frame == nullptr) {
      break;
    }
    python.push_back(frame);
    id = frame->parent;
  }
  std::vector<Native> native;
  for (std::uint64_t id = row.native; native.size() < kMaxFrames;) {
    const FrameRow* frame = definitions_.frames.Find(id);
    if (frame == nullptr) {
      break;
    }
    native.push_back(GetNative(*frame));
    id = frame->parent;
  }
  const auto loops = std::count_if(native.begin(), native.end(),
                                   [](const Native& frame) { return frame.evaluates; });
  const auto entries = std::count_if(python.begin(), python.end(),
                                     [](const PyFrameRow* frame) { return frame->entry; });
  std::vector<LocationId> merged;
  std::size_t next = 0;
  const auto add_all = [&] {
    for (; next < python.size(); ++next) {
      merged.push_back(GetPythonLocation(*python[next]));
    }
  };
  for (const Native& frame : native) {
    if (loops != entries && frame.interpreter && !python.empty()) {
      break;
    }
    if (!frame.evaluates || python.empty()) {
      merged.push_back(frame.location);
      continue;
    }
    for (bool entered = false; next < python.size() && !entered; ++next) {
      merged.push_back(GetPythonLocation(*python[next]));
      entered = python[next]->entry;
    }
  }
  add_all();
  return merged;
}

StackId StackMaker::Of(std::uint64_t stack) {
  const StackRow* row = definitions_.stacks.Find(stack);
  if (row == nullptr) {
    return {};
  }
  const auto [found, added] = stacks_.emplace(stack, StackId{});
  if (added) {
    std::vector<LocationId> merged = Merge(*row);
    const auto [known, is_new] = same_.emplace(std::move(merged), StackId{});
    if (is_new) {
      known->second = builder_.AddStack(known->first);
    }
    found->second = known->second;
  }
  return found->second;
}

}  // namespace memtool::formats::capture_log
