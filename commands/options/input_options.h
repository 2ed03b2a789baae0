// Which inputs a command reads and how; shared by every command that reads.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "inputs/digested_files.h"
#include "memtool/formats/open.h"
#include "memtool/profile/advise/edits.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/whatif/allocator_settings.h"

namespace memtool::commands {

// Errors: kUsage when a name is empty, or when several lead to one stream (standard input, a pipe),
// which can be read only once.
Result<void> CheckNames(const std::vector<std::string>& names);

class InputOptions {
 public:
  // Before Declare: --process-limit says what the process may get of the device.
  void TakeProcessLimit() { takes_process_limit_ = true; }
  // Before Declare: --conf turns each input into what it would have been under other settings of
  // its allocator, --change into that of a program that is changed.
  void TakeConf() { takes_conf_ = true; }
  // `with_rows`: the command prints rows, so -n N makes sense.
  void Declare(po::options_description& options, bool with_rows = true);
  // Errors: kUsage.
  Result<void> Resolve();
  // The inputs by name, "-" = stdin. With none on the command line: stdin when it is a pipe or file
  // that holds something, $MEMTOOL_PROFILE, or the newest profile of the current folder; says on
  // stderr which one it took. Folders and digests are replaced, see GetFiles.
  // Errors: kUsage when there is nothing to read.
  Result<std::vector<std::string>> Names(Streams& streams) const;
  // The names with a folder replaced by the traces in it, see inputs/trace_folder.h, and a file of
  // digests by the files that these are of, see inputs/digested_files.h.
  Result<std::vector<std::string>> GetFiles(const std::vector<std::string>& names,
                                            Streams& streams) const;

  // Those of the command line and of --files-from, folders as they are. Errors: kUsage.
  [[nodiscard]] Result<std::vector<std::string>> GivenNames() const;

  // Removes and returns the first positional argument; none when there is none.
  std::optional<std::string> TakeFirst();
  // Positional arguments, in order.
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
  [[nodiscard]] const formats::OpenOptions& load() const { return load_; }
  [[nodiscard]] std::size_t jobs() const { return jobs_; }
  [[nodiscard]] bool keep_going() const { return keep_going_; }
  [[nodiscard]] bool strict() const { return strict_; }
  // The files that digests may stand for.
  [[nodiscard]] DigestedFiles digested_files() const {
    return {.root = digest_root_, .limits = load_.limits, .keep_going = keep_going_};
  }
  // How sizes on the command line are read.
  [[nodiscard]] SizeBase size_base() const { return si_units_ ? SizeBase::kSi : SizeBase::kBinary; }
  // Rows to print, when -n N was given.
  [[nodiscard]] std::optional<std::size_t> rows() const { return rows_; }
  // Bytes, when --process-limit was given.
  [[nodiscard]] std::optional<std::int64_t> process_limit() const { return process_limit_; }
  // When --change was given.
  [[nodiscard]] const std::optional<advise::Edits>& change() const { return change_; }
  // When --conf was given.
  [[nodiscard]] const std::optional<whatif::AllocatorSettings>& conf() const { return conf_; }

 private:
  Result<void> ResolveConf();
  Result<void> TakeMaximum(const std::string& text);
  Result<void> TakeRows(std::string_view option, const std::string& text);
  Result<void> TakeProcessLimit(std::string_view option, const std::string& text);
  Result<void> TakeLimit(const std::string& text);

  std::vector<std::string> files_;
  std::string files_from_;
  std::string patterns_;
  std::vector<std::string> limits_;
  std::vector<std::string> maxima_;
  std::string max_memory_text_;
  std::string rows_text_;
  std::string process_limit_text_;
  formats::OpenOptions load_;
  std::size_t jobs_ = 0;
  bool keep_going_ = false;
  bool strict_ = false;
  std::string digest_root_;
  bool with_rows_ = true;
  bool si_units_ = false;
  bool takes_process_limit_ = false;
  std::optional<std::size_t> rows_;
  std::optional<std::int64_t> process_limit_;
  bool takes_conf_ = false;
  std::optional<std::string> conf_text_;
  std::optional<whatif::AllocatorSettings> conf_;
  std::optional<std::string> change_text_;
  std::optional<advise::Edits> change_;
};

}  // namespace memtool::commands
