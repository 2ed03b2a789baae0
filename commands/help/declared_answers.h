// What the answers of all commands hold, for `memtool help columns` and `memtool help schema`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/field.h"

namespace memtool::commands {

// A figure besides the rows.
struct FigureInfo {
  std::string_view key;
  std::string_view type;     // see Field::type
  std::string_view meaning;  // a sentence without its full stop
};

struct DeclaredAnswer {
  std::string_view question;  // "top": schema memtool.top/1; several forms of an answer share it
  std::string_view command;
  std::vector<FieldInfo> fields;
  std::span<const FigureInfo> figures;
};

std::vector<DeclaredAnswer> DeclaredAnswers();
// The columns and figures of a command's answers, one per line; of all commands for an empty name,
// and empty for a command without any.
std::string ColumnsText(std::string_view command);
// What the titles of its first table mean; empty for a command without any.
std::string ColumnLegend(std::string_view command);
// The JSON Schema of an answer; empty for what is no answer.
std::string SchemaText(std::string_view question);

}  // namespace memtool::commands
