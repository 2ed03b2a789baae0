// memtool info: what a file is, what it holds and what it cannot know.
#include "command.h"
#include "info/info_card.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "session/session.h"

namespace memtool::commands {

namespace {

class InfoCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.summary = "what a file holds, and what it cannot know",
            .usage = "[options] [FILE...]",
            .examples = "memtool info memory9.prof\nmemtool info --format json *.prof"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved : {input_.Resolve(), output_.Resolve(streams, input_.rows().value_or(0))}) {
      MEMTOOL_TRY(resolved);
    }
    auto names = input_.Names(streams);
    MEMTOOL_TRY(names);
    Session session(input_, streams);
    Report report{.command = "info"};
    report.columns = {{"input", ""},
                      {"property", "PROPERTY", true},
                      {.key = "value", .title = "VALUE", .left = true, .wrap = true}};
    std::vector<std::vector<std::pair<std::string, std::string>>> details;
    auto done = session.ForEachRecording(
        *names, [&](const std::string& name, const auto& read) -> Result<void> {
          const Recording& recording = *read;
          const std::string shown = name == "-" ? "standard input" : name;
          const InputCard card = MakeCard(read);
          report.rows.push_back({shown, std::string("input"), shown});
          for (auto& [property, value] : CardRows(recording, card)) {
            report.rows.push_back({shown, std::move(property), std::move(value)});
          }
          details.push_back(CardJson(recording, card));
          return {};
        });
    MEMTOOL_TRY(done);
    session.Describe(report);
    for (std::size_t i = 0; i < details.size(); ++i) {
      report.inputs[i].details = std::move(details[i]);
    }
    session.Finish();
    MEMTOOL_TRY(output_.Print(report, streams));
    return session.exit_code();
  }

 private:
  InputOptions input_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> MakeInfo() {
  return std::make_unique<InfoCommand>();
}

}  // namespace memtool::commands
