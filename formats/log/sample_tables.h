// Tables that a tool prints again and again, a row per GPU or process and time: loops of
// nvidia-smi --query-gpu and --query-compute-apps with a timestamp, nvidia-smi dmon and pmon,
// xpu-smi dump.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "log/log_lines.h"
#include "memtool/formats/statements.h"

namespace memtool::formats::log {

class SampleTables {
 public:
  // A header has one of these.
  static constexpr std::array<std::string_view, 6> kWords = {
      "memory.used", "used_memory", "used_gpu_memory", "GPU Memory Used (MiB)", "# gpu ", "#Date "};

  // Whether rows may follow, which have no words of their own.
  [[nodiscard]] bool open() const { return !columns_.empty() && misses_ < kPatience; }
  // False: the line is neither a header nor a row.
  bool Take(const LogLine& line);
  // Adds what the rows say, where there are several of one GPU or process: a single one is a
  // report, not a series.
  void GiveTo(Statements& statements) &&;

 private:
  static constexpr int kPatience = 20;  // lines of something else within a table
  enum class Column : std::uint8_t {
    kOther,
    kDate,
    kTime,
    kIndex,
    kId,
    kName,
    kPid,
    kUsed,
    kTotal
  };
  // One GPU, or one process on it.
  struct Subject {
    std::int32_t device = 0;
    std::string process;  // empty: the GPU
    friend bool operator<(const Subject& a, const Subject& b) {
      return std::tie(a.device, a.process) < std::tie(b.device, b.process);
    }
  };
  // What the columns of a row say.
  struct Fields {
    std::string_view date, time, index, id, name, pid;
    std::optional<std::int64_t> used;  // and by how much it may be off
    std::int64_t precision = 0;
    std::optional<std::int64_t> total;
  };
  struct Row {
    std::uint64_t line = 0;
    std::int64_t time = kNoTime;
    Subject subject;
    std::int64_t used = 0;
    std::optional<std::int64_t> total;
    std::int64_t precision = 0;
  };

  bool TakeHeader(std::string_view line);
  [[nodiscard]] std::optional<Fields> Read(std::string_view line) const;
  bool TakeRow(const LogLine& line);
  [[nodiscard]] std::vector<std::string_view> Split(std::string_view line) const;
  std::int32_t DeviceOf(std::string_view index, std::string_view id, bool same_time);
  void EndRound(std::uint64_t line, std::int64_t time);

  std::vector<Column> columns_;  // empty: no table
  bool blanks_ = false;          // between fields, not commas
  std::string_view producer_;
  int misses_ = 0;
  std::int64_t last_time_ = kNoTime;
  std::int32_t position_ = 0;                  // of a row within its round
  std::map<std::string, std::int32_t> ids_;    // in the order in which they came
  std::map<Subject, std::uint64_t> last_row_;  // of each process: where it was seen last
  std::uint64_t round_line_ = 0;               // first line of the round
  std::vector<Row> rows_;
  std::uint64_t left_out_ = 0;
};

}  // namespace memtool::formats::log
