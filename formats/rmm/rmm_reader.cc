#include "rmm/rmm_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording_builder.h"
#include "rmm/rmm_row.h"
#include "support/byte_cursor.h"
#include "support/history/address_events.h"
#include "support/read_error.h"
#include "support/text/lines.h"

namespace memtool::formats {

namespace {

using rmm::RmmAction;
using rmm::RmmRow;

class RmmLog {
 public:
  RmmLog(ByteWindow& in, const Limits& limits, RecordingBuilder& builder)
      : lines_(in, limits), builder_(builder) {
    events_.AddPlace(
        {.trace = "0", .domain = "allocations", .device = 0, .level = DomainLevel::kAllocator});
  }

  // Throws ReadError where there is no row at all.
  void Read() {
    std::string_view line;
    while (lines_.Next(line)) {
      if (const auto row = rmm::ParseRow(line)) {
        Take(*row);
      } else if (rmm::BeginsAsRow(line)) {
        ++damaged_;
      } else if (line == rmm::kHeader) {
        headers_ += 1;
      } else if (!line.empty()) {
        ++others_;
      }
    }
    if (rows_ == 0) {
      ThrowRead(ErrorCode::kMalformed, 0, {},
                "there is no row of RMM's log in it: " + std::string(rmm::kHeader));
    }
  }

  void Finish() {
    Note(Severity::kDamage, "skipped_row", "rows that are cut short or not whole", damaged_);
    // With a header all lines are rows.
    Note(headers_ > 0 ? Severity::kDamage : Severity::kNote, "other_lines",
         headers_ > 0 ? "lines that are no rows: left out" : "lines of other output between rows",
         others_);
    Note(Severity::kNote, "retried",
         "requests that failed and were met when the thread asked again: no failures", retried_);
    Note(Severity::kNote, "empty_requests", "requests for 0 bytes and their frees, which hold none",
         empty_);
    Note(Severity::kNote, "reused_addresses",
         "allocations at an address whose free is not in the log", events_.reopened());
    Note(Severity::kDamage, "changed_size", "frees whose size is not that of their allocation",
         events_.changed_sizes());
    builder_.SetHistory(std::move(events_).Finish(Clock::kRelative));
  }

 private:
  void Note(Severity severity, std::string code, std::string message, std::uint64_t count) {
    builder_.AddDiagnostic(severity, std::move(code), std::move(message), count);
  }

  void Take(const RmmRow& row) {
    lines_.CheckRows(++rows_);
    Event event{.key = row.pointer,
                .size = row.size,
                .time = TimeOf(row.time),
                .stream = events_.StreamOf(row.stream),
                .action = Action::kAlloc};
    const LabelSetId labels = LabelsOf(row.thread);
    if (row.action == RmmAction::kFailure) {
      event.key = kUnknownBytes;  // what was free
      event.action = Action::kOom;
      failures_[{row.thread, row.size}].push_back(events_.Add(event, labels));
    } else if (row.pointer == 0 || row.size == 0) {
      ++empty_;
    } else if (row.action == RmmAction::kAllocate) {
      events_.Allocate(0, event, labels);
      EndFailures(row);
    } else {
      events_.Free(0, event, row.size, 0, labels);
    }
  }

  // Rows have the time of day only. Threads write at the same time: rows may be a little out of
  // order, and keep the order of the log.
  std::int64_t TimeOf(std::int64_t of_day) {
    constexpr std::int64_t kDay = 86'400'000'000'000;
    const std::int64_t time = day_ + of_day;
    if (rows_ > 1 && time < last_ - kDay / 2) {
      day_ += kDay;
    }
    last_ = std::max(last_, day_ + of_day);
    return last_;
  }

  // Spark spills and asks again, and so do programs with a callback on failure.
  void EndFailures(const RmmRow& row) {
    if (failures_.empty()) {
      return;
    }
    const auto known = failures_.find(std::pair(row.thread, row.size));
    if (known != failures_.end()) {
      for (const std::size_t event : known->second) {
        events_.Change(event, Action::kOther);
      }
      retried_ += known->second.size();
      failures_.erase(known);
    }
  }

  LabelSetId LabelsOf(std::uint64_t thread) {
    const auto [known, added] = labels_.try_emplace(thread);
    if (added) {
      const Label label{.key = builder_.Intern("thread"),
                        .text = builder_.Intern(fmt::format("{}", thread)),
                        .unit = StringId(0U)};
      known->second = builder_.InternLabels({&label, 1});
    }
    return known->second;
  }

  Lines lines_;
  RecordingBuilder& builder_;
  AddressEvents events_;
  KeyMap<std::uint64_t, LabelSetId> labels_;  // by thread
  // Failures that nothing followed so far, by thread and size.
  KeyMap<std::pair<std::uint64_t, std::int64_t>, std::vector<std::size_t>> failures_;
  std::int64_t day_ = 0;
  std::int64_t last_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t headers_ = 0;
  std::uint64_t damaged_ = 0;
  std::uint64_t others_ = 0;
  std::uint64_t retried_ = 0;
  std::uint64_t empty_ = 0;
};

bool HasRow(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    line = line.substr(0, line.find('\r'));
    if (end != std::string_view::npos && rmm::ParseRow(line)) {
      return true;
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return false;
}

}  // namespace

Match RmmReader::Sniff(std::span<const std::byte> head) const {
  const std::string_view text = AsText(head);
  const std::string_view first = text.substr(0, text.find_first_of("\r\n"));
  if (first == rmm::kHeader || rmm::ParseRow(first)) {
    return Match::kCertain;
  }
  // Among other output; that may be a log of other kinds, too.
  return HasRow(text) ? Match::kPossible : Match::kNo;
}

Result<Recording> RmmReader::Read(ByteWindow& in, const Limits& limits) const {
  RecordingBuilder builder;
  builder.Intern({});
  Metadata& metadata = builder.metadata();
  metadata.format_display = "RMM log";
  metadata.origin = {.framework = Framework::kRapids, .kind = RecordingKind::kTrace};
  metadata.default_by = "size";
  RmmLog log(in, limits, builder);
  log.Read();
  log.Finish();
  builder.AddBlindSpot("which device", "only the log's name says it: NAME.dev0.csv");
  builder.AddBlindSpot("the date", "rows have the time of day");
  builder.AddBlindSpot("the code that allocated", "rows have a thread and a stream");
  builder.AddBlindSpot("what the pool holds",
                       "rows are requests, not what it took from the driver");
  builder.AddBlindSpot("the end of a crashed program",
                       "rows are written late: the last ones may be missing");
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
