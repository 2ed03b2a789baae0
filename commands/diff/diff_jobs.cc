#include "diff/diff_jobs.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "diff/diff_align.h"
#include "inputs/digested_files.h"
#include "inputs/file_tree.h"
#include "inputs/trace_folder.h"
#include "memtool/formats/open.h"
#include "memtool/profile/answers/ranks.h"
#include "output/tabulate.h"
#include "output/text/cpp_names.h"
#include "ranks/names/rank_names.h"
#include "ranks/ranks_words.h"
#include "ranks/read_digests.h"
#include "rows/rows.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

struct JobFile {
  std::string path;
  std::string device;   // as --device has it; empty for the only one
  std::string problem;  // why it is not there or could not be read
};

using Job = std::map<std::int64_t, JobFile>;  // by rank

std::string FullestDevice(const Digest& digest) {
  return digest.fullest && digest.devices.size() > 1
             ? fmt::to_string(digest.devices[*digest.fullest].device)
             : std::string();
}

Result<Job> GetJob(const std::string& name, const InputOptions& input, Streams& streams) {
  auto tree = FindFiles({name});
  MEMTOOL_TRY(tree);
  const bool of_digests = formats::HoldsDigests(name);
  RanksMaker maker;
  std::map<std::string, JobFile> files;  // by path
  std::map<std::string, std::uint64_t> others;
  MEMTOOL_TRY(ForEachDigest(*tree, input, {}, streams, others, [&](Digest digest) {
    JobFile& file = files[digest.path];
    file = {.path = digest.path, .device = FullestDevice(digest), .problem = digest.problem};
    if (of_digests && file.problem.empty()) {
      auto path = FileOfDigest(digest, name, input.digested_files());
      file.problem = path ? "" : ToString(path.error());
      file.path = path ? *std::move(path) : file.path;
    }
    maker.Add(std::move(digest));
    return Result<void>();
  }));
  if (maker.size() == 0) {
    return Fail({.code = ErrorCode::kIo,
                 .input = name,
                 .message = "no input that a rank could have left" +
                            (others.empty() ? "" : ": " + OthersText(others))});
  }
  auto answer = std::move(maker).Make({.identify = IdentifyByNames()});
  MEMTOOL_TRY(answer);
  Job job;
  for (const RankFacts& rank : answer->ranks) {
    job[rank.rank] = std::move(files[rank.path]);
  }
  return job;
}

Result<Selection> MakeSelection(const JobFile& file, const InputOptions& input,
                                const ViewOptions& view, InputReader& input_reader) {
  if (!file.problem.empty()) {
    return Fail(ErrorCode::kIo, file.problem);
  }
  auto recording = formats::OpenRecording(file.path, input.load());
  MEMTOOL_TRY(recording);
  return input_reader.SelectAt(file.path, std::make_shared<const Recording>(*std::move(recording)),
                               view, view.moment(),
                               view.device().empty() ? file.device : view.device());
}

Result<AlignedRank> AlignRank(std::int64_t rank, const JobFile& base, const JobFile& now,
                              const InputOptions& input, const ViewOptions& view,
                              InputReader& input_reader) {
  auto one = MakeSelection(base, input, view, input_reader);
  MEMTOOL_TRY(one);
  auto other = MakeSelection(now, input, view, input_reader);
  MEMTOOL_TRY(other);
  auto aligned = AlignSides(*one, *other, view.by());
  MEMTOOL_TRY(aligned);
  AlignedRank row = MakeRank(rank, *aligned);
  row.problem = AlignRefusal(*aligned);
  return row;
}

std::string RankChange(const AlignedRank& row) {
  return row.by == 0
             ? std::string()
             : fmt::format("{} {}{}{}", FormatSize(row.by, SizeUnit::kAuto, true),
                           NameText(row.name), row.file.empty() ? "" : " ", PlaceText(row.file, 0));
}

}  // namespace

bool IsJob(const std::string& name) {
  std::error_code error;
  if (std::filesystem::is_directory(name, error)) {
    const auto found = FindTraces(name);
    return !found || found->notes.size() > 1;  // of several processes
  }
  return !formats::GetStream(name) && formats::HoldsDigests(name);
}

Result<AlignedRanksAnswer> AlignJobs(const std::string& base, const std::string& now,
                                     const InputOptions& input, const ViewOptions& view,
                                     InputReader& input_reader) {
  const auto bases = GetJob(base, input, input_reader.streams());
  MEMTOOL_TRY(bases);
  const auto news = GetJob(now, input, input_reader.streams());
  MEMTOOL_TRY(news);
  std::vector<AlignedRank> rows;
  std::vector<std::int64_t> only_base;
  std::vector<std::int64_t> only_new;
  for (const auto& [rank, file] : *bases) {
    const auto other = news->find(rank);
    if (other == news->end()) {
      only_base.push_back(rank);
      continue;
    }
    auto row = AlignRank(rank, file, other->second, input, view, input_reader);
    rows.push_back(row ? *std::move(row)
                       : AlignedRank{.rank = rank, .problem = ToString(row.error())});
    rows.back().base_path = file.path;
    rows.back().path = other->second.path;
  }
  for (const auto& [rank, file] : *news) {
    if (bases->count(rank) == 0) {
      only_new.push_back(rank);
    }
  }
  if (rows.empty()) {
    return Fail(
        ErrorCode::kUsage, "no rank is in both runs",
        fmt::format("memtool ranks {} and memtool ranks {} show which they have", base, now));
  }
  AlignedRanksAnswer answer = JoinAlignedRanks(std::move(rows));
  answer.only_base = std::move(only_base);
  answer.only_new = std::move(only_new);
  return answer;
}

TextTable AlignedRanksTable(const AlignedRanksAnswer& answer, const std::string& base,
                            const std::string& now, std::size_t limit) {
  TextTable table;
  const std::size_t same = answer.compared - answer.grew - answer.shrank;
  const std::size_t others = answer.ranks.size() - answer.compared;
  table.head = {fmt::format("{} compared: {} grew, {} shrank, {} unchanged{}",
                            Counted(answer.compared, "rank"), answer.grew, answer.shrank, same,
                            others == 0 ? "" : fmt::format("; {} not comparable", others)),
                fmt::format("base {} → new {} · each at the peak of its highest step", base, now)};
  TableColumns<AlignedRank> columns(
      AlignedRankFields(), true,
      {"rank", "base", "new", "delta", "steps", "partner_share", "name", "path"});
  columns["delta"].get = [](const AlignedRank& row) {
    return row.compared ? Cell(Amount{.value = row.delta(), .sign = true}) : Cell();
  };
  columns["partner_share"].get = [](const AlignedRank& row) {
    return row.compared ? Cell(PartnersText(row.partners)) : Cell();
  };
  columns["name"].get = [](const AlignedRank& row) {
    return Cell(row.problem.empty() ? RankChange(row) : row.problem);
  };
  constexpr std::size_t kDelta = 3;
  Tabulate(answer.ranks, columns.all(), limit, kDelta, table);
  const auto alone = [&table](std::string_view side, const std::vector<std::int64_t>& ranks) {
    if (!ranks.empty()) {
      table.foot.push_back(fmt::format("only in {}: {}", side, RangesText(ranks)));
    }
  };
  alone("base", answer.only_base);
  alone("new", answer.only_new);
  return table;
}

}  // namespace memtool::commands
