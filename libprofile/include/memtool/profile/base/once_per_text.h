// What a text of a recording says, found once however many functions, lines and rows have the text:
// a file may have one name of megabytes and thousands of functions in it.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "memtool/profile/base/ids.h"
#include "memtool/profile/base/row_map.h"

namespace memtool {

// `Find`: StringId → anything. All ids are of one table.
template <class Find>
class OncePerText {
 public:
  explicit OncePerText(Find find) : find_(std::move(find)) {}

  auto operator()(StringId id) -> std::invoke_result_t<Find, StringId> {
    const std::uint32_t row =
        row_of_text_.GetOrPut(id.value(), static_cast<std::uint32_t>(found_.size()));
    if (row == found_.size()) {
      found_.push_back(find_(id));
    }
    return found_[row];
  }

 private:
  Find find_;
  RowMap row_of_text_;
  std::vector<std::invoke_result_t<Find, StringId>> found_;
};

}  // namespace memtool
