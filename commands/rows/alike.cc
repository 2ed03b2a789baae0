#include "rows/alike.h"

#include <algorithm>
#include <map>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "output/writers.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kLeastAlike = 3;

// What a reader sees of a row beside its own columns.
std::string SeenBeside(const std::vector<Cell>& row, const std::vector<std::size_t>& own) {
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::find(own.begin(), own.end(), i) == own.end()) {
      text += CellText(row[i], SizeUnit::kAuto) + '\n';
    }
  }
  return text;
}

struct AlikeGroup {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t count = 0;
};

struct AlikeGroups {
  std::vector<AlikeGroup> all;
  std::vector<std::size_t> of_row;
};

AlikeGroups GroupAlike(const AlikeRule& rule, const TextTable& table) {
  AlikeGroups groups;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::string seen = SeenBeside(table.rows[i], rule.own);
    if (rule.adjacent && !known.contains(seen)) {
      known.clear();
    }
    const auto [at, fresh] = known.try_emplace(std::move(seen), groups.all.size());
    if (fresh) {
      groups.all.push_back({.first = i});
    }
    AlikeGroup& group = groups.all[at->second];
    group.last = i;
    ++group.count;
    groups.of_row.push_back(at->second);
  }
  return groups;
}

}  // namespace

void JoinAlike(const AlikeRule& rule, TextTable& table) {
  std::vector<std::vector<Cell>> rows;
  const auto take = [&](const std::vector<Cell>& row, std::size_t count) {
    if (rule.limit == 0 || rows.size() < rule.limit) {
      rows.push_back(row);
      return;
    }
    table.skipped_rows += count;
    if (const auto* amount = std::get_if<Amount>(&row[table.measure])) {
      table.skipped_amount =
          SaturatingAdd(table.skipped_amount,
                        SaturatingMultiply(amount->value, static_cast<std::int64_t>(count)));
    }
  };
  const AlikeGroups groups = GroupAlike(rule, table);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const AlikeGroup& group = groups.all[groups.of_row[i]];
    if (group.count < kLeastAlike) {
      take(table.rows[i], 1);
    } else if (i == group.first) {
      std::vector<Cell> row = table.rows[i];
      row[rule.own.front()] =
          rule.say({.first = table.rows[i], .last = table.rows[group.last], .count = group.count});
      take(row, group.count);
    }
  }
  table.rows = std::move(rows);
}

std::size_t DropZeros(std::span<const std::size_t> amounts, TextTable& table) {
  return std::erase_if(table.rows, [amounts](const std::vector<Cell>& row) {
    return std::all_of(amounts.begin(), amounts.end(), [&row](std::size_t column) {
      const auto* amount = std::get_if<Amount>(&row[column]);
      return amount != nullptr && amount->value == 0;
    });
  });
}

}  // namespace memtool::commands
