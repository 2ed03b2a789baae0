#include "ranks/read_digests.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "memtool/formats/digest.h"
#include "memtool/formats/open.h"
#include "memtool/profile/model/recording_builder.h"
#include "ranks/names/rank_names.h"
#include "session/prefetch_window.h"
#include "session/progress.h"
#include "session/thread_pool.h"

namespace memtool::commands {

namespace {

struct ReadFile {
  std::vector<Digest> digests;
  bool unknown = false;  // no reader knows its bytes
};

// Where it went wrong is in the digest's path already.
std::string GetProblem(Error error) {
  error.input.clear();
  return ToString(error);
}

ReadFile Problem(DigestedFile file, const Error& error) {
  return {
      .digests = {DigestOfProblem(std::move(file), GetProblem(error))},
      .unknown = error.code == ErrorCode::kUnknownFormat || error.code == ErrorCode::kUnsupported};
}

// "rank 3", "Worker_TP3 rank 3" → "3"; empty for a trace that is not called after a rank.
std::string RankOf(const Trace& trace) {
  constexpr std::string_view kRank = "rank ";
  const std::size_t at = trace.name.rfind(kRank);
  return at == std::string::npos ? std::string() : trace.name.substr(at + kRank.size());
}

// One of the ranks that printed into one log.
Result<Recording> OneRank(const Recording& log, const Trace& trace) {
  const History& all = *log.history;
  History own{.domains = all.domains, .streams = all.streams, .clock = all.clock};
  own.traces.push_back(trace);
  own.traces.back().first_event = 0;
  const auto first = static_cast<std::ptrdiff_t>(trace.first_event);
  const auto end = first + static_cast<std::ptrdiff_t>(trace.event_count);
  own.events.insert(own.events.end(), all.events.begin() + first, all.events.begin() + end);
  if (!all.labels.empty()) {
    own.labels.assign(all.labels.begin() + first, all.labels.begin() + end);
  }
  std::copy_if(all.marks.begin(), all.marks.end(), std::back_inserter(own.marks),
               [&trace](const Mark& mark) { return mark.device == trace.device; });
  RecordingBuilder builder(log);
  builder.metadata().origin.rank = RankOf(trace);
  builder.SetHistory(std::move(own));
  return std::move(builder).Finish();
}

// A log of several ranks is a digest for each of them; of anything else there is none.
std::vector<Digest> DigestsByRank(const Recording& log, const DigestedFile& file) {
  std::vector<Digest> digests;
  if (log.metadata.origin.kind != RecordingKind::kLog || !log.history) {
    return digests;
  }
  const auto& traces = log.history->traces;
  const auto ranked = std::count_if(traces.begin(), traces.end(),
                                    [](const Trace& trace) { return !RankOf(trace).empty(); });
  for (const Trace& trace : traces) {
    if (ranked < 2 || RankOf(trace).empty()) {
      continue;
    }
    auto one = OneRank(log, trace);
    // Not the file's hash: there is more than this rank in the file.
    auto digest = one ? MakeDigest(std::make_shared<const Recording>(*std::move(one)),
                                   {.path = file.path, .hash = {}, .bytes = file.bytes})
                      : tl::unexpected(one.error());
    if (digest) {
      digests.push_back(*std::move(digest));
    }
  }
  return digests;
}

ReadFile GetDigests(Result<formats::Document> document, DigestedFile file) {
  if (!document) {
    return Problem(std::move(file), document.error());
  }
  if (document->kind() == formats::DocumentKind::kDigests) {
    return {.digests = (*std::move(document)).digests()};
  }
  const auto recording = std::make_shared<const Recording>((*std::move(document)).recording());
  if (auto ranks = DigestsByRank(*recording, file); !ranks.empty()) {
    return {.digests = std::move(ranks)};
  }
  auto digest = MakeDigest(recording, file);
  return digest ? ReadFile{.digests = {*std::move(digest)}}
                : Problem(std::move(file), digest.error());
}

Result<std::unique_ptr<formats::Source>> Opened(const std::string& path) {
  if (path == "-") {
    return formats::MakeFdSource(STDIN_FILENO, false);
  }
  return formats::OpenFile(path);
}

ReadFile ReadOne(const std::string& path, const std::string& name,
                 const formats::OpenOptions& options) {
  auto source = Opened(path);
  if (!source) {
    return Problem({.path = name}, source.error());
  }
  const auto hash = std::make_shared<formats::FileHash>();
  auto document = formats::Open(
      formats::MakeHashingSource(*std::move(source), hash, options.limits), name, options);
  if (hash->hex.empty() && !formats::GetStream(path)) {
    auto again = formats::HashFile(path, options.limits);
    if (!again) {
      return Problem({.path = name}, again.error());
    }
    *hash = *std::move(again);
  }
  return GetDigests(std::move(document), {.path = name, .hash = hash->hex, .bytes = hash->bytes});
}

// The end of a path, as FileTree::others has it.
std::string GetEnd(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot);
}

bool NamesRank(const std::string& path) {
  const RankIdentity identity = IdentityFromPath(path);
  return identity.rank || identity.local_rank;
}

// Which rank a path names, or, where it names none, the digits of its last part, as one of them may
// be (GuessRanks).
std::string RankText(const std::string& path) {
  const RankIdentity of = IdentityFromPath(path);
  std::string digits(path.substr(path.rfind('/') + 1));
  std::erase_if(digits, [](char c) { return c < '0' || c > '9'; });
  const auto text = [](const std::optional<std::int64_t>& number) {
    return number ? fmt::to_string(*number) : std::string();
  };
  return !of.rank && !of.local_rank
             ? digits
             : fmt::format("{}/{}/{}/{}/{}/{}/{}", text(of.rank), text(of.local_rank),
                           text(of.node), of.host, text(of.step), text(of.attempt), of.role);
}

// Of paths that lead to one file, rows of `files`, those that are left out: all but one, which is
// no link and names a rank if any does. Hard links that name several ranks stay.
std::vector<std::size_t> FindRepeated(const std::vector<TreeFile>& files,
                                      const std::vector<std::size_t>& same) {
  namespace fs = std::filesystem;
  std::map<fs::path, std::size_t> of_path;  // the file's own
  std::vector<std::size_t> repeated;
  std::error_code error;
  const auto keep = [&repeated](std::size_t& kept, std::size_t row, bool better) {
    repeated.push_back(better ? std::exchange(kept, row) : row);
  };
  for (const std::size_t row : same) {
    const auto [kept, added] = of_path.try_emplace(fs::canonical(files[row].path, error), row);
    if (!added) {
      keep(kept->second, row,
           fs::is_symlink(files[kept->second].path, error) &&
               !fs::is_symlink(files[row].path, error));
    }
  }
  std::map<std::string, std::size_t> of_rank;
  for (const auto& [path, row] : of_path) {
    const auto [kept, added] = of_rank.try_emplace(RankText(files[row].path), row);
    if (!added) {
      keep(kept->second, row, row < kept->second);
    }
  }
  if (const auto unranked = of_rank.find(""); unranked != of_rank.end() && of_rank.size() > 1) {
    repeated.push_back(unranked->second);
  }
  return repeated;
}

}  // namespace

void KeepOnce(FileTree& tree) {
  std::map<std::pair<dev_t, ino_t>, std::vector<std::size_t>> same;
  for (std::size_t row = 0; row < tree.files.size(); ++row) {
    struct stat found {};
    const std::string& path = tree.files[row].path;
    if (path != "-" && ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode)) {
      same[{found.st_dev, found.st_ino}].push_back(row);
    }
  }
  std::set<std::size_t> repeated;
  for (const auto& [file, rows] : same) {
    if (rows.size() > 1) {
      const std::vector<std::size_t> more = FindRepeated(tree.files, rows);
      repeated.insert(more.begin(), more.end());
    }
  }
  std::size_t row = 0;
  std::erase_if(tree.files, [&](const TreeFile&) { return repeated.contains(row++); });
}

Result<void> ForEachDigest(const FileTree& tree, const InputOptions& input, const std::string& name,
                           Streams& streams, std::map<std::string, std::uint64_t>& others,
                           const std::function<Result<void>(Digest)>& visit) {
  Progress progress(streams.err);
  formats::OpenOptions options = input.load();
  options.accepted.digests = true;
  options.on_bytes = [&progress](std::uint64_t bytes) { progress.Read(bytes); };
  const std::string stdin_name = name.empty() ? "standard input" : name;
  const std::size_t jobs = std::max<std::size_t>(input.jobs(), 1);
  ThreadPool pool(jobs);
  const std::size_t most = kHasThreads ? kMaxAheadPerThread * jobs : 1;  // digests are small
  std::deque<std::future<ReadFile>> ahead;
  std::size_t next = 0;
  others = tree.others;
  for (const TreeFile& file : tree.files) {
    while (next < tree.files.size() && ahead.size() < most) {
      ahead.push_back(pool.Submit([&options, &stdin_name, path = tree.files[next++].path] {
        return ReadOne(path, path == "-" ? stdin_name : path, options);
      }));
    }
    ReadFile read = pool.Await(std::move(ahead.front()));
    ahead.pop_front();
    if (read.unknown && !file.named && !NamesRank(file.path)) {
      ++others[GetEnd(file.path)];
      continue;
    }
    for (Digest& digest : read.digests) {
      MEMTOOL_TRY(visit(std::move(digest)));
    }
  }
  progress.Stop();
  return {};
}

std::string OthersText(const std::map<std::string, std::uint64_t>& others) {
  std::vector<std::pair<std::uint64_t, std::string>> ends;
  ends.reserve(others.size());
  for (const auto& [end, count] : others) {
    ends.emplace_back(count, end);
  }
  std::stable_sort(ends.begin(), ends.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t kMaxEnds = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(ends.size(), kMaxEnds); ++i) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", ends[i].first, ends[i].second);
  }
  return ends.size() > kMaxEnds ? text + ", …" : text;
}

}  // namespace memtool::commands
