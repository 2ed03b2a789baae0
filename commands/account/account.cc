// memtool account: from what the device has down to what the rows hold.
#include "memtool/profile/answers/account.h"

#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>
#include <optional>
#include <utility>

#include "account/account_words.h"
#include "base/command.h"
#include "memtool/formats/device_report_facts.h"
#include "memtool/formats/open.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/answerable.h"
#include "options/expected_options.h"
#include "options/keywords_option.h"
#include "options/size_option.h"
#include "output/tabulate.h"
#include "rows/rows.h"
#include "rows/rows_command.h"
#include "session/recording_cache.h"
#include "words/refusals.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

// Like the library's view, but each row also says what it is.
AnswerView WithNotes(const AccountAnswer& answer) {
  AnswerView view = MakeView(answer);
  view.fields.push_back(kAccountFields.back().Info());
  view.rows = [&answer, rows = std::move(view.rows)](std::size_t limit) {
    return RowStream<AnswerView::Values>(
        [&answer, next = rows(limit), number = std::size_t{0}]() mutable {
          AnswerView::Values* values = next();
          if (values != nullptr) {
            const AccountRow& row = answer.rows[number++];
            values->emplace_back(StepNote(row, answer.facts[row.ladder]));
          }
          return values;
        });
  };
  return view;
}

class AccountCommand final : public RowsCommand {
 public:
  AccountCommand() : RowsCommand(ByOption{}) {}

  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool account snapshot.pickle --expected-sum @smi.csv --pid 4242\n"
                "memtool account snapshot.pickle smi.csv --capacity 80GiB\n"
                "memtool account snapshot.pickle train.mtcap smi.csv\n"
                "memtool account memory_stats.json --capacity 24GiB --expected-sum 20GiB",
            .often = "expected-sum capacity"};
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
      auto bytes = ParseDeviceSize("--capacity", capacity_, input().size_base());
      MEMTOOL_TRY(bytes);
      query_.facts.capacity = Quantity{.bytes = *bytes, .source = "--capacity"};
    }
    return keywords_.Resolve();
  }

  // Files that say what the device has are read here; the rest are recordings.
  Result<std::vector<std::string>> Names(Streams& streams) override {
    std::vector<std::string> recordings;
    auto expected = expected_.Resolve(input().size_base(), keywords_.expected_sum());
    MEMTOOL_TRY(expected);
    if (*expected) {
      statements_.push_back("expected " + (*expected)->echo);
      Supplement(query_.facts, (*expected)->facts);
    }
    auto names = RowsCommand::Names(streams);
    if (!names) {
      return names;
    }
    for (std::string& name : *names) {
      // What can be read only once is not looked at first, and what is known is a recording.
      const bool known = streams.cache != nullptr && streams.cache->Find(RecordingCache::GetKey(
                                                         name, input().load())) != nullptr;
      if (known || formats::GetStream(name) || formats::CertainReader(name) != nullptr) {
        recordings.push_back(std::move(name));
        continue;
      }
      auto document =
          formats::Open(name, {.limits = input().load().limits,
                               .accepted = {.recordings = false, .device_report = true}});
      if (!document) {
        recordings.push_back(std::move(name));  // its own reader says what is wrong with it
        continue;
      }
      const formats::ReportChoice choice = expected_.choice();
      if (names->size() == 1 && !choice.pid && !choice.gpu &&
          formats::IsSeries(document->device_report())) {
        recordings.push_back(std::move(name));  // of all its devices and processes
        continue;
      }
      MEMTOOL_TRY(AddDeviceReport(document->device_report(), name));
    }
    // The device's own figures were read after the last event, as far as anybody knows.
    if (!statements_.empty()) {
      view().SetEndAsDefault();
    }
    return recordings;
  }

  // The row that --pid and --gpu choose, and for a process also the row of its device.
  Result<void> AddDeviceReport(const formats::DeviceReport& report, const std::string& name) {
    auto reading = formats::ChooseDeviceReading(report, expected_.choice());
    if (!reading) {
      Error error = std::move(reading.error());
      error.input = error.input.empty() ? name : error.input;
      return Fail(std::move(error));
    }
    Supplement(query_.facts, formats::FactsAround(report, *reading));
    statements_.push_back(name + " · " + report.display + " · " +
                          formats::DescribeDeviceReading(*reading));
    return {};
  }

  Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& names) override {
    AccountMaker maker(query_);
    if (!names.empty()) {
      auto done = input_reader.ForEach(names, view(), [&](const Selection& loaded) -> Result<void> {
        if (!IsOfMemory(loaded.source())) {
          return Refuse(ErrorCode::kUnsupported, loaded.source(),
                        "that is not of memory has no account",
                        "memtool top shows it in its own unit");
        }
        const RecordingKind kind = loaded.recording().metadata.origin.kind;
        if (kind == RecordingKind::kDriverLog && input_reader.joins().driver()) {
          MEMTOOL_TRY(ReadDriverKeywords());
          return maker.AddBeside(loaded, *driver_keywords_);
        }
        auto keywords = keywords_.For(loaded.recording());
        return maker.Add(loaded, keywords ? *keywords : nullptr);
      });
      MEMTOOL_TRY(done);
    }
    answer_ = std::move(maker).Make();
    if (answer_.facts.size() > 1 && OfOneDevice()) {
      return Fail(
          ErrorCode::kUsage,
          fmt::format("the figures given are of one device, and the input{} of {}",
                      names.size() == 1 ? " is" : "s are", Counted(answer_.facts.size(), "device")),
          "--device chooses one: " + Devices());
    }
    answer_.head = input_reader.Head("account");
    answer_.head.unit = "bytes";
    NoteContradictions(answer_);
    return {};
  }

  // True when more is given than what each device has.
  [[nodiscard]] bool OfOneDevice() const {
    const AccountFacts& facts = query_.facts;
    return facts.free || facts.used || facts.process || facts.reserved || facts.allocated ||
           facts.requested;
  }

  [[nodiscard]] std::string Devices() const {
    std::string text;
    std::string_view last;
    for (const AccountRow& row : answer_.rows) {
      if (row.device != last) {
        text += (text.empty() ? "" : ", ") + row.device;
        last = row.device;
      }
    }
    return text;
  }

  Result<void> ReadDriverKeywords() {
    if (driver_keywords_) {
      return {};
    }
    auto keywords = BuiltinKeywords("builtin:driver");
    MEMTOOL_TRY(keywords);
    driver_keywords_ = *std::move(keywords);
    return {};
  }

  Result<void> Print(const InputReader& input_reader, Streams& streams) override {
    // A ladder is one piece: -n does not cut it.
    return output().PrintWhole(
        WithNotes(answer_), [&] { return Table(input_reader); }, streams);
  }

  [[nodiscard]] TextTable Table(const InputReader& input_reader) const {
    TextTable table;
    for (std::size_t i = 0; i < answer_.rows.size(); ++i) {
      if (i == 0 || answer_.rows[i].ladder != answer_.rows[i - 1].ladder) {
        table.blocks.push_back(i);
      }
    }
    Tabulate(answer_.rows, Columns().all(), 0, 1, table);
    table.head = statements_;
    for (const HostMemory& host : answer_.host) {
      table.head.push_back(fmt::format("pinned host memory of {}: {}, on no device", host.input,
                                       FormatSize(host.bytes)));
    }
    if (!input_reader.notes().empty()) {
      table.head.push_back(InputsText(input_reader));
    }
    table.head.insert(table.head.end(), input_reader.moment_lines().begin(),
                      input_reader.moment_lines().end());
    return table;
  }

  [[nodiscard]] TableColumns<AccountRow> Columns() const {
    TableColumns<AccountRow> columns(kAccountFields, true);
    columns["device"].get = [](const AccountRow& row) {
      return row.step.key == "capacity" ? Cell(row.device) : Cell();  // once per device
    };
    columns.KeepIf(answer_.facts.size() > 1, "device");
    columns["step"].get = [](const AccountRow& row) {
      const auto level = static_cast<std::size_t>(row.step.level);
      return std::string(level * 2, ' ') + std::string(StepName(row));
    };
    columns["share"].get = [](const AccountRow& row) {
      return row.share ? Cell(Percent{*row.share}) : Cell();
    };
    columns["note"].get = [&facts = answer_.facts](const AccountRow& row) {
      return StepNote(row, facts[row.ladder]);
    };
    return columns;
  }

  ExpectedOptions expected_;
  KeywordsOption keywords_;
  std::string capacity_;
  AccountQuery query_;
  std::optional<Keywords> driver_keywords_;  // for what is recorded besides a framework
  std::vector<std::string> statements_;      // where the facts of the query come from
  AccountAnswer answer_;
};

}  // namespace

std::unique_ptr<Command> MakeAccount() {
  return std::make_unique<AccountCommand>();
}

}  // namespace memtool::commands
