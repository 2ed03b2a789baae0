// memtool info: what a file is, what it holds and what it cannot know.
#include "memtool/profile/answers/info.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/command.h"
#include "info/info_card.h"
#include "info/property.h"
#include "memtool/formats/statements.h"
#include "memtool/profile/base/arithmetic.h"  // of tabulate.h
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/clamped_sums.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "output/tabulate.h"
#include "session/input_reader.h"

namespace memtool::commands {

namespace {

// A line of a card.
std::vector<Property> MakeProperties(const InfoAnswer& answer) {
  std::vector<Property> properties;
  for (std::size_t i = 0; i < answer.cards.size(); ++i) {
    const std::string& input = answer.head.inputs[i].path;
    properties.push_back({input, "input", input});
    for (auto& [property, value] : CardRows(answer.cards[i])) {
      properties.push_back({input, std::move(property), std::move(value)});
    }
  }
  return properties;
}

bool AnyClamped(const InfoAnswer& answer) {
  return std::any_of(answer.cards.begin(), answer.cards.end(), [](const InputCard& card) {
    return std::any_of(card.types.begin(), card.types.end(),
                       [](const SampleTypeTotal& type) { return type.saturated; });
  });
}

class InfoCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples = "memtool info memory9.prof\nmemtool info --format json *.prof"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options);
    po::options_description group("Logs");
    group.add_options()("print-patterns", po::bool_switch(&print_patterns_),
                        "print the built-in wordings of logs, to start your own from, and exit");
    options.add(group);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    if (print_patterns_) {
      streams.out.Write(VisibleText::Lines(formats::BuiltinLogPatterns()));
      return ExitCode::kOk;
    }
    for (auto resolved : {input_.Resolve(), output_.Resolve(input_.rows().value_or(0))}) {
      MEMTOOL_TRY(resolved);
    }
    auto names = input_.Names(streams);
    MEMTOOL_TRY(names);
    InputReader input_reader(input_, streams);
    InfoMaker maker;
    MEMTOOL_TRY(input_reader.ForEachRecording(
        *names, [&](const std::string& name, const auto& recording) -> Result<void> {
          const auto index = recording->history ? input_reader.IndexOf(recording) : nullptr;
          maker.Add(recording, name, index.get());
          return {};
        }));
    InfoAnswer answer = std::move(maker).Make();
    if (AnyClamped(answer)) {
      input_reader.NoteClamped();
      NoteClampedSums(answer.head.diagnostics);
    }
    input_reader.Finish();
    const std::vector<Property> rows = MakeProperties(answer);
    MEMTOOL_TRY(output_.Print(
        ViewRows(answer.head, {}, rows, kPropertyFields), [&] { return Table(rows); }, streams));
    return input_reader.exit_code();
  }

 private:
  [[nodiscard]] TextTable Table(const std::vector<Property>& rows) const {
    TextTable table;
    Tabulate(rows, TableColumns<Property>(kPropertyFields, true).all(), output_.limit(), 0, table);
    return table;
  }

  InputOptions input_;
  OutputOptions output_;
  bool print_patterns_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeInfo() {
  return std::make_unique<InfoCommand>();
}

}  // namespace memtool::commands
