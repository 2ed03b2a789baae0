#include "memtool/profile/model/label_text.h"

#include <fmt/format.h>

namespace memtool {

std::string NumberText(const Recording& recording, const Label& label) {
  const std::string_view unit = recording.Text(label.unit);
  return fmt::format("{}{}{}", label.number, unit.empty() ? "" : " ", unit);
}

std::string LabelText(const Recording& recording, const Label& label) {
  return std::string(recording.Text(label.key)) + "=" +
         (label.numeric ? NumberText(recording, label) : std::string(recording.Text(label.text)));
}

std::string LabelText(const Recording& recording, LabelSetId labels) {
  std::string text;
  for (const Label& label : recording.Labels(labels)) {
    text += (text.empty() ? "" : " ") + LabelText(recording, label);
  }
  return text;
}

std::string LabelValues(const Recording& recording, LabelSetId labels, std::string_view key) {
  std::string joined;
  for (const Label& label : recording.Labels(labels)) {
    if (recording.Text(label.key) != key) {
      continue;
    }
    joined += joined.empty() ? "" : ",";
    if (label.numeric) {
      joined += fmt::format("{}", label.number);
      joined += recording.Text(label.unit).empty() ? "" : " ";
      joined += recording.Text(label.unit);
    } else {
      joined += recording.Text(label.text);
    }
  }
  return joined;
}

std::string TextOfProcess(std::string_view key, std::string_view text, std::string_view process) {
  const bool apart =
      process.empty() || key != "device" || text.find("process=") != std::string_view::npos;
  return std::string(text) + (apart ? "" : " (" + std::string(process) + ")");
}

}  // namespace memtool
