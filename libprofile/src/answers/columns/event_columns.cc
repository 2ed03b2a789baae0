#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memtool/profile/answers/events.h"

namespace memtool {

namespace {

// An event on its way into columns.
struct Listed {
  const EventRow& row;
  std::size_t who = 0;  // the number of its stack's name: 0, 1 … in order of first use
};

class Filler {
 public:
  virtual ~Filler() = default;
  virtual void Put(const Listed& listed) = 0;
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

  void Put(const Listed& listed) override {
    const std::optional<T> value = get_(listed.row);
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
std::unique_ptr<Filler> NumbersOf(Get get) {
  return std::make_unique<Numbers<T, Get>>(get);
}

// Words by their text; the last one is known again at once.
class Texts {
 public:
  std::int32_t NumberOf(std::string_view text) {
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
  void Put(std::int32_t number) { codes_.push_back(number); }
  void Finish(AnswerColumn& column) {
    column.data = AnswerColumn::Words{std::move(codes_), std::move(words_)};
  }

 private:
  std::vector<std::int32_t> codes_;
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::int32_t last_ = -1;
};

class ActionFiller final : public Filler {
 public:
  void Put(const Listed& listed) override {
    texts_.Put(texts_.NumberOf(ActionName(listed.row.action)));
  }
  void Finish(AnswerColumn& column) override { texts_.Finish(column); }

 private:
  Texts texts_;
};

class LabelFiller final : public Filler {
 public:
  void Put(const Listed& listed) override { texts_.Put(texts_.NumberOf(listed.row.labels)); }
  void Finish(AnswerColumn& column) override { texts_.Finish(column); }

 private:
  Texts texts_;
};

// A text of the stack's name, looked up once per stack; null where `Get` gives none.
template <class Get>
class OfStack final : public Filler {
 public:
  explicit OfStack(Get get) : get_(get) {}
  void Put(const Listed& listed) override {
    if (listed.who >= numbers_.size()) {
      const std::optional<std::string_view> text = get_(*listed.row.who);
      numbers_.push_back(text ? texts_.NumberOf(*text) : -1);
    }
    texts_.Put(numbers_[listed.who]);
  }
  void Finish(AnswerColumn& column) override { texts_.Finish(column); }

 private:
  Get get_;
  Texts texts_;
  std::vector<std::int32_t> numbers_;  // per number of a stack's name
};

template <class Get>
std::unique_ptr<Filler> OfStackBy(Get get) {
  return std::make_unique<OfStack<Get>>(get);
}

using MaybeText = std::optional<std::string_view>;
using MaybeNumber = std::optional<std::int64_t>;

std::optional<std::uint64_t> RowAddress(const EventRow& row) {
  return row.id ? std::optional(row.id->address) : std::nullopt;
}

// Of a field of kEventFields.
std::unique_ptr<Filler> FillerOf(std::string_view key) {
  using Make = std::unique_ptr<Filler> (*)();
  static const std::unordered_map<std::string_view, Make> makers{
      {"event",
       [] { return NumbersOf<std::int64_t>([](const EventRow& row) { return row.number; }); }},
      {"device",
       [] { return NumbersOf<std::int32_t>([](const EventRow& row) { return row.device; }); }},
      {"action", []() -> std::unique_ptr<Filler> { return std::make_unique<ActionFiller>(); }},
      {"size",
       [] { return NumbersOf<std::int64_t>([](const EventRow& row) { return row.size; }); }},
      {"id",
       [] {
         return NumbersOf<std::int64_t>([](const EventRow& row) {
           return row.id ? MaybeNumber(static_cast<std::int64_t>(row.id->version)) : std::nullopt;
         });
       }},
      {"allocated",
       [] { return NumbersOf<std::int64_t>([](const EventRow& row) { return row.allocated; }); }},
      {"time_us",
       [] {
         return NumbersOf<std::int64_t>([](const EventRow& row) {
           return row.time == kNoTime ? std::nullopt : MaybeNumber(row.time / 1000);
         });
       }},
      {"address", [] { return NumbersOf<std::uint64_t>(RowAddress); }},
      {"stream",
       [] { return NumbersOf<std::uint64_t>([](const EventRow& row) { return row.stream; }); }},
      {"partner",
       [] { return NumbersOf<std::int64_t>([](const EventRow& row) { return row.partner; }); }},
      {"lived_events",
       [] {
         return NumbersOf<std::int64_t>([](const EventRow& row) { return row.lived_events; });
       }},
      {"lived_us",
       [] {
         return NumbersOf<std::int64_t>([](const EventRow& row) {
           return row.lived_nanos ? MaybeNumber(*row.lived_nanos / 1000) : std::nullopt;
         });
       }},
      {"device_free",
       [] { return NumbersOf<std::int64_t>([](const EventRow& row) { return row.device_free; }); }},
      {"name", [] { return OfStackBy([](const StackName& who) { return MaybeText(who.name); }); }},
      {"file", [] { return OfStackBy([](const StackName& who) { return MaybeText(who.file); }); }},
      {"line",
       [] {
         return NumbersOf<std::int64_t>([](const EventRow& row) {
           return row.who->line > 0 ? MaybeNumber(row.who->line) : std::nullopt;
         });
       }},
      {"via",
       [] {
         return OfStackBy([](const StackName& who) {
           return who.via.empty() ? std::nullopt : MaybeText(who.via);
         });
       }},
      {"labels", []() -> std::unique_ptr<Filler> { return std::make_unique<LabelFiller>(); }},
      {"stack",
       [] { return OfStackBy([](const StackName& who) { return MaybeText(who.stack); }); }},
  };
  return makers.at(key)();
}

}  // namespace

AnswerColumns EventColumns(EventSource& source, std::span<const FieldInfo> fields,
                           std::optional<std::size_t> limit) {
  std::vector<std::unique_ptr<Filler>> fillers;
  for (const FieldInfo& field : fields) {
    fillers.push_back(FillerOf(field.key));
  }
  AnswerColumns made;
  std::unordered_map<const StackName*, std::size_t> names;
  const auto next = source.Rows();
  for (EventRow row; (!limit || made.rows < *limit) && next(row); ++made.rows) {
    const Listed listed{row, names.emplace(row.who, names.size()).first->second};
    for (const auto& filler : fillers) {
      filler->Put(listed);
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
