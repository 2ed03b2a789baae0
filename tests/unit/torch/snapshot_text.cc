#include "snapshot_text.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace memtool::tests {

std::string CorpusFile(const std::string& name) {
  return std::string(MEMTOOL_TORCH_CORPUS) + "/" + name;
}

std::string ReadWhole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Result<Recording> LoadText(const std::string& bytes) {
  return formats::OpenRecording(formats::MakeMemorySource(std::as_bytes(std::span(bytes))),
                                "memory");
}

std::string StackText(const Recording& recording, StackId stack) {
  std::string text;
  if (!stack.valid()) {
    return "-";
  }
  for (const LocationId id : recording.Stack(stack)) {
    for (const Line& line : recording.Lines(recording.At(id))) {
      const Function& function = recording.functions[line.function.value()];
      text += fmt::format("{}{}:{}:{}", text.empty() ? "" : ";", recording.Text(function.name),
                          recording.Text(function.filename), line.line);
    }
  }
  return text;
}

std::string LabelText(const Recording& recording, std::size_t event) {
  std::string text;
  if (recording.history->labels.empty()) {
    return text;
  }
  for (const Label& label : recording.Labels(recording.history->labels[event])) {
    text += fmt::format("{}{}=", text.empty() ? "" : " ", recording.Text(label.key));
    text += label.numeric ? std::to_string(label.number) : std::string(recording.Text(label.text));
  }
  return text;
}

std::string Describe(const Recording& recording) {
  std::string text;
  const History& history = *recording.history;
  for (const Trace& trace : history.traces) {
    text += fmt::format("trace {} {} {}+{} {}\n", trace.device, trace.name, trace.first_event,
                        trace.event_count, trace.overflowed);
  }
  for (std::size_t i = 0; i < history.events.size(); ++i) {
    const Event& e = history.events[i];
    text += fmt::format("event {} {:x} {} {} {} {} [{}] {}\n", static_cast<int>(e.action), e.key,
                        e.size, e.time, history.streams[e.stream], e.domain,
                        LabelText(recording, i), StackText(recording, e.stack));
  }
  for (std::size_t i = 0; recording.state && i < recording.state->segments.size(); ++i) {
    const Segment& s = recording.state->segments[i];
    text += fmt::format("segment {} {:x} {} {} {} {} {} {} {}\n", s.device, s.address, s.size,
                        s.allocated, s.active, s.requested, s.small, s.host,
                        StackText(recording, s.stack));
    for (std::uint32_t k = 0; k < s.block_count; ++k) {
      const Block& b = recording.state->blocks[s.first_block + k];
      text += fmt::format("block {:x} {} {} {} {}\n", b.address, b.size, b.requested,
                          static_cast<int>(b.state), StackText(recording, b.stack));
    }
  }
  for (const Mark& mark : history.marks) {
    text += fmt::format("mark {} {} {} {}\n", mark.name, mark.device, mark.begin, mark.end);
  }
  for (const Setting& setting : recording.settings) {
    text += fmt::format("{} = {}\n", setting.name, setting.value);
  }
  return text;
}

}  // namespace memtool::tests
