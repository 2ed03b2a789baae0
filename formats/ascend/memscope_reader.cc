#include "ascend/memscope_reader.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "ascend/csv/bad_rows.h"
#include "ascend/csv/csv_values.h"
#include "ascend/memscope_events.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/byte_cursor.h"
#include "support/read_error.h"
#include "support/text/csv_fields.h"
#include "support/text/lines.h"

namespace memtool::formats {

namespace {

using ascend::MemscopeRow;

struct Title {
  std::string_view title;
  std::string_view MemscopeRow::*field = nullptr;
  bool needed = true;  // stacks are only there when they were asked for
};
constexpr std::array<Title, 12> kTitles{{
    {"ID", &MemscopeRow::id},
    {"Event", &MemscopeRow::event},
    {"Event Type", &MemscopeRow::type},
    {"Name", &MemscopeRow::name},
    {"Timestamp(ns)", &MemscopeRow::time},
    {"Process Id", &MemscopeRow::process},
    {"Thread Id", &MemscopeRow::thread},
    {"Device Id", &MemscopeRow::device},
    {"Ptr", &MemscopeRow::pointer},
    {"Attr", &MemscopeRow::attributes},
    {"Call Stack(Python)", &MemscopeRow::python_stack, false},
    {"Call Stack(C)", &MemscopeRow::c_stack, false},
}};

// Which member each column is; empty where the line is no header.
std::vector<const Title*> ParseHeader(std::string_view line) {
  constexpr std::size_t kMaxHeader = 4096;
  std::vector<const Title*> columns;
  if (line.size() > kMaxHeader) {
    return columns;
  }
  CsvFields fields(CsvPadding::kBlanks);
  if (!fields.Split(line)) {
    return columns;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string_view field = fields[i];
    const auto* title = std::find_if(kTitles.begin(), kTitles.end(),
                                     [field](const Title& each) { return each.title == field; });
    columns.push_back(title == kTitles.end() ? nullptr : title);
  }
  const bool all = std::all_of(kTitles.begin(), kTitles.end(), [&columns](const Title& title) {
    return !title.needed || std::find(columns.begin(), columns.end(), &title) != columns.end();
  });
  return all ? columns : std::vector<const Title*>();
}

// Rows, of which some go on in the next line: stacks have one for each frame.
class RowText {
 public:
  RowText(Lines& lines, const Limits& limits) : lines_(lines), limits_(limits) {}

  bool Next(std::string_view& row) {
    std::string_view line;
    if (!lines_.Next(line)) {
      return false;
    }
    row = line;
    if (!CsvFields::EndsInQuote(line)) {
      return true;
    }
    joined_ = line;
    while (lines_.Next(line)) {
      if (joined_.size() + line.size() > limits_.record_bytes) {
        ThrowRead(ErrorCode::kLimit, lines_.offset(), {}, "a row longer than the limit on records",
                  "--max record-bytes=SIZE raises it");
      }
      joined_ += '\n';
      joined_ += line;
      if (CsvFields::EndsInQuote(line)) {  // two halves
        break;
      }
    }
    row = joined_;
    return true;
  }

 private:
  Lines& lines_;
  const Limits& limits_;
  std::string joined_;
};

}  // namespace

Match MemscopeReader::Sniff(std::span<const std::byte> head) const {
  std::string_view line = AsText(head);
  line = line.substr(0, line.find_first_of("\r\n"));
  return ParseHeader(line).empty() ? Match::kNo : Match::kCertain;
}

Result<Recording> MemscopeReader::Read(ByteWindow& in, const Limits& limits) const {
  RecordingBuilder builder;
  builder.Intern({});
  Lines lines(in, limits);
  std::string_view line;
  lines.Next(line);
  const std::string header(line);
  const auto columns = ParseHeader(header);
  if (columns.empty()) {
    return Fail(ErrorCode::kMalformed, "no header of a recording of msMemScope");
  }
  ascend::MemscopeEvents events(builder, limits);
  CsvFields fields(CsvPadding::kBlanks);
  ascend::BadRows bad;
  RowText rows(lines, limits);
  while (rows.Next(line)) {
    if (line.empty() || line == header) {  // the file is continued
      continue;
    }
    const bool whole = fields.Split(line);
    MemscopeRow row;
    for (std::size_t i = 0; i < std::min(fields.size(), columns.size()); ++i) {
      if (columns[i] != nullptr) {
        row.*(columns[i]->field) = fields[i];
      }
    }
    if (!whole || !events.Add(row)) {
      bad.Add(lines);
    }
  }
  builder.metadata().format = name();
  builder.metadata().format_display = "recording of msMemScope on an Ascend NPU";
  builder.metadata().origin = {
      .framework = Framework::kPyTorch, .kind = RecordingKind::kTrace, .platform = "NPU"};
  events.Finish();
  bad.MoveTo(builder, "lines that are not rows, or lack an address, a size or a time: left out");
  builder.AddBlindSpot("what was allocated before the recording",
                       "of each allocator only its sum is known");
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
