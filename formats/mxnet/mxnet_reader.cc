#include "mxnet/mxnet_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/keywords/keywords.h"
#include "mxnet/csv_rows.h"
#include "mxnet/forms.h"
#include "mxnet/rows.h"
#include "support/byte_cursor.h"
#include "support/read_error.h"
#include "support/text/lines.h"

namespace memtool::formats {

namespace {

using mxnet::Form;
using mxnet::RowTable;

constexpr std::size_t kHeadBytes = std::size_t{64} << 10U;
constexpr std::uint64_t kNegative = std::uint64_t{1} << 63U;
constexpr const char* kBadRow = "bad_row";

// Lines that are not what they should be: counted, and the first one reported.
class BadLines {
 public:
  void Add(const Lines& lines) {
    if (count_++ == 0) {
      first_ = lines.number();
      offset_ = lines.offset();
    }
  }
  void MoveTo(RecordingBuilder& builder, std::string code, std::string_view what) const {
    if (count_ > 0) {
      builder.AddDiagnostic({.severity = Severity::kDamage,
                             .code = std::move(code),
                             .message = fmt::format("{} (first: line {})", what, first_),
                             .offset = offset_,
                             .count = count_});
    }
  }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t offset_ = 0;
};

void Describe(RecordingBuilder& builder, std::string_view format, RecordingKind kind,
              std::string display) {
  builder.metadata().format = format;
  builder.metadata().format_display = std::move(display);
  builder.metadata().origin = {.framework = Framework::kMxnet, .kind = kind};
  builder.metadata().default_by = "tag";
  builder.metadata().frames_are_scopes = true;
}

void AddBlindSpots(RecordingBuilder& builder, bool frees) {
  builder.AddBlindSpot("CUDA context, cuDNN and NCCL",
                       "allocated below MXNet's storage managers: Untrackable");
  builder.AddBlindSpot("names of imperative calls",
                       "NDArray functions outside a graph have no names and are tagged unknown");
  if (!frees) {
    builder.AddBlindSpot("what was freed", "the log lists allocations that reached the driver");
  }
}

void NoteRows(RecordingBuilder& builder, const RowTable& rows) {
  builder.AddDiagnostic(Severity::kNote, "pinned_host",
                        fmt::format("rows of pinned host memory, {} bytes, listed with their "
                                    "device (--tagignore memory=pinned leaves them out)",
                                    rows.pinned_bytes()),
                        rows.pinned_rows());
}

// --- forms with a header

// What NVML shows for the process and the log does not; the writer subtracts unsigned numbers.
void AddAmend(RecordingBuilder& builder, const mxnet::CsvRow& row) {
  if (row.actual >= kNegative) {
    builder.AddDiagnostic({.severity = Severity::kWarning,
                           .code = "nvml_amend",
                           .message = fmt::format(
                               "nvml_amend of device {} is {}: NVML does not report it, or the log "
                               "lists more than the device holds",
                               row.device, row.actual)});
    return;
  }
  builder.AddCounter({.kind = CounterKind::kProcessBeyondRows,
                      .device = row.device,
                      .value = static_cast<std::int64_t>(row.actual)});
  builder.AddDiagnostic({.severity = Severity::kNote,
                         .code = "nvml_amend",
                         .message = fmt::format("NVML shows {} bytes more on device {} than the "
                                                "rows sum to; in no row",
                                                row.actual, row.device)});
}

Result<Recording> ReadCsv(ByteWindow& in, const Limits& limits, Form form) {
  RecordingBuilder builder;
  Lines lines(in, limits);
  RowTable rows(lines, limits);
  BadLines bad;
  BadLines more;  // asked for than given
  const mxnet::CsvRows parser(form);
  mxnet::CsvRow row;
  std::string_view line;
  lines.Next(line);  // the header
  while (lines.Next(line)) {
    if (line.empty() || line == " ") {
      continue;
    }
    if (!parser.Parse(line, row)) {
      bad.Add(lines);
      continue;
    }
    if (row.name == "nvml_amend" || row.name == "nvml:amend") {
      AddAmend(builder, row);
      continue;
    }
    if (row.requested >= kNegative || row.actual >= kNegative) {
      bad.Add(lines);
      continue;
    }
    const bool unrounded = row.actual == row.requested;
    if (row.requested > row.actual) {
      more.Add(lines);
      row.requested = row.actual;
    }
    rows.Add({.tag = row.name,
              .device = row.device,
              .reused = row.reused,
              .unrounded = unrounded,
              .structure = row.structure,
              .requested = static_cast<std::int64_t>(row.requested),
              .actual = static_cast<std::int64_t>(row.actual)});
  }
  const bool official = form == Form::kOfficial;
  Describe(builder, "mxnet", RecordingKind::kTagLog,
           official ? "MXNet GPU memory profile (CSV)" : "MXNet memory log (CSV with time stamps)");
  AddBlindSpots(builder, official);
  rows.Finish();
  rows.Fill(builder, true, false);
  NoteRows(builder, rows);
  bad.MoveTo(builder, kBadRow, "lines that are not rows");
  more.MoveTo(builder, "requested_above_size",
              "rows that ask for more than they got: what was asked for is unknown there, and what "
              "they got stands in for it");
  return std::move(builder).Finish();
}

// --- forms without a header

// Bytes are written as whole numbers; MiB as floats, of which some are whole. A file of whole
// numbers only is bytes when one of them is more MiB than a device has.
constexpr double kMoreThanAnyDevice = 1'000'000;

Result<Recording> ReadBare(ByteWindow& in, const Limits& limits) {
  RecordingBuilder builder;
  Lines lines(in, limits);
  RowTable rows(lines, limits);
  BadLines bad;
  std::string_view line;
  bool whole = true;
  double largest = 0;
  while (lines.Next(line)) {
    if (line.empty()) {
      continue;
    }
    const auto row = mxnet::ParseBareRow(line);
    if (!row) {
      bad.Add(lines);
      continue;
    }
    whole = whole && row->whole.has_value();
    largest = std::max(largest, row->number);
    rows.Add({.tag = row->tag, .actual = row->whole.value_or(0), .mebibytes = row->number});
  }
  const bool bytes = whole && largest > kMoreThanAnyDevice;
  Describe(builder, "mxnet", RecordingKind::kTagLog,
           fmt::format("MXNet memory log (without a header, {})", bytes ? "bytes" : "MiB"));
  AddBlindSpots(builder, false);
  builder.AddBlindSpot("which device", "all devices and pinned host memory are in one list");
  builder.AddDiagnostic(
      {.severity = Severity::kNote,
       .code = "unit",
       .message = bytes
                      ? "numbers are read as bytes: all are whole and one is over 1,000,000"
                      : "numbers are read as MiB; they have six digits, so sums are approximate"});
  rows.Finish();
  rows.Fill(builder, false, !bytes);
  NoteRows(builder, rows);
  bad.MoveTo(builder, kBadRow, "lines that are not rows (TAG,NUMBER)");
  return std::move(builder).Finish();
}

// --- TBD's log

// "[mem] F MB GPU global memory free, total T MB."
struct DeviceMemory {
  std::int64_t free = std::numeric_limits<std::int64_t>::max();
  std::int64_t total = 0;

  void Take(std::string_view line) {
    constexpr std::string_view kMem = "[mem] ";
    constexpr std::string_view kFree = " MB GPU global memory free, total ";
    const std::size_t at = line.find(kFree);
    const std::size_t mem = line.find(kMem);
    if (at == std::string_view::npos || mem == std::string_view::npos || mem > at) {
      return;
    }
    const std::string_view rest = line.substr(at + kFree.size());
    const auto free_mb = mxnet::ParseFinite(line.substr(mem + kMem.size(), at - mem - kMem.size()));
    const auto total_mb = mxnet::ParseFinite(rest.substr(0, rest.find(' ')));
    if (free_mb && total_mb) {
      free = std::min(free, Scaled(1048576, *free_mb));
      total = Scaled(1048576, *total_mb);
    }
  }
};

Result<Recording> ReadTbdLog(ByteWindow& in, const Limits& limits) {
  RecordingBuilder builder;
  Lines lines(in, limits);
  RowTable rows(lines, limits);
  BadLines bad;
  DeviceMemory device;
  std::uint64_t releases = 0;
  std::string_view line;
  while (lines.Next(line)) {
    if (const auto row = mxnet::ParseAllocateLine(line)) {
      rows.Add({.tag = row->tag, .requested = row->bytes, .actual = row->bytes});
    } else if (line.find("[mem] Allocate ") != std::string_view::npos) {
      bad.Add(lines);
    } else if (line.find("[mem] Release GPU memory") != std::string_view::npos) {
      ++releases;
    } else {
      device.Take(line);
    }
  }
  Describe(builder, "mxnet", RecordingKind::kTagLog, "MXNet memory log (TBD)");
  AddBlindSpots(builder, false);
  rows.Finish();
  rows.Fill(builder, false, false);
  NoteRows(builder, rows);
  if (device.total > 0) {
    builder.AddCounter({.kind = CounterKind::kDeviceTotal, .value = device.total});
    builder.AddCounter({.kind = CounterKind::kDeviceFreeLowest, .value = device.free});
  }
  builder.AddDiagnostic(Severity::kNote, "releases",
                        "releases, whose sizes the log does not give: not subtracted", releases);
  bad.MoveTo(builder, kBadRow, "lines that are not allocations");
  return std::move(builder).Finish();
}

// --- call stacks of unknown tags

class StackLog {
 public:
  StackLog(RecordingBuilder& builder, const Limits& limits)
      : builder_(builder), depth_(limits.depth) {
    const auto type = [&builder](std::string_view name, std::string_view unit, Role role) {
      return SampleType{.type = builder.Intern(name), .unit = builder.Intern(unit), .role = role};
    };
    std::vector<SampleType> types{type("allocations", "count", Role::kCount),
                                  type("actual", "bytes", Role::kBytes)};
    const StringId default_type = types.back().type;
    builder.StartProfile(std::move(types), default_type);
  }

  void Frame(const mxnet::BacktraceLine& line) {
    if (frames_.size() >= depth_) {
      ++cut_;
      return;
    }
    const std::pair<std::string, std::string> key(line.function, line.library);
    auto it = locations_.find(key);
    if (it == locations_.end()) {
      const std::array<Line, 1> frame{
          {{.function = builder_.AddFunction({.name = builder_.Intern(line.function),
                                              .filename = builder_.Intern(line.library)})}}};
      it = locations_.emplace(key, builder_.AddLocation({}, frame)).first;
    }
    frames_.push_back(it->second);
  }
  [[nodiscard]] std::uint64_t cut() const { return cut_; }
  void Message(const mxnet::UnknownTagLine& message) {
    if (message.stack_before) {
      Flush(message);
    } else {
      End();
      frames_.clear();  // they belong to another stack
      tag_ = message.tag;
      waiting_ = message;
    }
  }
  // A stack that follows its message ends with an empty line, the next message or the input.
  void End() {
    if (waiting_) {
      waiting_->tag = tag_;
      Flush(*waiting_);
      waiting_.reset();
    }
  }
  // Frames from before that no message followed.
  void Forget() {
    if (!waiting_) {
      frames_.clear();
    }
  }

 private:
  void Flush(const mxnet::UnknownTagLine& message) {
    auto [it, added] = stacks_.try_emplace(frames_);
    if (added) {
      it->second = builder_.AddStack(frames_);
    }
    const std::array<Label, 1> labels{
        {{.key = builder_.Intern(kTagKey), .text = builder_.Intern(message.tag)}}};
    const std::array<std::int64_t, 2> values{1, Scaled(1048576, message.mebibytes)};
    builder_.AddSample(it->second, builder_.InternLabels(labels), values);
    frames_.clear();
  }

  RecordingBuilder& builder_;
  std::uint64_t depth_;
  std::uint64_t cut_ = 0;  // frames beyond it
  std::map<std::pair<std::string, std::string>, LocationId> locations_;
  std::map<std::vector<LocationId>, StackId> stacks_;
  std::vector<LocationId> frames_;
  std::optional<mxnet::UnknownTagLine> waiting_;
  std::string tag_;
};

Result<Recording> ReadStacks(ByteWindow& in, const Limits& limits) {
  RecordingBuilder builder;
  StackLog log(builder, limits);
  Lines lines(in, limits);
  std::string_view line;
  while (lines.Next(line)) {
    if (const auto message = mxnet::ParseUnknownTagLine(line)) {
      log.Message(*message);
    } else if (const auto frame = mxnet::ParseBacktraceLine(line)) {
      log.Frame(*frame);
    } else if (line.empty()) {
      log.End();
    } else if (line.find("Stack trace") != std::string_view::npos) {
      log.Forget();
    }
  }
  log.End();
  builder.AddDiagnostic(Severity::kWarning, "deep_stack",
                        "frames deeper than --max depth: left out", log.cut());
  Describe(builder, "mxnet-stacks", RecordingKind::kTagStacks, "MXNet call stacks of unknown tags");
  builder.AddBlindSpot("tags that are known", "they are in the log beside this one");
  return std::move(builder).Finish();
}

}  // namespace

Match MxnetReader::Sniff(std::span<const std::byte> head) const {
  const auto form = mxnet::GetForm(AsText(head));
  if (!form || *form == Form::kUnknownTags) {
    return Match::kNo;
  }
  return *form == Form::kBare ? Match::kPossible : Match::kCertain;
}

Result<Recording> MxnetReader::Read(ByteWindow& in, const Limits& limits) const {
  const auto form = mxnet::GetForm(AsText(in.Fill(kHeadBytes)));
  if (form == Form::kOfficial || form == Form::kScoped) {
    return ReadCsv(in, limits, *form);
  }
  if (form == Form::kBare) {
    return ReadBare(in, limits);
  }
  return ReadTbdLog(in, limits);
}

Match MxnetStacksReader::Sniff(std::span<const std::byte> head) const {
  return mxnet::GetForm(AsText(head)) == Form::kUnknownTags ? Match::kCertain : Match::kNo;
}

Result<Recording> MxnetStacksReader::Read(ByteWindow& in, const Limits& limits) const {
  return ReadStacks(in, limits);
}

}  // namespace memtool::formats
