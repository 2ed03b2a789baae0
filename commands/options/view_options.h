// What of an input a command looks at: sample type, filters, frames, rows.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <string>

#include "command.h"
#include "memtool/profile/analysis/filter.h"
#include "memtool/profile/analysis/table.h"

namespace memtool::commands {

class ViewOptions {
 public:
  // `with_by`: also --by and --cum, for commands that print rows of frames.
  void Declare(po::options_description& options, bool with_by);
  Result<void> Resolve();

  [[nodiscard]] const Filter& filter() const { return filter_; }
  [[nodiscard]] const std::string& sample_index() const { return sample_index_; }
  [[nodiscard]] const By& by() const { return by_; }
  [[nodiscard]] const std::string& by_text() const { return by_text_; }
  [[nodiscard]] SortBy sort() const { return cum_ ? SortBy::kCum : SortBy::kFlat; }
  // "focus=train frames=all": options in force that change what is counted; empty for none.
  [[nodiscard]] std::string Describe() const;

 private:
  FilterOptions options_;
  std::string frames_text_ = "app";
  std::string sample_index_;
  std::string by_text_ = "filefunction";
  bool cum_ = false;
  By by_;
  Filter filter_;
};

}  // namespace memtool::commands
