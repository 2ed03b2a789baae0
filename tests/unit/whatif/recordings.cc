#include "recordings.h"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>

#include "memtool/formats/open.h"
#include "memtool/profile/history/cut.h"
#include "support/files.h"

namespace memtool::tests {

std::vector<Generated> AllGenerated() {
  std::ifstream manifest(std::string(MEMTOOL_WHATIF_RECORDINGS) + "/manifest.tsv");
  std::vector<Generated> all;
  for (Generated one; manifest >> one.name >> one.limit >> one.retries >> one.failed;) {
    all.push_back(one);
  }
  return all;
}

std::shared_ptr<const HistoryIndex> OpenFile(const std::string& path) {
  auto recording = formats::OpenRecording(path);
  if (!recording) {
    throw std::runtime_error(ToString(recording.error()));
  }
  return std::make_shared<const HistoryIndex>(*std::move(recording));
}

std::shared_ptr<const HistoryIndex> OpenGenerated(const std::string& name) {
  return OpenFile(std::string(MEMTOOL_WHATIF_RECORDINGS) + "/" + name + ".json");
}

std::vector<std::string> RealFiles() {
  std::vector<std::string> files;
  if (const auto folder = test::ReferenceFolder("torch")) {
    for (const char* name : {"magma27", "silmont_mem", "wedsonlin_medium_1024_training",
                             "wedsonlin_medium_128_inference"}) {
      files.push_back((*folder / (std::string(name) + ".pickle")).string());
    }
  }
  return files;
}

std::shared_ptr<const HistoryIndex> WithoutHead(const HistoryIndex& index, int percent) {
  const auto count = static_cast<std::int64_t>(index.history().traces.front().event_count);
  const EventRange range{.trace = 0, .first = count * percent / 100, .last = count - 1};
  auto cut = CutHistory(index, {&range, 1});
  if (!cut) {
    throw std::runtime_error(ToString(cut.error()));
  }
  return std::make_shared<const HistoryIndex>(std::move(cut->recording));
}

whatif::Requests CollectRequests(const HistoryIndex& index, whatif::Rules rules) {
  return whatif::CollectRequests(index, index.history().traces.front(),
                                 whatif::RecordedSettings(index.recording()), rules);
}

whatif::Fidelity ComputeFidelity(const HistoryIndex& index, whatif::Rules rules) {
  return whatif::ComputeFidelity(index, index.history().traces.front(),
                                 whatif::RecordedSettings(index.recording()),
                                 CollectRequests(index, rules), rules);
}

std::string Text(const whatif::Fidelity& f) {
  std::string text = fmt::format(
      "placements {}/{}, segments {}/{} + {}, releases {}/{} + {}, failures {}/{}, blocks {}/{}, "
      "reserved {}",
      f.placements_equal, f.placements, f.segments_equal, f.segments, f.segments_false,
      f.releases_equal, f.releases, f.releases_false, f.failures_equal, f.failures, f.blocks_equal,
      f.blocks, f.reserved_difference);
  if (f.first) {
    text += fmt::format("; first {} at {}: {:#x} {:#x}", whatif::DifferenceName(f.first->kind),
                        f.first->event, f.first->expected, f.first->got);
  }
  return f.obstacle == whatif::Obstacle::kNone
             ? text
             : fmt::format("{}: {}", whatif::ObstacleName(f.obstacle), text);
}

}  // namespace memtool::tests
