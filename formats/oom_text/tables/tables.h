// The tables of XLA in a log: found line by line, distinguished by process, and given to the
// messages that they belong to.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/formats/oom_text.h"
#include "oom_text/tables/table_rows.h"

namespace memtool::formats::oom_text {

// A heading of a table, or a warning of the compiler, has one of these.
inline constexpr std::array<std::string_view, 14> kTableWords = {"BufferAssignment stats:",
                                                                 "Peak buffers:",
                                                                 "Total ",
                                                                 "Program ",
                                                                 "HBM capacity ",
                                                                 "Largest program allocations in ",
                                                                 "Stats:",
                                                                 "Heap allocator status:",
                                                                 "Persistent allocations include",
                                                                 "BFCAllocator dump for",
                                                                 "Current usage from device:",
                                                                 "Bin (",
                                                                 "hbm usage",
                                                                 "hbm requirement"};

class Tables {
 public:
  // Whether a table is being read: its rows have no words of their own.
  [[nodiscard]] bool open() const { return !open_.empty(); }
  // `line` as a person sees it; `tag`: what a launcher put before it, `process`: of which process
  // that is (empty = the only one).
  void Take(std::string_view line, std::uint64_t number, std::string_view tag,
            std::string_view process);
  // Gives each table to its message; a table without one becomes a message.
  void GiveTo(OomLog& log) &&;

 private:
  // What is being read of one process.
  struct Open {
    std::string process;
    std::string prefix;  // before its first heading, digits as '0'
    std::uint64_t program_line = 0;
    std::uint64_t pool_line = 0;
    std::optional<ProgramTable> program;
    std::optional<PoolDump> pool;
    int idle = 0;  // lines since the last row
  };
  struct Done {
    std::string process;
    std::uint64_t line = 0;
    std::shared_ptr<const OomProgram> program;
    std::shared_ptr<const OomPool> pool;
  };
  void GiveWarnings(OomLog& log) const;

  struct Warned {
    std::string process;
    OomRemat remat;
  };

  void TakeRow(std::string_view row, std::uint64_t number, std::string_view before,
               std::string_view process);
  Open* Find(std::string_view process);
  void Close(Open& open);
  void CloseProgram(Open& open);
  void ClosePool(Open& open);

  std::vector<Open> open_;
  std::vector<Done> done_;
  std::deque<Warned> warned_;
  std::uint64_t left_out_ = 0;
};

}  // namespace memtool::formats::oom_text
