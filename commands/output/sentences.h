// What an answer says in words. A command makes its sentences once: a table has them above and
// below its rows, data as the figures `verdict` and `notes`.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "output/text_table.h"

namespace memtool::commands {

struct Sentences {
  std::vector<std::string> verdict;  // the answer first
  std::vector<std::string> notes;
};

// Figures of these names that the view has already are the same.
inline AnswerView WithSentences(AnswerView view, const Sentences& said) {
  const auto put = [&view](std::string_view key, const std::vector<std::string>& lines) {
    if (std::none_of(view.figures.begin(), view.figures.end(),
                     [key](const NamedValue& figure) { return figure.first == key; })) {
      view.figures.emplace_back(key, Value::List(lines.begin(), lines.end()));
    }
  };
  put("verdict", said.verdict);
  put("notes", said.notes);
  return view;
}

inline void PutSentences(Sentences said, TextTable& table) {
  table.head = std::move(said.verdict);
  table.foot = std::move(said.notes);
}

}  // namespace memtool::commands
