#include <array>
#include <string_view>

#include "support/byte_cursor.h"
#include "torch_snapshot/pages/plot_page.h"
#include "torch_snapshot/torch_snapshot_reader.h"

namespace memtool::formats {

namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Keys as a pickle writes them: the length of the text before it.
Match SniffPickle(std::string_view text) {
  using std::string_view_literals::operator""sv;
  const bool everything = Has(text, "\x08segments") || Has(text, "\x08\0\0\0segments"sv) ||
                          Has(text,
                              "\x0d"
                              "device_traces") ||
                          Has(text, "\x0d\0\0\0device_traces"sv);
  const bool segments = Has(text, "device") && Has(text, "total_size") && Has(text, "blocks");
  return everything || segments ? Match::kCertain : Match::kPossible;
}

Match SniffJson(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::size_t at = text.find_first_not_of(kSpace, 1);
  if (text[0] == '[') {
    // A bare list of segments.
    return at != std::string_view::npos && text[at] == '{' && Has(text, "\"total_size\"") &&
                   Has(text, "\"segment_type\"")
               ? Match::kCertain
               : Match::kNo;
  }
  constexpr std::array<std::string_view, 6> kFirstKeys{
      "\"segments\"",      "\"device_traces\"",        "\"allocator_settings\"",
      "\"host_segments\"", "\"external_annotations\"", "\"host_traces\""};
  for (const std::string_view key : kFirstKeys) {
    if (at != std::string_view::npos && text.substr(at).starts_with(key)) {
      return Match::kCertain;
    }
  }
  return Match::kNo;
}

}  // namespace

Match TorchSnapshotReader::Sniff(std::span<const std::byte> head) const {
  std::string_view text = AsText(head);
  if (text.size() > 1 && text[0] == '\x80') {
    return text[1] >= 2 && text[1] <= 5 ? SniffPickle(text) : Match::kNo;
  }
  text = AfterSpace(text);
  if (text.size() < 2) {
    return Match::kNo;
  }
  if (text[0] == '{' || text[0] == '[') {
    return SniffJson(text);
  }
  if (text[0] == '<') {
    const bool snapshot = Has(text, "snapshot") || Has(text, "MemoryViz");
    const bool holds = snapshot && Has(text, "\"base64\"");
    return holds || torch_snapshot::IsPlotPage(text) ? Match::kCertain : Match::kNo;
  }
  return Match::kNo;
}

}  // namespace memtool::formats
