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
  for (auto resolved : {input_.Resolve(), view_.Resolve(), output_.Resolve(streams, input_.rows()),
                        ResolveMore()}) {
    MEMTOOL_TRY(resolved);
  }
  if (auto code = view_.PrintInstead(streams)) {
    return *std::move(code);
  }
  if (auto code = RunInstead(streams)) {
    return *std::move(code);
  }
  auto names = Names(streams);
  MEMTOOL_TRY(names);
  Session session(input_, streams);
  MEMTOOL_TRY(Answer(session, *names));
  session.Finish();
  MEMTOOL_TRY(Print(session, streams));
  const ExitCode code = AfterPrint(streams);
  return code == ExitCode::kOk ? session.exit_code() : code;
}

Result<void> RowsCommand::ForEachInput(Session& session, const std::vector<std::string>& names,
                                       const std::function<void(Selection)>& take) const {
  return session.ForEach(names, view_, [&take](Selection loaded) -> Result<void> {
    take(std::move(loaded));
    return {};
  });
}

std::vector<std::string> RowsCommand::Head(const Session& session, std::string first) const {
  std::vector<std::string> head{std::move(first)};
  head.insert(head.end(), session.moment_lines().begin(), session.moment_lines().end());
  if (const std::string filters = view_.Describe(); !filters.empty()) {
    head.push_back("filters: " + filters);
  }
  return head;
}

}  // namespace memtool::commands
