// Text of rows: as many rows as have a text share one copy of it. An input of kilobytes may give
// one name of megabytes to thousands of rows.
#pragma once

#include <compare>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace memtool {

class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text)  // NOLINT
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(std::string_view text) : SharedText(std::string(text)) {}  // NOLINT
  SharedText(const char* text) : SharedText(std::string(text)) {}       // NOLINT

  operator std::string_view() const { return view(); }  // NOLINT
  [[nodiscard]] std::string_view view() const {
    return text_ == nullptr ? std::string_view{} : std::string_view(*text_);
  }
  [[nodiscard]] std::string str() const { return std::string(view()); }
  [[nodiscard]] const char* c_str() const { return text_ == nullptr ? "" : text_->c_str(); }
  [[nodiscard]] bool empty() const { return text_ == nullptr; }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.view() == b.view();
  }
  friend std::strong_ordering operator<=>(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ ? std::strong_ordering::equal : a.view().compare(b.view()) <=> 0;
  }
  template <class T, class = std::enable_if_t<std::is_convertible_v<const T&, std::string_view> &&
                                              !std::is_same_v<T, SharedText>>>
  friend bool operator==(const SharedText& a, const T& b) {
    return a.view() == std::string_view(b);
  }

 private:
  std::shared_ptr<const std::string> text_;  // null: empty
};

}  // namespace memtool
