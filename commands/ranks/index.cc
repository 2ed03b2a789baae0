// memtool index: inputs as digests, a line each.
#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>
#include <cstdlib>
#include <utility>

#include "base/command.h"
#include "inputs/file_tree.h"
#include "inputs/shard.h"
#include "memtool/formats/digest.h"
#include "options/input_options.h"
#include "output/whole_file.h"
#include "ranks/read_digests.h"
#include "words/known_words.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

const char* Environment(const char* name) {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets it
}

class IndexCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] DIR|FILE...",
            .examples =
                "memtool index -o job.jsonl memory_snapshot/\n"
                "srun memtool index --shard auto -o 'part.%s.jsonl' memory_snapshot/\n"
                "find /dumps -name '*.pickle' | memtool index --files-from - -o job.jsonl\n"
                "aws s3 cp s3://bucket/rank3.pickle - | memtool index --name rank3.pickle -\n"
                "cat part.*.jsonl > job.jsonl && memtool ranks job.jsonl"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options, false);
    po::options_description group("Index");
    auto add = group.add_options();
    add("shard", ToValue(&shard_text_, {.words = {"auto"}})->value_name("I/N|auto"),
        "take every N-th input from the I-th on, I from 0; auto: as srun, mpirun or another "
        "launcher numbers this process");
    add("name", po::value(&name_)->value_name("PATH"),
        "what standard input is called: a path that tells the rank");
    add("output,o", po::value(&output_)->value_name("FILE"),
        "write to FILE instead of stdout; %s in it is the shard's number");
    options.add(group);
  }

  Result<ExitCode> Run(Streams& streams) override {
    MEMTOOL_TRY(input_.Resolve());
    MEMTOOL_TRY(ResolveShard());
    auto names = input_.GivenNames();
    MEMTOOL_TRY(names);
    if (names->empty()) {
      return Fail(ErrorCode::kUsage, "index: which folder or files?",
                  "memtool index -o job.jsonl DIR");
    }
    auto tree = FindFiles(*names);
    MEMTOOL_TRY(tree);
    KeepOnce(*tree);
    KeepShard(*tree);
    for (const TreeFile& file : tree->files) {
      streams.inputs.Add(file.path);
    }
    return Write(*tree, streams);
  }

 private:
  Result<void> ResolveShard() {
    if (shard_text_.empty()) {
      return {};
    }
    auto shard = ParseShard(shard_text_, &Environment);
    MEMTOOL_TRY(shard);
    shard_ = *std::move(shard);
    if (const std::size_t at = output_.find("%s"); at != std::string::npos) {
      output_.replace(at, 2, fmt::to_string(shard_.index));
    }
    return {};
  }

  void KeepShard(FileTree& tree) const {
    std::size_t position = 0;
    std::erase_if(tree.files, [&](const TreeFile&) { return !shard_.Has(position++); });
  }

  Result<ExitCode> Write(const FileTree& tree, Streams& streams) {
    std::map<std::string, std::uint64_t> others;
    std::uint64_t bad = 0;
    std::uint64_t count = 0;
    MEMTOOL_TRY(StreamWholeFile(
        output_,
        [&](const ByteSink& byte_sink) {
          return ForEachDigest(tree, input_, name_, streams, others, [&](const Digest& digest) {
            bad += digest.problem.empty() ? 0 : 1;
            ++count;
            return byte_sink(formats::DigestLine(digest));
          });
        },
        streams));
    if (bad > 0) {
      Warn(streams, fmt::format("{} of {} could not be read; each has a line that says why", bad,
                                Counted(count, "input")));
    }
    if (!others.empty()) {
      Warn(streams, "no inputs: " + OthersText(others));
    }
    return bad > 0 && input_.strict() ? ExitCode::kDamage : ExitCode::kOk;
  }

  InputOptions input_;
  std::string shard_text_;
  Shard shard_;
  std::string name_;
  std::string output_ = "-";
};

}  // namespace

std::unique_ptr<Command> MakeIndex() {
  return std::make_unique<IndexCommand>();
}

}  // namespace memtool::commands
