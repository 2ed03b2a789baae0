// How results are shown; shared by every command that prints rows.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/command.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/sizes.h"
#include "output/text_table.h"

namespace memtool::commands {

enum class Format : std::uint8_t { kTable, kJson, kJsonColumns, kJsonl, kCsv, kMarkdown };

class OutputOptions {
 public:
  void Declare(po::options_description& options);
  // `rows`: the value of -n, if given. Errors: kUsage.
  Result<void> Resolve(std::optional<std::size_t> rows);
  // Prints an answer, to stdout or to -o FILE: as data from its own declaration, for people as the
  // table that `tabulate` makes from it, with commands to go on with.
  Result<void> Print(const AnswerView& answer, const std::function<TextTable()>& tabulate,
                     Streams& streams) const;
  // The same for answers whose rows belong together: no limit cuts them.
  Result<void> PrintWhole(const AnswerView& answer, const std::function<TextTable()>& tabulate,
                          Streams& streams) const;
  // The same for text that a command made itself, with its names escaped.
  Result<void> PrintText(const AnswerView& answer, VisibleText text, Streams& streams) const;

  [[nodiscard]] Format format() const { return format_; }
  // True for what people read: a table or markdown.
  [[nodiscard]] bool is_table() const {
    return format_ == Format::kTable || format_ == Format::kMarkdown;
  }
  // True where a value may be a list.
  [[nodiscard]] bool nests() const {
    return format_ == Format::kJson || format_ == Format::kJsonColumns || format_ == Format::kJsonl;
  }
  // How many rows to print; 0 = all.
  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] SizeUnit unit() const { return unit_; }
  // None where text goes into a file.
  [[nodiscard]] Palette palette(const Streams& streams) const {
    return streams.look.PaletteFor(output_);
  }
  [[nodiscard]] bool chooses_columns() const { return !columns_.empty(); }

 private:
  // `next`: the lines below it.
  Result<void> Print(const TextTable& table, const std::string& next, Streams& streams) const;
  [[nodiscard]] std::string NextOf(const AnswerView& answer, const Streams& streams) const;
  // Of the terminal that it goes to, 0 = none.
  [[nodiscard]] unsigned Width(const Streams& streams) const {
    return output_ == "-" ? streams.out.TerminalWidth() : 0;
  }
  Result<void> PrintRows(const AnswerView& answer, std::size_t limit, Streams& streams) const;
  // Calls `write` with where the output goes.
  Result<void> Deliver(Streams& streams, const std::function<void(Sink& out)>& write) const;

  std::string format_text_ = "table";
  std::string unit_text_ = "auto";
  std::string columns_;
  std::string output_ = "-";
  Format format_ = Format::kTable;
  std::size_t limit_ = 0;
  SizeUnit unit_ = SizeUnit::kAuto;
};

}  // namespace memtool::commands
