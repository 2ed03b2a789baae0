// Of several compiled programs the one that needs most.
#include "session/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "inputs/xla_dump.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/replay/history_index.h"
#include "session/input_reader.h"

namespace memtool::commands {

bool IsProgram(const Recording& recording) {
  return recording.metadata.origin.kind == RecordingKind::kProgram;
}

std::string ProgramName(const std::string& name, const Recording& recording) {
  std::string dumped = DumpedProgram(name);
  for (const Setting& setting : recording.settings) {
    if (dumped == name && setting.name == "module" && !setting.value.empty()) {
      dumped = fmt::format("{} ({})", setting.value, name);
    }
  }
  return dumped;
}

void InputReader::Largest::Add(Read program) {
  std::int64_t needs = 0;
  if (program.index) {
    for (std::size_t i = 0; i < program.index->history().traces.size(); ++i) {
      const TraceSummary& summary = program.index->summary(i);
      needs = SaturatingAdd(needs, summary.device < 0 ? 0 : summary.peak_bytes);
    }
  }
  if (needs <= bytes) {
    others.push_back(program.note);
    return;
  }
  if (read) {
    others.push_back(read->note);
  }
  bytes = needs;
  read = std::move(program);
}

std::string InputReader::NoteLargest(Largest& largest) {
  if (largest.others.empty()) {
    return {};
  }
  std::string text = fmt::format(
      "{} programs, which need not be there at once and are not added up: this is {}, which needs "
      "most; memtool top lists all",
      largest.others.size() + 1, ProgramName(largest.read->name, *largest.read->recording));
  std::sort(largest.others.begin(), largest.others.end());
  for (auto row = largest.others.rbegin(); row != largest.others.rend(); ++row) {
    notes_.erase(notes_.begin() + static_cast<std::ptrdiff_t>(*row));
    displays_.erase(displays_.begin() + static_cast<std::ptrdiff_t>(*row));
    largest.read->note -= *row < largest.read->note ? 1 : 0;
  }
  return text;
}

Result<void> InputReader::ForLargest(const std::vector<std::string>& names,
                                     const VisitRecording& visit) {
  Largest largest;
  MEMTOOL_TRY(ForEachRecording(
      names, [&](std::string name, std::shared_ptr<const Recording> recording) -> Result<void> {
        auto index = recording->history ? IndexOf(recording) : nullptr;
        largest.Add({std::move(name), std::move(recording), std::move(index), notes_.size() - 1});
        return {};
      }));
  if (const std::string text = NoteLargest(largest); !text.empty()) {
    Warn(streams_, text);
  }
  return visit(largest.read->name, std::move(largest.read->recording));
}

bool AreDumped(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(),
                     [](const std::string& name) { return DumpedProgram(name) != name; });
}

Result<std::vector<std::string>> LargestProgram(std::vector<std::string> names,
                                                const InputOptions& input, Streams& streams) {
  if (names.size() < 2 || !AreDumped(names)) {
    return names;
  }
  InputReader input_reader(input, streams);
  std::string largest;
  MEMTOOL_TRY(input_reader.ForLargest(
      names, [&largest](std::string name, const std::shared_ptr<const Recording>&) -> Result<void> {
        largest = std::move(name);
        return {};
      }));
  return std::vector{std::move(largest)};
}

std::vector<std::string> Sides::BasesFirst() const {
  std::vector<std::string> all = bases;
  all.insert(all.end(), names.begin(), names.end());
  return all;
}

Result<Sides> GetSides(const InputOptions& input, const std::vector<std::string>& bases, bool one,
                       Streams& streams) {
  auto names = input.Names(streams);
  MEMTOOL_TRY(names);
  auto files = input.GetFiles(bases, streams);
  MEMTOOL_TRY(files);
  if (one || !bases.empty()) {
    names = LargestProgram(*std::move(names), input, streams);
    MEMTOOL_TRY(names);
    files = LargestProgram(*std::move(files), input, streams);
    MEMTOOL_TRY(files);
  }
  return Sides{.names = *std::move(names), .bases = *std::move(files)};
}

}  // namespace memtool::commands
