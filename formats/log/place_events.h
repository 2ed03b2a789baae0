// What one process held on one device over time, as events: what the statements of a log say of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/string_table.h"
#include "memtool/profile/model/history.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/model/statement.h"

namespace memtool::formats::log {

class PlaceEvents {
 public:
  // Both stay with the caller; `strings` are those of the statements. `rows_by_stage`: as of
  // LogForm.
  PlaceEvents(RecordingBuilder& builder, const StringTable& strings, bool rows_by_stage)
      : builder_(builder), strings_(strings), rows_by_stage_(rows_by_stage) {}

  // Of every statement, before the first Take: which amounts there will be.
  void Expect(const Statement& statement);
  // In the order of the log.
  void Take(const Statement& statement);
  // Memory ran out: `requested` bytes were asked for, and the driver had `free`.
  void Fail(std::int64_t requested, std::optional<std::int64_t> free, std::int64_t time);

  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  [[nodiscard]] const std::vector<LabelSetId>& labels() const { return labels_; }  // per event
  [[nodiscard]] StringId process() const { return process_; }  // of the last statement
  [[nodiscard]] std::optional<std::int64_t> total() const { return total_; }
  // The figure of the driver that the events follow, "used" of a device or "process"; empty where
  // they follow an allocator's or what is held for each purpose.
  [[nodiscard]] std::string_view driver_figure() const;

 private:
  // Which amounts make rows.
  enum class Rows : std::uint8_t { kNone, kParts, kLevel };
  struct Live {
    std::uint64_t key = 0;
    std::int64_t size = 0;
    StackId stack;
    LabelSetId labels;
  };
  // What is allocated under one name: an amount, and the buffer where the line names it.
  using LiveKey = std::pair<std::uint8_t, std::uint32_t>;

  static LiveKey KeyOf(const Statement& statement);
  StackId StackOf(const Statement& statement);
  LabelSetId LabelsOf(const Statement& statement);
  void Alloc(const Statement& statement, std::int64_t size, StackId stack, LabelSetId labels);
  void Free(const LiveKey& key, std::int64_t time);
  void Add(const Event& event, LabelSetId labels = LabelSetId(0U));
  void TakePart(const Statement& statement);
  void TakeLevel(const Statement& statement);
  void Reserve(const Statement& statement, std::int64_t bytes);
  void EndRun(std::int64_t time);

  RecordingBuilder& builder_;
  const StringTable& strings_;
  bool rows_by_stage_;
  std::map<std::string_view, StackId> stacks_;
  std::vector<Event> events_;
  std::vector<LabelSetId> labels_;
  std::map<LiveKey, std::vector<Live>> live_;
  std::array<std::int64_t, 256> held_{};  // by amount
  std::int64_t live_bytes_ = 0;
  std::int64_t reserved_ = 0;
  std::int64_t said_reserved_ = 0;  // less than that where more was live
  std::optional<std::int64_t> first_free_;
  std::optional<std::int64_t> total_;
  std::uint64_t keys_ = 0;
  std::uint32_t run_ = 0;
  StringId process_;
  Rows rows_ = Rows::kNone;
  std::size_t level_rank_ = 100;
  std::optional<std::uint8_t> level_;  // the amount whose changes are rows
  bool used_is_level_ = false;
  bool reserved_said_ = false;
};

}  // namespace memtool::formats::log
