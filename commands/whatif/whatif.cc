// memtool whatif: the same requests under other settings of the allocator, or on another card.
#include "memtool/profile/answers/whatif.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>

#include "base/command.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/answerable.h"
#include "memtool/profile/select/filter.h"
#include "memtool/profile/select/view.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "output/sentences.h"
#include "output/tabulate.h"
#include "session/input_reader.h"
#include "whatif/card_option.h"
#include "whatif/whatif_words.h"
#include "words/known_words.h"
#include "words/refusals.h"

namespace memtool::commands {

namespace {

class WhatifCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {
        .usage = "[options] [FILE]",
        .examples =
            "memtool whatif snapshot.pickle\n"
            "memtool whatif --conf expandable_segments:True --process-limit 24GiB snapshot.pickle\n"
            "memtool whatif --fit snapshot.pickle\n"
            "memtool whatif --without attention --card A100-40GB snapshot.pickle",
        .often = "conf card process-limit fit without scale"};
  }

  void Declare(po::options_description& options) override {
    input_.TakeProcessLimit();
    input_.Declare(options);
    po::options_description group("What if");
    auto add = group.add_options();
    add("conf", po::value(&confs_)->value_name("SETTINGS"),
        "settings, as PYTORCH_CUDA_ALLOC_CONF names them; may be given several times (default: a "
        "set of sensible ones)");
    card_.Declare(add);
    add("fit", po::bool_switch(&query_.fit), "look for the smallest limit of each setting");
    add("at", ToValue(&until_, MomentWords())->value_name("MOMENT"),
        "only the requests up to a moment");
    add("device", po::value(&query_.device)->value_name("DEVICE"),
        "only this device: its number, or its whole name");
    add("without", po::value(&without_)->value_name("REGEX"),
        "the run without allocations whose stack has a matching function, file or mapping");
    add("change", po::value(&changes_)->value_name("EDIT"),
        "the program changed: checkpoint:WHERE, next-step, accumulate=2, …; several in one are "
        "joined "
        "by ' + '; may be given several times");
    add("scale", po::value(&query_.scale)->value_name("F"), "every request F times as large");
    add("empty-cache-at", ToValue(&empty_cache_, MomentWords())->value_name("MOMENT"),
        "an empty_cache() at a moment (event:N, mark:NAME: at each mark of that name); may be "
        "given "
        "several times");
    add("no-empty-cache", po::bool_switch(&query_.no_empty_cache),
        "without the program's own calls of empty_cache()");
    options.add(group);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    MEMTOOL_TRY(input_.Resolve());
    MEMTOOL_TRY(output_.Resolve(input_.rows()));
    auto card = card_.Resolve(input_);
    MEMTOOL_TRY(card);
    query_.limit = card->limit;
    query_.total = card->total;
    card_note_ = card->note;
    MEMTOOL_TRY(ResolveProgram());
    return OnOneRecording(input_, streams, "whatif takes one FILE",
                          [&](InputReader& input_reader,
                              const std::shared_ptr<const Recording>& recording) -> Result<void> {
                            MEMTOOL_TRY(DriverRequest(input_reader, recording));
                            const Sentences said = Said();
                            return output_.Print(
                                WithSentences(MakeView(answer_), said), [&] { return Table(said); },
                                streams);
                          });
  }

 private:
  Result<void> ResolveProgram() {
    for (const std::string& conf : confs_) {
      auto settings = whatif::ParseAllocatorConf(conf);
      MEMTOOL_TRY(settings);
      if (settings->other_allocator) {
        return Fail(ErrorCode::kUsage, fmt::format("--conf {}: only PyTorch's own allocator "
                                                   "(backend:native) is modelled",
                                                   conf));
      }
      query_.settings.push_back(*std::move(settings));
    }
    constexpr double kMaxScale = 1000;
    if (!(query_.scale > 0) || query_.scale > kMaxScale) {
      return Fail(ErrorCode::kUsage, "--scale: a number above 0, 1000 at most");
    }
    for (const std::string& text : changes_) {
      auto edits = advise::ParseEdits(text);
      MEMTOOL_TRY(edits);
      query_.changes.push_back(*std::move(edits));
    }
    if (!until_.empty()) {
      auto moment = ParseMoment(until_);
      MEMTOOL_TRY(moment);
      query_.until = *std::move(moment);
    }
    for (const std::string& text : empty_cache_) {
      auto moment = ParseMoment(text);
      MEMTOOL_TRY(moment);
      query_.empty_cache_at.push_back(*std::move(moment));
    }
    auto filter = Filter::Compile({.focus = without_, .frames = FrameMode::kAll});
    if (!filter) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--without: '{}' is not a regular expression", without_));
    }
    filter_ = *std::move(filter);
    return {};
  }

  Result<void> DriverRequest(InputReader& input_reader,
                             const std::shared_ptr<const Recording>& recording) {
    if (!CanAnswer(*recording, "whatif")) {
      return Refuse(ErrorCode::kUnsupported, *recording, "holds no events of an allocator",
                    "PyTorch snapshots do: see memtool help recording");
    }
    const View view(*recording, filter_);
    if (!without_.empty()) {
      query_.without = [&view](StackId stack) {
        VisibleStack visible;
        return stack.valid() && view.Expand(stack, visible);
      };
    }
    if (!without_.empty() && !view.Unmatched().empty()) {
      return Fail(ErrorCode::kUsage, fmt::format("--without: no function, file or mapping matches "
                                                 "'{}'",
                                                 without_));
    }
    auto answer = Whatif(*input_reader.IndexOf(recording), query_);
    MEMTOOL_TRY(answer);
    answer_ = *std::move(answer);
    query_.without = nullptr;
    answer_.head = input_reader.Head("whatif");
    answer_.head.sample_type = "reserved";
    answer_.head.unit = "bytes";
    return {};
  }

  [[nodiscard]] TextTable Table(const Sentences& said) const {
    TextTable table;
    Tabulate(answer_.rows, Columns().all(), output_.limit(), 1, table);
    PutSentences(said, table);
    return table;
  }

  [[nodiscard]] Sentences Said() const {
    Sentences said{.verdict = {}, .notes = MakeNotes(answer_)};
    const bool several = answer_.devices.size() > 1;
    for (const WhatifDevice& device : answer_.devices) {
      const std::string name = several ? fmt::format("device {}: ", device.device) : std::string();
      said.verdict.push_back(name + AnswerText(answer_, device));
      if (device.fidelity.obstacle == whatif::Obstacle::kNone) {
        said.verdict.push_back(name + FidelityText(device));
      }
      if (std::string limit = LimitText(answer_, device); !limit.empty()) {
        said.verdict.push_back(name + limit);
      }
    }
    if (!card_note_.empty()) {
      said.verdict.push_back(card_note_);
    }
    return said;
  }

  [[nodiscard]] TableColumns<WhatifRow> Columns() const {
    TableColumns<WhatifRow> columns(kWhatifFields, true);
    columns["setting"].get = [](const WhatifRow& row) -> Cell { return SettingText(row); };
    columns["reserved_peak_event"].get = [](const WhatifRow& row) -> Cell {
      return row.reserved_peak_event < 0 ? Cell("start") : Cell(row.reserved_peak_event);
    };
    columns["oom"].get = [](const WhatifRow& row) -> Cell { return OomText(row); };
    const bool limited = std::any_of(answer_.rows.begin(), answer_.rows.end(),
                                     [](const WhatifRow& row) { return row.oom.has_value(); });
    columns.KeepIf(limited, "retries");
    columns.KeepIf(limited, "oom");
    columns.KeepIf(query_.fit, "fits");
    columns.KeepIf(answer_.devices.size() > 1, "device");
    return columns;
  }

  InputOptions input_;
  OutputOptions output_;
  std::vector<std::string> confs_;
  CardOption card_;
  std::string card_note_;
  std::vector<std::string> changes_;
  std::string until_;
  std::string without_;
  std::vector<std::string> empty_cache_;
  Filter filter_;
  WhatifQuery query_;
  WhatifAnswer answer_;
};

}  // namespace

std::unique_ptr<Command> MakeWhatif() {
  return std::make_unique<WhatifCommand>();
}

}  // namespace memtool::commands
