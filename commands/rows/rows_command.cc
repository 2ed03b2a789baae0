#include "rows/rows_command.h"

#include <utility>

namespace memtool::commands {

void RowsCommand::Declare(po::options_description& options) {
  if (TakesConf()) {
    input_.TakeConf();
  }
  input_.Declare(options);
  view_.Declare(options, by_);
  DeclareMore(options);
  output_.Declare(options);
}

Result<ExitCode> RowsCommand::Run(Streams& streams) {
  for (auto resolved :
       {input_.Resolve(), view_.Resolve(), output_.Resolve(input_.rows()), ResolveMore()}) {
    MEMTOOL_TRY(resolved);
  }
  streams.names_next = streams.names_next && output_.is_table();
  if (auto code = view_.PrintInstead(streams)) {
    return *std::move(code);
  }
  if (auto code = RunInstead(streams)) {
    return *std::move(code);
  }
  auto names = Names(streams);
  MEMTOOL_TRY(names);
  InputReader input_reader(input_, streams);
  MEMTOOL_TRY(Answer(input_reader, *names));
  input_reader.Finish();
  MEMTOOL_TRY(Print(input_reader, streams));
  const ExitCode code = AfterPrint(streams);
  return code == ExitCode::kOk ? input_reader.exit_code() : code;
}

Result<void> RowsCommand::ForEachInput(InputReader& input_reader,
                                       const std::vector<std::string>& names,
                                       const std::function<void(Selection)>& on_selection) const {
  return input_reader.ForEach(names, view_, [&on_selection](Selection loaded) -> Result<void> {
    on_selection(std::move(loaded));
    return {};
  });
}

std::vector<std::string> RowsCommand::Head(const InputReader& input_reader,
                                           std::string first) const {
  std::vector<std::string> head{std::move(first)};
  head.insert(head.end(), input_reader.moment_lines().begin(), input_reader.moment_lines().end());
  if (const std::string filters = view_.Describe(); !filters.empty()) {
    head.push_back("filters: " + filters);
  }
  return head;
}

}  // namespace memtool::commands
