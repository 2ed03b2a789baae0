// memtool advise: which change of the program makes it fit, each tried by editing the recording.
#include "memtool/profile/answers/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>

#include "base/command.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/answerable.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "options/size_option.h"
#include "output/sentences.h"
#include "output/tabulate.h"
#include "session/input_reader.h"
#include "whatif/advise_words.h"
#include "whatif/card_option.h"
#include "whatif/cards.h"
#include "words/refusals.h"

namespace memtool::commands {

namespace {

class AdviseCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE]",
            .examples =
                "memtool advise --card 24GiB snapshot.pickle\n"
                "memtool advise --card A100-40GB --headroom 5% snapshot.pickle\n"
                "memtool advise --cost zero1=1 --card 16GiB snapshot.pickle",
            .often = "card process-limit headroom"};
  }

  void Declare(po::options_description& options) override {
    input_.TakeProcessLimit();
    input_.Declare(options);
    po::options_description group("What fits");
    auto add = group.add_options();
    card_.Declare(add);
    add("headroom", po::value(&headroom_)->value_name("PERCENT"),
        "what is to stay free of it (default 3%)");
    add("cost", po::value(&costs_)->value_name("KIND=NUMBER"),
        ("how much a kind of change is disliked: " + CostsText() + "; may be given several times")
            .c_str());
    add("device", po::value(&query_.device)->value_name("DEVICE"),
        "only this device: its number, or its whole name");
    options.add(group);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    MEMTOOL_TRY(input_.Resolve());
    MEMTOOL_TRY(output_.Resolve(input_.rows()));
    auto card = card_.Resolve(input_);
    MEMTOOL_TRY(card);
    query_.limit = card->limit;
    query_.card = card->total;
    card_note_ = card->note;
    MEMTOOL_TRY(ResolveHeadroom());
    MEMTOOL_TRY(ResolveCosts());
    return OnOneRecording(input_, streams, "advise takes one FILE",
                          [&](InputReader& reader,
                              const std::shared_ptr<const Recording>& recording) -> Result<void> {
                            if (!CanAnswer(*recording, "whatif")) {
                              return Refuse(ErrorCode::kUnsupported, *recording,
                                            "holds no events of an allocator",
                                            "PyTorch snapshots do: see memtool help recording");
                            }
                            auto answer = Advise(*reader.IndexOf(recording), query_);
                            MEMTOOL_TRY(answer);
                            answer_ = *std::move(answer);
                            answer_.head = reader.Head("advise");
                            answer_.head.sample_type = "reserved";
                            answer_.head.unit = "bytes";
                            return output_.Print(
                                WithWords(MakeView(answer_)), [&] { return Table(); }, streams);
                          });
  }

 private:
  // "3%", "0.03"
  Result<void> ResolveHeadroom() {
    if (headroom_.empty()) {
      return {};
    }
    std::string_view text = headroom_;
    const bool percent = text.ends_with('%');
    text.remove_suffix(percent ? 1 : 0);
    const auto number = ParseNumber<double>(text);
    constexpr double kHundred = 100;
    const double share = number.value_or(-1) / (percent ? kHundred : 1);
    if (!number || !(share >= 0) || share >= 1) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--headroom {}: a share of the limit, as in 3% or 0.03", headroom_));
    }
    query_.headroom = share;
    return {};
  }

  Result<void> ResolveCosts() {
    for (const std::string& text : costs_) {
      const std::size_t equals = text.find('=');
      const auto cost = equals == std::string::npos
                            ? std::nullopt
                            : ParseNumber<double>(std::string_view(text).substr(equals + 1));
      const std::string name = text.substr(0, equals);
      const auto known = AdviseCosts();
      const bool is_kind = std::any_of(known.begin(), known.end(),
                                       [&name](const auto& one) { return one.first == name; });
      if (!cost || !is_kind) {
        return Fail(ErrorCode::kUsage,
                    fmt::format("--cost {}: a kind of change and a number", text), CostsText());
      }
      query_.costs.emplace_back(name, *cost);
    }
    return {};
  }

  [[nodiscard]] TextTable Table() const {
    TextTable table;
    TableColumns<AdviseRow> columns(kAdviseFields, true);
    columns["reserved_high"].get = [](const AdviseRow& row) -> Cell {
      return ReservedText(row.reserved_low, row.reserved_high);
    };
    columns["evidence"].get = [](const AdviseRow& row) -> Cell { return EvidenceText(row); };
    columns["fits"].get = [](const AdviseRow& row) -> Cell {
      return row.fits ? Cell(*row.fits ? "yes" : "no") : Cell("");
    };
    columns["cost"].get = [](const AdviseRow& row) -> Cell {
      const std::string place = PlaceText(row);
      const std::string cost = CostText(row);
      return place + (place.empty() || cost.empty() ? "" : ": ") + cost;
    };
    columns.KeepIf(false, "reserved_low");
    columns.KeepIf(false, "error");
    columns.KeepIf(false, "calls");
    columns.KeepIf(answer_.devices.size() > 1, "device");
    columns.KeepIf(std::any_of(answer_.rows.begin(), answer_.rows.end(),
                               [](const AdviseRow& row) { return row.fits.has_value(); }),
                   "fits");
    Tabulate(answer_.rows, columns.all(), output_.limit(), 1, table);
    PutSentences(Said(), table);
    return table;
  }

  // Data of the library, and what the table says in words.
  [[nodiscard]] AnswerView WithWords(AnswerView view) const {
    Value::List costs;
    for (const AdviseRow& row : answer_.rows) {
      costs.emplace_back(CostText(row));
    }
    view.figures.emplace_back("costs", std::move(costs));
    return WithSentences(std::move(view), Said());
  }

  [[nodiscard]] Sentences Said() const {
    Sentences said{.verdict = {}, .notes = MakeNotes(answer_)};
    const bool several = answer_.devices.size() > 1;
    for (const AdviseDevice& device : answer_.devices) {
      const std::string name = several ? fmt::format("device {}: ", device.device) : std::string();
      for (const std::string& line : AnswerLines(answer_, device)) {
        said.verdict.push_back(name + line);
      }
    }
    if (!card_note_.empty()) {
      said.verdict.push_back(card_note_);
    }
    return said;
  }

  InputOptions input_;
  OutputOptions output_;
  CardOption card_;
  std::string card_note_;
  std::string headroom_;
  std::vector<std::string> costs_;
  AdviseQuery query_;
  AdviseAnswer answer_;
};

}  // namespace

std::unique_ptr<Command> MakeAdvise() {
  return std::make_unique<AdviseCommand>();
}

}  // namespace memtool::commands
