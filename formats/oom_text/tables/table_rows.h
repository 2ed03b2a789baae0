// The rows of XLA's tables, each without what a logger puts before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "memtool/profile/account/oom_tables.h"

namespace memtool::formats::oom_text {

inline constexpr std::size_t kMaxBuffers = 1000;
inline constexpr std::size_t kMaxChunks = 1'000'000;
inline constexpr std::size_t kMaxNames = 65'536;

// Reads the tables of one compiled program, row by row.
class ProgramTable {
 public:
  // False: `row` belongs to no such table, or begins the next one (see Begins).
  bool Take(std::string_view row);
  // Whether `row` is a heading that this table has already, so that another one begins.
  [[nodiscard]] bool Begins(std::string_view row) const;
  // Something was read that is worth telling.
  [[nodiscard]] bool HasFigures() const;
  OomProgram Finish() &&;

  // `row` is a heading of such a table.
  static bool IsHeading(std::string_view row);

 private:
  enum class Part : std::uint8_t { kNone, kRuntime, kTotal, kProgram, kBuffers };

  bool TakeHeading(std::string_view row);
  bool TakeAssignment(std::string_view row);
  bool TakeRuntime(std::string_view row);
  bool TakeTotal(std::string_view row);
  bool TakeProgram(std::string_view row);
  bool TakeTemporaries(std::string_view row);
  bool StartsBuffer(std::string_view row);
  bool TakeBuffer(std::string_view row);
  bool TakeFigure(std::string_view row);
  void TakeOperator(std::string_view row);

  OomProgram table_;
  Part part_ = Part::kNone;
  bool open_ = false;  // the last buffer is being read
  unsigned seen_ = 0;  // headings, as bits
};

// Reads a dump of the BFC allocator.
class PoolDump {
 public:
  bool Take(std::string_view row);
  [[nodiscard]] bool Begins(std::string_view row) const;
  [[nodiscard]] bool HasFigures() const;
  OomPool Finish() &&;

  static bool IsHeading(std::string_view row);

 private:
  bool TakeChunk(std::string_view row);
  bool TakeClass(std::string_view row);
  bool TakeUsage(std::string_view row);
  bool TakeSums(std::string_view row);
  bool TakeStats(std::string_view row);
  std::uint32_t NameIn(std::string_view row);
  std::uint32_t Intern(std::string_view name);

  OomPool pool_;
  std::map<std::string, std::uint32_t, std::less<>> names_;  // index into pool_.names
  bool listed_ = false;  // a chunk, a class or the stats were seen
  bool usage_ = false;   // what operations hold is being listed
};

// "Can't reduce memory use below 2.58GiB by rematerialization; only reduced to 31.49GiB (…)".
std::optional<OomRemat> RematIn(std::string_view line);

}  // namespace memtool::formats::oom_text
