// What commands that print rows of a profile have in common: input, selection and output options,
// and the way from the command line to a printed answer. A command adds what it computes.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/command.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "options/view_options.h"
#include "session/input_reader.h"

namespace memtool::commands {

class RowsCommand : public Command {
 public:
  explicit RowsCommand(const ByOption& by) : by_(by) {}

  void Declare(po::options_description& options) final;
  Result<ExitCode> Run(Streams& streams) final;

 protected:
  // Whether --conf makes sense: the command shows what depends on the allocator.
  [[nodiscard]] virtual bool TakesConf() const { return false; }
  // Options of the command itself; shown between selection and output.
  virtual void DeclareMore(po::options_description& /*options*/) {}
  // Checks them, after the shared ones. Errors: kUsage.
  virtual Result<void> ResolveMore() { return {}; }
  // The inputs by name; commands that need several, or a pattern before them, override this.
  virtual Result<std::vector<std::string>> Names(Streams& streams) { return input_.Names(streams); }
  // For options that need no input: what the command does instead of reading one.
  virtual std::optional<Result<ExitCode>> RunInstead(Streams& /*streams*/) { return std::nullopt; }
  // Reads the inputs and works out the answer, which the command keeps.
  virtual Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& names) = 0;
  // Prints it.
  virtual Result<void> Print(const InputReader& input_reader, Streams& streams) = 0;
  // After the answer was printed; may turn success into another exit code.
  virtual ExitCode AfterPrint(Streams& /*streams*/) { return ExitCode::kOk; }

  // The answer of a maker that takes inputs one at a time: TagsMaker, TracesMaker …
  template <class Maker>
  auto MakeAnswer(Maker maker, InputReader& input_reader, const std::vector<std::string>& names,
                  std::string_view question) const -> Result<decltype(std::move(maker).Make())> {
    MEMTOOL_TRY(ForEachInput(input_reader, names,
                             [&maker](Selection selection) { maker.Add(std::move(selection)); }));
    auto answer = std::move(maker).Make();
    answer.head = input_reader.Head(question);
    return answer;
  }

  // Passes each input to `take`, for commands that need only one at a time.
  Result<void> ForEachInput(InputReader& input_reader, const std::vector<std::string>& names,
                            const std::function<void(Selection)>& on_selection) const;
  // The lines that every header begins with: inputs and total, moments, filters.
  [[nodiscard]] std::vector<std::string> Head(const InputReader& input_reader,
                                              std::string first) const;

  [[nodiscard]] InputOptions& input() { return input_; }
  [[nodiscard]] const InputOptions& input() const { return input_; }
  [[nodiscard]] const ViewOptions& view() const { return view_; }
  [[nodiscard]] ViewOptions& view() { return view_; }
  [[nodiscard]] const OutputOptions& output() const { return output_; }

 private:
  ByOption by_;
  InputOptions input_;
  ViewOptions view_;
  OutputOptions output_;
};

}  // namespace memtool::commands
