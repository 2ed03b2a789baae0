// Events as columns, filled from their declared fields without a Value of each.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "memtool/profile/answers/events.h"
#include "memtool/profile/base/key_hash.h"

namespace memtool {

namespace {

class Filler {
 public:
  virtual ~Filler() = default;
  // `who`: the number of the stack's name: 0, 1 … in order of first use.
  virtual void Put(const EventRow& row, std::size_t who) = 0;
  virtual void Finish(AnswerColumn& column) = 0;

  Filler() = default;
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;
};

// What `Get` returns for an event: a number, or perhaps one.
template <class T, class Get>
class Numbers final : public Filler {
 public:
  explicit Numbers(Get get) : get_(get) {}

  void Put(const EventRow& row, std::size_t /*who*/) override {
    const std::optional<T> value = get_(row);
    if (!value && missing_.empty()) {
      missing_.resize(values_.size(), 0);
      missing_.reserve(values_.capacity());
    }
    values_.push_back(value.value_or(T{}));
    if (!value || !missing_.empty()) {
      missing_.push_back(value ? 0 : 1);
    }
  }
  void Finish(AnswerColumn& column) override {
    column.data = std::move(values_);
    column.missing = std::move(missing_);
  }

 private:
  Get get_;
  std::vector<T> values_;
  std::vector<std::uint8_t> missing_;
};

template <class T, class Get>
std::unique_ptr<Filler> MakeNumbers(Get get) {
  return std::make_unique<Numbers<T, Get>>(get);
}

// Texts by number, -1 = none. The last one is known again at once; where they stay (a view that
// `Get` returns), so is the last one of the same stack.
template <class Get>
class Texts final : public Filler {
 public:
  explicit Texts(Get get) : get_(get) {}

  void Put(const EventRow& row, std::size_t who) override {
    using Text = std::decay_t<decltype(get_(row))>;
    if constexpr (std::is_same_v<Text, std::optional<std::string_view>>) {
      const Text text = get_(row);
      if (who >= known_.size()) {
        known_.resize(who + 1);
      }
      auto& [data, size, number] = known_[who];
      if (text && (number < 0 || data != text->data() || size != text->size())) {
        known_[who] = {text->data(), text->size(), ToNumber(*text)};
      }
      codes_.push_back(text ? number : -1);
    } else {
      codes_.push_back(ToNumber(get_(row)));
    }
  }
  void Finish(AnswerColumn& column) override {
    column.data = AnswerColumn::Words{std::move(codes_), std::move(words_)};
  }

 private:
  struct Known {
    const char* data = nullptr;
    std::size_t size = 0;
    std::int32_t number = -1;
  };

  std::int32_t ToNumber(std::string_view text) {
    if (last_ >= 0 && words_[static_cast<std::size_t>(last_)] == text) {
      return last_;
    }
    const auto [found, added] =
        numbers_.emplace(std::string(text), static_cast<std::int32_t>(words_.size()));
    if (added) {
      words_.push_back(found->first);
    }
    return last_ = found->second;
  }

  Get get_;
  std::vector<std::int32_t> codes_;
  std::vector<std::string> words_;
  KeyMap<std::string, std::int32_t> numbers_;
  std::vector<Known> known_;  // per number of a stack's name
  std::int32_t last_ = -1;
};

template <class Get>
std::unique_ptr<Filler> MakeTexts(Get get) {
  return std::make_unique<Texts<Get>>(get);
}

// Whatever else a field holds.
class ValueFiller final : public Filler {
 public:
  explicit ValueFiller(const Field<EventRow>& field) : field_(field), builder_(field.Info()) {}
  void Put(const EventRow& row, std::size_t /*who*/) override { builder_.Add(field_.Of(row)); }
  void Finish(AnswerColumn& column) override { column = std::move(builder_).Make(); }

 private:
  Field<EventRow> field_;
  ColumnBuilder builder_;
};

// A block's number at its address; the address has a column of its own.
std::optional<std::int64_t> GetVersion(const EventRow& row) {
  return row.id ? std::optional(static_cast<std::int64_t>(row.id->version)) : std::nullopt;
}

std::unique_ptr<Filler> MakeFiller(const Field<EventRow>& field) {
  if (field.key == "id") {
    return MakeNumbers<std::int64_t>(GetVersion);
  }
  return field.get.Visit([&field](const auto& getter) -> std::unique_ptr<Filler> {
    using Getter = std::decay_t<decltype(getter)>;
    if constexpr (std::is_invocable_v<Getter, const EventRow&>) {
      using T = std::decay_t<std::invoke_result_t<Getter, const EventRow&>>;
      const auto get = [getter](const EventRow& row) -> decltype(auto) {
        return std::invoke(getter, row);
      };
      if constexpr (std::is_same_v<T, std::int32_t>) {
        return MakeNumbers<std::int32_t>(get);
      } else if constexpr (std::is_same_v<T, std::int64_t> ||
                           std::is_same_v<T, std::optional<std::int64_t>>) {
        return MakeNumbers<std::int64_t>(get);
      } else if constexpr (std::is_same_v<T, std::optional<std::uint64_t>>) {
        return MakeNumbers<std::uint64_t>(get);
      } else if constexpr (std::is_same_v<T, std::string> ||
                           std::is_same_v<T, std::optional<std::string_view>>) {
        return MakeTexts(get);
      }
    }
    return std::make_unique<ValueFiller>(field);
  });
}

}  // namespace

AnswerColumns EventColumns(EventSource& source, std::span<const FieldInfo> fields,
                           std::optional<std::size_t> limit) {
  std::vector<std::unique_ptr<Filler>> fillers;
  for (const FieldInfo& requested : fields) {
    for (const Field<EventRow>& field : kEventFields) {
      if (field.key == requested.key) {
        fillers.push_back(MakeFiller(field));
      }
    }
  }
  AnswerColumns made;
  KeyMap<const StackName*, std::size_t> names;
  const auto next = source.Rows();
  for (const EventRow* row = nullptr; (!limit || made.rows < *limit) && (row = next()) != nullptr;
       ++made.rows) {
    const std::size_t who = names.emplace(row->who, names.size()).first->second;
    for (const auto& filler : fillers) {
      filler->Put(*row, who);
    }
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const FieldInfo& field = fields[i];
    AnswerColumn& column = made.columns.emplace_back(
        AnswerColumn{.key = std::string(field.key == "id" ? "version" : field.key),
                     .title = std::string(field.title),
                     .unit = field.key == "id" ? Unit::kOrdinal : field.unit});
    fillers[i]->Finish(column);
  }
  return made;
}

}  // namespace memtool
