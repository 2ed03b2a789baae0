// memtool account: from what the device has down to what the rows hold.
#include "memtool/profile/account/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <charconv>

#include "command.h"
#include "memtool/formats/ground_truth.h"
#include "memtool/formats/open.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/rows/buckets.h"
#include "memtool/profile/select/stack_sums.h"
#include "options/expected_options.h"
#include "options/keywords_option.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

std::string_view KindName(AccountStep::Kind kind) {
  switch (kind) {
    case AccountStep::Kind::kFact:
      return "fact";
    case AccountStep::Kind::kDifference:
      return "difference";
    case AccountStep::Kind::kUnknown:
      break;
  }
  return "unknown";
}

constexpr std::int64_t kMebibyte = 1048576;

// What the filters keep, a device for example.
std::int64_t KeptTotal(const Selection& loaded) {
  std::int64_t total = 0;
  for (const StackSum& sum : loaded.sums().rows) {
    total = SaturatingAdd(total, sum.value);
  }
  return total;
}

constexpr std::string_view kDriverLog = "capture_log";

bool IsHost(const Recording& recording, LabelSetId labels) {
  const auto set = recording.Labels(labels);
  return std::any_of(set.begin(), set.end(), [&recording](const Label& label) {
    return recording.Text(label.key) == "device" && recording.Text(label.text) == "host";
  });
}

struct WithoutHost {
  Selection selection;
  std::int64_t bytes = 0;  // of host memory, left out
};

// A log of the driver's calls without the samples of host memory: no device holds them. Errors:
// those of RecordingBuilder::Finish.
Result<WithoutHost> LeaveHostOut(const Selection& loaded) {
  RecordingBuilder builder(loaded.recording());
  Profile& profile = builder.samples();
  std::int64_t host = 0;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    if (loaded.view().Keeps(profile.label_sets[i]) &&
        IsHost(loaded.recording(), profile.label_sets[i])) {
      host = SaturatingAdd(host, profile.values[loaded.choice().type][i]);
      for (std::vector<std::int64_t>& values : profile.values) {
        values[i] = 0;
      }
    }
  }
  auto rest = std::move(builder).Finish();
  MEMTOOL_TRY(rest);
  return WithoutHost{loaded.Of(*std::move(rest)), host};
}

class AccountCommand final : public RowsCommand {
 public:
  AccountCommand() : RowsCommand(ByOption{}) {}

  [[nodiscard]] Doc doc() const override {
    return {.summary = "from the device's capacity down to what the program's rows hold",
            .usage = "[options] [FILE...]",
            .examples =
                "memtool account snapshot.pickle --expected-sum @smi.csv --pid 4242\n"
                "memtool account snapshot.pickle smi.csv --capacity 80GiB\n"
                "memtool account snapshot.pickle train.mtcap smi.csv\n"
                "memtool account memory_stats.json --capacity 24GiB --expected-sum 20GiB"};
  }

 private:
  void DeclareMore(po::options_description& options) override {
    po::options_description group("Account");
    expected_.Declare(group.add_options());
    keywords_.Declare(group.add_options());
    group.add_options()("capacity", po::value(&capacity_)->value_name("SIZE"),
                        "what the device has");
    options.add(group);
  }

  Result<void> ResolveMore() override {
    if (!capacity_.empty()) {
      auto bytes = ParseSize(capacity_, input().size_base());
      if (!bytes) {
        Error error = std::move(bytes.error());
        error.message = "--capacity: " + error.message;
        return Fail(std::move(error));
      }
      facts_.capacity = Quantity{.bytes = *bytes, .source = "--capacity"};
    }
    return keywords_.Resolve();
  }

  // Files that say what the device has are read here; what is left are recordings.
  Result<std::vector<std::string>> Names(Streams& streams) override {
    std::vector<std::string> recordings;
    auto expected = expected_.Resolve(input().size_base(), keywords_.expected_sum());
    MEMTOOL_TRY(expected);
    if (*expected) {
      TakeExpected(**expected);
    }
    auto names = RowsCommand::Names(streams);
    if (!names) {
      return names;
    }
    for (std::string& name : *names) {
      if (name == "-" || formats::CertainReader(name) != nullptr) {
        recordings.push_back(std::move(name));
        continue;
      }
      auto document = formats::Open(name, {.limits = input().load().limits,
                                           .wanted = {.recordings = false, .ground_truth = true}});
      if (!document) {
        recordings.push_back(std::move(name));  // its own reader says what is wrong with it
        continue;
      }
      MEMTOOL_TRY(TakeTruth(document->ground_truth(), name));
    }
    return recordings;
  }

  // The row that --pid and --gpu choose, and of a process also the row of its device.
  Result<void> TakeTruth(const formats::GroundTruth& truth, const std::string& name) {
    auto reading = formats::ChooseReading(truth, expected_.choice());
    if (!reading) {
      Error error = std::move(reading.error());
      error.input = error.input.empty() ? name : error.input;
      return Fail(std::move(error));
    }
    Take(*reading, truth.display);
    const auto is_its_device = [&reading](const formats::Reading& each) {
      return each.scope == formats::TruthScope::kDevice && each.gpu == reading->gpu;
    };
    const auto device = std::find_if(truth.readings.begin(), truth.readings.end(), is_its_device);
    if (reading->scope == formats::TruthScope::kProcess && reading->gpu &&
        device != truth.readings.end()) {
      Take(*device, truth.display);
    }
    statements_.push_back(name + " · " + truth.display + " · " +
                          formats::DescribeReading(*reading));
    return {};
  }

  void TakeExpected(const Expected& expected) {
    statements_.push_back("expected " + expected.echo);
    if (expected.reading && expected.reading->scope != formats::TruthScope::kNumber) {
      Take(*expected.reading, expected.echo.substr(0, expected.echo.find(" = ")));
    } else {
      facts_.process = Quantity{
          .bytes = expected.bytes, .precision = expected.precision, .source = "--expected-sum"};
    }
  }

  // The first statement about a step wins; commands name inputs in the order of their trust.
  static void Put(std::optional<Quantity>& fact, std::optional<std::int64_t> bytes,
                  std::int64_t precision, const std::string& source) {
    if (!fact && bytes) {
      fact = Quantity{.bytes = *bytes, .precision = precision, .source = source};
    }
  }

  void Take(const formats::Reading& reading, const std::string& source) {
    switch (reading.scope) {
      case formats::TruthScope::kDevice:
        Put(facts_.capacity, reading.total, reading.precision, source);
        Put(facts_.used, reading.used, reading.precision, source);
        Put(facts_.free, reading.free, reading.precision, source);
        break;
      case formats::TruthScope::kProcess:
        Put(facts_.process, reading.used, reading.precision, source);
        break;
      case formats::TruthScope::kAllocator:
        Put(facts_.reserved, reading.reserved, reading.precision, source);
        Put(facts_.allocated, reading.allocated, reading.precision, source);
        Put(facts_.requested, reading.requested, reading.precision, source);
        if (source.find("JAX") != std::string::npos) {
          facts_.reserved_note = PoolNote(reading.total);
        }
        break;
      case formats::TruthScope::kNumber:
        Put(facts_.process, reading.used, reading.precision, source);
        break;
    }
  }

  // XLA takes its memory from the driver in one pool.
  static std::string PoolNote(std::optional<std::int64_t> limit) {
    return limit ? fmt::format(
                       "XLA's pool, preallocated; its limit is {} "
                       "(XLA_PYTHON_CLIENT_MEM_FRACTION)",
                       FormatSize(*limit))
                 : "XLA preallocates three quarters of a GPU (XLA_PYTHON_CLIENT_PREALLOCATE); how "
                   "much it took is told by device.memory_stats() as JSON";
  }

  [[nodiscard]] std::int32_t DeviceNumber() const {
    std::int32_t device = -1;
    const std::string& text = view().device();
    std::from_chars(text.data(), text.data() + text.size(), device);
    return device;
  }

  // A log of the driver's calls: beside a snapshot it tells what is not the framework's, alone all
  // that the process took.
  Result<void> TakeDriverLog(const Session& session, Selection& loaded) {
    auto on_device = LeaveHostOut(loaded);
    MEMTOOL_TRY(on_device);
    loaded = std::move(on_device->selection);
    if (on_device->bytes > 0) {
      statements_.push_back(fmt::format("pinned host memory of {}: {}, on no device", loaded.name(),
                                        FormatSize(on_device->bytes)));
    }
    const Quantity kept{.bytes = KeptTotal(loaded), .source = std::string(kDriverLog)};
    if (!session.joins().driver()) {
      TakeRecording(loaded);
      return {};
    }
    facts_.recorded =
        Quantity{.bytes = SaturatingAdd(facts_.recorded ? facts_.recorded->bytes : 0, kept.bytes),
                 .source = kept.source};
    if (!driver_table_) {
      auto file = formats::ReadKeywords("builtin:driver");
      auto keywords = file ? Keywords::Compile(std::move(file->dictionary))
                           : Result<Keywords>(Fail(std::move(file.error())));
      MEMTOOL_TRY(keywords);
      driver_keywords_ = *std::move(keywords);
      driver_table_.emplace(*driver_keywords_, Multi::kFirst, space_);
    }
    return driver_table_->Add(InputOf(loaded));
  }

  void TakeRecording(const Selection& loaded) {
    const AccountFacts facts = FactsOf(loaded.recording(), loaded.moments(), DeviceNumber());
    for (auto fact :
         {&AccountFacts::free, &AccountFacts::reserved, &AccountFacts::allocated,
          &AccountFacts::requested, &AccountFacts::releasable, &AccountFacts::private_pools}) {
      if (!(facts_.*fact)) {
        facts_.*fact = facts.*fact;
      }
    }
    if (loaded.recording().metadata.origin.framework == Framework::kJax &&
        facts_.reserved_note.empty()) {
      facts_.reserved_note = PoolNote(std::nullopt);
    }
    TakeCounters(loaded);
    if (loaded.recording().metadata.origin.kind == RecordingKind::kDriverLog && !facts_.reserved) {
      facts_.reserved = Quantity{.bytes = KeptTotal(loaded), .source = std::string(kDriverLog)};
      facts_.reserved_note = "what the process took from the driver, whoever asked for it";
    }
    if (!facts_.requested) {
      facts_.requested =
          Quantity{.bytes = KeptTotal(loaded), .source = loaded.recording().metadata.format};
    }
  }

  // MXNet's log tells what NVML saw beyond its rows, TBD's what the device has.
  void TakeCounters(const Selection& loaded) {
    std::optional<std::int64_t> beyond;
    for (const Counter& counter : loaded.recording().counters) {
      if (DeviceNumber() >= 0 && counter.device >= 0 && counter.device != DeviceNumber()) {
        continue;
      }
      if (counter.kind == CounterKind::kProcessBeyondRows) {
        beyond = SaturatingAdd(beyond.value_or(0), counter.value);
      } else if (counter.kind == CounterKind::kDeviceTotal) {
        Put(facts_.capacity, counter.value, kMebibyte / 2, loaded.recording().metadata.format);
      }
    }
    if (beyond) {
      Put(facts_.process, SaturatingAdd(KeptTotal(loaded), *beyond), 0, "nvml_amend");
    }
  }

  Result<Report> MakeReport(Session& session, const std::vector<std::string>& names) override {
    std::optional<BucketTable> table;
    if (names.empty()) {
      return Describe(session, table);
    }
    auto done = session.ForEach(names, view(), [&](Selection loaded) -> Result<void> {
      if (loaded.recording().metadata.origin.kind == RecordingKind::kDriverLog) {
        auto taken = TakeDriverLog(session, loaded);
        if (!taken || session.joins().driver()) {
          return taken;
        }
      } else {
        TakeRecording(loaded);
      }
      auto keywords = keywords_.For(loaded.recording());
      if (!keywords) {
        return {};  // no dictionary fits: the ladder ends at what is requested
      }
      if (!table) {
        table.emplace(**keywords, Multi::kFirst, space_);
      }
      return table->Add(InputOf(loaded));
    });
    MEMTOOL_TRY(done);
    return Describe(session, table);
  }

  Report Describe(const Session& session, const std::optional<BucketTable>& table) const {
    Report report{.command = "account"};
    session.Describe(report);
    report.unit = "bytes";
    report.columns = {{"step", ""},
                      {"", "STEP", true},
                      {"bytes", "SIZE"},
                      {.key = "", .title = "SHARE", .drop = 2},
                      {"precision", ""},
                      {"kind", ""},
                      {.key = "source", .title = "FROM", .left = true, .shrink = true, .drop = 1},
                      {.key = "note", .title = "WHAT IT IS", .left = true, .wrap = true}};
    report.measure = 2;
    report.blocks = {0};  // a ladder is one piece: -n does not cut it
    const std::vector<AccountStep> steps = Account(facts_);
    const AccountStep* top = nullptr;
    for (const AccountStep& step : steps) {
      top = top == nullptr && IsWhole(step) ? &step : top;
      AddRow(report, step, top);
      if (step.key == "recorded" && driver_table_) {
        AddBuckets(report, *driver_table_, step, top);
      }
    }
    if (table) {
      AddBuckets(report, *table, steps.back(), top);
    }
    for (const std::string& statement : statements_) {
      report.head.push_back(statement);
    }
    if (!session.notes().empty()) {
      report.head.push_back(InputsText(session));
    }
    report.head = [&] {
      std::vector<std::string> head = std::move(report.head);
      head.insert(head.end(), session.moment_lines().begin(), session.moment_lines().end());
      return head;
    }();
    return report;
  }

  // Shares are of the first step that is known and holds what follows.
  static bool IsWhole(const AccountStep& step) {
    constexpr std::array<std::string_view, 6> kWholes{"capacity", "used",      "process",
                                                      "reserved", "allocated", "requested"};
    return step.kind != AccountStep::Kind::kUnknown &&
           std::find(kWholes.begin(), kWholes.end(), step.key) != kWholes.end();
  }

  // What would tell; the capacity can also be given.
  static std::string Unknown(const AccountStep& step) {
    return std::string("unknown: ") + (step.key == "capacity" ? "--capacity, or " : "") + step.note;
  }

  static void AddRow(Report& report, const AccountStep& step, const AccountStep* top) {
    const std::string indent(static_cast<std::size_t>(step.level) * 2, ' ');
    Cell bytes;
    Cell share;
    if (step.kind != AccountStep::Kind::kUnknown) {
      bytes = Amount{.value = step.bytes};
    }
    if (step.kind != AccountStep::Kind::kUnknown && top != nullptr) {
      share = Percent{static_cast<double>(step.bytes) / static_cast<double>(top->bytes)};
    }
    report.rows.push_back({step.key, indent + step.name, bytes, share, step.precision,
                           std::string(KindName(step.kind)), step.source,
                           step.kind == AccountStep::Kind::kUnknown ? Unknown(step) : step.note});
  }

  // Who has the most of a bucket.
  static std::string LargestOf(const Bucket& bucket) {
    constexpr std::size_t kMost = 3;
    if (bucket.entries.size() == 1) {
      return NameText(bucket.entries.front().name);
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(kMost, bucket.entries.size()); ++i) {
      const BucketEntry& entry = bucket.entries[i];
      text += fmt::format("{}{} {}", i == 0 ? "" : ", ", NameText(entry.name),
                          FormatSize(entry.sum.bytes));
    }
    return bucket.entries.size() > kMost
               ? text + fmt::format(", {} more", bucket.entries.size() - kMost)
               : text;
  }

  static void AddBuckets(Report& report, const BucketTable& table, const AccountStep& whole,
                         const AccountStep* top) {
    for (const Bucket& bucket : table.AxisAt(0).buckets) {
      if (bucket.sum.bytes == 0 && bucket.sum.unknown == 0) {
        continue;
      }
      AddRow(report,
             {.key = "bucket:" + bucket.name,
              .name = bucket.name,
              .level = whole.level + 1,
              .kind = AccountStep::Kind::kFact,
              .bytes = bucket.sum.bytes,
              .source = table.keywords().dictionary().name,
              .note = LargestOf(bucket)},
             top);
    }
  }

  ExpectedOptions expected_;
  KeywordsOption keywords_;
  std::string capacity_;
  AccountFacts facts_;
  NodeSpace space_;
  std::optional<Keywords> driver_keywords_;
  std::optional<BucketTable> driver_table_;  // of what is recorded beside a framework
  std::vector<std::string> statements_;
};

}  // namespace

std::unique_ptr<Command> MakeAccount() {
  return std::make_unique<AccountCommand>();
}

}  // namespace memtool::commands
