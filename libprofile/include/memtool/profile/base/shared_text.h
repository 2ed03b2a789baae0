// Text of rows: as many rows as have a text share one copy of it, and the text of a whole stack is
// put together when somebody reads it. An input of kilobytes may give one name of megabytes to
// thousands of rows.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "memtool/profile/base/ids.h"
#include "memtool/profile/base/string_table.h"

namespace memtool {

class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text)  // NOLINT
      : text_(text.empty() ? nullptr : std::make_shared<const Text>(std::move(text))) {}
  SharedText(std::string_view text) : SharedText(std::string(text)) {}  // NOLINT
  SharedText(const char* text) : SharedText(std::string(text)) {}       // NOLINT
  // Names of a table, one at least, with ';' between them.
  static SharedText Join(std::shared_ptr<const StringTable> names, std::vector<StringId> ids);

  operator std::string_view() const { return view(); }  // NOLINT
  // Joined names stay put together from then on.
  [[nodiscard]] std::string_view view() const {
    return text_ == nullptr          ? std::string_view{}
           : text_->parts == nullptr ? std::string_view(text_->whole)
                                     : JoinedOnce();
  }
  // Joined names are not kept.
  [[nodiscard]] std::string str() const;
  [[nodiscard]] const char* c_str() const { return empty() ? "" : view().data(); }
  // Equal for copies of one text; what it is of texts that were made apart is not said.
  [[nodiscard]] std::uintptr_t identity() const {
    return reinterpret_cast<std::uintptr_t>(text_.get());
  }
  [[nodiscard]] bool empty() const { return text_ == nullptr; }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || Compare(a, b, std::string::npos) == 0;
  }
  // Puts nothing together.
  friend std::strong_ordering operator<=>(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ ? std::strong_ordering::equal
                              : Compare(a, b, std::string::npos) <=> 0;
  }
  // Bytes of a name that are enough to sort rows by: names may have megabytes in common.
  static constexpr std::size_t kHead = 4096;
  // By their heads. As std::string_view::compare().
  static int CompareHeads(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ ? 0 : Compare(a, b, kHead);
  }
  template <class T, class = std::enable_if_t<std::is_convertible_v<const T&, std::string_view> &&
                                              !std::is_same_v<T, SharedText>>>
  friend bool operator==(const SharedText& a, const T& b) {
    return a.Equals(std::string_view(b));
  }

 private:
  [[nodiscard]] bool Equals(std::string_view text) const;
  struct Parts;
  class Reader;
  struct Text {
    explicit Text(std::string text) : whole(std::move(text)) {}
    std::string whole;
    std::shared_ptr<const Parts> parts{};  // null: `whole` is the text
  };
  [[nodiscard]] std::string_view JoinedOnce() const;
  static int Compare(const SharedText& a, const SharedText& b, std::size_t most);

  std::shared_ptr<const Text> text_;  // null: empty
};

}  // namespace memtool
