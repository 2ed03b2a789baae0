#include "memtool/profile/base/shared_text.h"

#include <algorithm>
#include <optional>

#include "memtool/profile/base/once.h"

namespace memtool {

struct SharedText::Parts {
  std::shared_ptr<const StringTable> names;
  std::vector<StringId> ids;
  mutable Once<std::string> joined{};
};

// The text in pieces.
class SharedText::Reader {
 public:
  explicit Reader(const SharedText& text) : text_(text.text_.get()) {}

  // Nothing behind the last piece. Pieces are never empty.
  std::optional<std::string_view> Next() {
    while (text_ != nullptr) {
      const Parts* parts = text_->parts.get();
      std::string_view piece;
      if (parts == nullptr) {
        piece = text_->whole;
        text_ = nullptr;
      } else if (at_ == 2 * parts->ids.size() - 1) {
        text_ = nullptr;
      } else {
        piece = at_ % 2 == 1 ? std::string_view(";") : (*parts->names)[parts->ids[at_ / 2]];
        ++at_;
      }
      if (!piece.empty()) {
        return piece;
      }
    }
    return std::nullopt;
  }

  // Passes names that both begin with, but for the last, behind which one of them may end.
  static void PassEqual(Reader& a, Reader& b) {
    const Parts* one = a.text_ == nullptr ? nullptr : a.text_->parts.get();
    const Parts* other = b.text_ == nullptr ? nullptr : b.text_->parts.get();
    if (one != nullptr && other != nullptr && one->names == other->names) {
      const auto differ =
          std::mismatch(one->ids.begin(), one->ids.end(), other->ids.begin(), other->ids.end());
      const auto equal = static_cast<std::size_t>(differ.first - one->ids.begin());
      a.at_ = b.at_ = equal == 0 ? 0 : 2 * (equal - 1);
    }
  }

 private:
  const Text* text_;
  std::size_t at_ = 0;  // names at even places, what stands between them at odd ones
};

SharedText SharedText::Join(std::shared_ptr<const StringTable> names, std::vector<StringId> ids) {
  auto text = std::make_shared<Text>(std::string());
  auto parts = std::make_shared<Parts>();
  parts->names = std::move(names);
  parts->ids = std::move(ids);
  text->parts = std::move(parts);
  SharedText joined;
  joined.text_ = std::move(text);
  return joined;
}

std::string SharedText::str() const {
  std::string text;
  Reader reader(*this);
  while (const auto piece = reader.Next()) {
    text += *piece;
  }
  return text;
}

std::string_view SharedText::JoinedOnce() const {
  return text_->parts->joined.Get([this] { return str(); });
}

bool SharedText::Equals(std::string_view text) const {
  Reader reader(*this);
  while (const auto piece = reader.Next()) {
    if (!text.starts_with(*piece)) {
      return false;
    }
    text.remove_prefix(piece->size());
  }
  return text.empty();
}

int SharedText::Compare(const SharedText& a, const SharedText& b, std::size_t most) {
  Reader one(a);
  Reader other(b);
  Reader::PassEqual(one, other);
  std::string_view left;
  std::string_view right;
  while (most > 0) {
    left = left.empty() ? one.Next().value_or(std::string_view{}) : left;
    right = right.empty() ? other.Next().value_or(std::string_view{}) : right;
    const std::size_t size = std::min({left.size(), right.size(), most});
    if (size == 0) {
      return left.compare(right);  // one of them has ended
    }
    if (const int order = left.substr(0, size).compare(right.substr(0, size)); order != 0) {
      return order;
    }
    left.remove_prefix(size);
    right.remove_prefix(size);
    most -= size;
  }
  return 0;
}

}  // namespace memtool
