// How a task ended, with what the structs of memtool.h point to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "columns.h"
#include "memtool.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"

namespace memtool::c {

// A file that was read; any thread may ask about it.
struct Input : memtool_input, std::enable_shared_from_this<Input> {
  Input() : memtool_input{} {}

  std::string display;
  std::shared_ptr<const Recording> recording;  // null: a log, which each question reads again
  std::shared_ptr<const HistoryIndex> index;   // null without a history
};

struct Outcome : memtool_outcome {
  Outcome() : memtool_outcome{} {}
  ~Outcome() = default;
  Outcome(const Outcome&) = delete;
  Outcome& operator=(const Outcome&) = delete;

  // Each sets members of memtool_outcome too.
  void SetOut(std::string text);
  void SetErr(std::string text);
  void SetError(const Error& error);
  // `name`: the error's own is not among ErrorCode.
  void SetError(const char* name, std::string text);
  void SetTable(Table made);
  void SetInput(std::shared_ptr<Input> read);

  std::shared_ptr<const Table> shared_table{};
  std::shared_ptr<const Input> shared_input{};

 private:
  std::string out_;
  std::string err_;
  memtool_error error_{};
  std::string error_text_;
  std::string error_input_;
  std::string error_message_;
  std::string error_hint_;
  memtool_table table_{};
  std::vector<memtool_column> columns_;
  std::string inputs_;
  std::string diagnostics_;
  std::string figures_;
};

std::unique_ptr<Outcome> WithoutMemory();
std::unique_ptr<Outcome> InternalFault(const std::string& what);
// `path`: where the error names no input of its own.
std::unique_ptr<Outcome> Failed(Error error, const std::string& path);

inline const Outcome& Whole(const memtool_outcome* outcome) {
  return static_cast<const Outcome&>(*outcome);
}

}  // namespace memtool::c
