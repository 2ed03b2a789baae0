#include "output/columns.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <utility>

#include "output/writers.h"

namespace memtool::commands {

namespace {

// "BASE CUM", "base_cum" and "base-cum" are one name.
std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    const bool gap = c == ' ' || c == '-' || c == '_';
    plain += gap ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  plain.erase(0, plain.find_first_not_of('_'));
  plain.erase(plain.find_last_not_of('_') + 1);
  return plain;
}

struct Names {
  std::string_view title;
  std::string_view key;
};

// The rows of `known` that the list names, each once.
Result<std::vector<std::size_t>> Choose(const std::vector<Names>& known, std::string_view list) {
  std::vector<std::size_t> chosen;
  while (!list.empty()) {
    const std::size_t end = list.find(',');
    const std::string_view name = list.substr(0, end);
    list = end == std::string_view::npos ? std::string_view{} : list.substr(end + 1);
    const auto found = std::find_if(known.begin(), known.end(), [&](const Names& names) {
      return Plain(names.title) == Plain(name) ||
             (!names.key.empty() && Plain(names.key) == Plain(name));
    });
    if (found == known.end()) {
      std::string all;
      for (const Names& names : known) {
        all += (all.empty() ? "" : ", ") + Plain(names.title.empty() ? names.key : names.title);
      }
      return Fail(ErrorCode::kUsage, "--columns: there is no column '" + std::string(name) + "'",
                  "there are " + all);
    }
    const auto number = static_cast<std::size_t>(found - known.begin());
    if (std::find(chosen.begin(), chosen.end(), number) == chosen.end()) {
      chosen.push_back(number);
    }
  }
  return chosen;
}

}  // namespace

std::vector<std::size_t> ShownColumns(const TextTable& table) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!table.columns[i].title.empty() && !table.columns[i].off) {
      shown.push_back(i);
    }
  }
  return shown;
}

Result<std::vector<std::size_t>> ChooseColumns(const TextTable& table, std::string_view list) {
  std::vector<Names> names;
  std::vector<std::size_t> titled;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!table.columns[i].title.empty()) {
      names.push_back({table.columns[i].title, table.columns[i].key});
      titled.push_back(i);
    }
  }
  auto chosen = Choose(names, list);
  MEMTOOL_TRY(chosen);
  for (std::size_t& column : *chosen) {
    column = titled[column];
  }
  std::stable_partition(chosen->begin(), chosen->end(), [&table](std::size_t column) {
    return !table.columns[column].wrap && !table.columns[column].lines;
  });
  return chosen;
}

Result<AnswerView> ChooseFields(AnswerView view, std::string_view list) {
  std::vector<Names> names;
  for (const FieldInfo& field : view.fields) {
    names.push_back({field.key, field.title});
  }
  const auto chosen = Choose(names, list);
  MEMTOOL_TRY(chosen);
  std::vector<FieldInfo> fields;
  for (const std::size_t number : *chosen) {
    fields.push_back(view.fields[number]);
  }
  view.fields = std::move(fields);
  view.rows = [numbers = *chosen, whole = std::move(view.rows)](std::size_t limit) {
    return RowStream<AnswerView::Values>(
        [numbers, next = whole(limit), picked = AnswerView::Values()]() mutable {
          AnswerView::Values* values = next();
          picked.clear();
          for (std::size_t i = 0; values != nullptr && i < numbers.size(); ++i) {
            picked.push_back(std::move((*values)[numbers[i]]));
          }
          return values == nullptr ? nullptr : &picked;
        });
  };
  return view;
}

}  // namespace memtool::commands
