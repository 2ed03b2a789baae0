#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/answers/column.h"
#include "memtool/profile/answers/events.h"
#include "memtool/profile/base/key_hash.h"

namespace memtool {

namespace {

using Integers = std::vector<std::int64_t>;
using AddressNumbers = std::vector<std::uint64_t>;
using Reals = std::vector<double>;
using Values = std::vector<Value>;

// "0x7f00"
std::optional<std::uint64_t> AddressIn(std::string_view text) {
  if (!text.starts_with("0x")) {
    return std::nullopt;
  }
  text.remove_prefix(2);
  std::uint64_t address = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, address, 16);
  return error == std::errc{} && parsed == end ? std::optional(address) : std::nullopt;
}

// What a column without a single value is made of.
AnswerColumn::Data Typeless(Unit unit) {
  switch (unit) {
    case Unit::kText:
      return AnswerColumn::Words{};
    case Unit::kRatio:
      return Reals{};
    case Unit::kAddress:
      return AddressNumbers{};
    case Unit::kNested:
      return Values{};
    default:
      return Integers{};
  }
}

}  // namespace

struct ColumnBuilder::Impl {
  AnswerColumn column;
  std::size_t rows = 0;
  bool typed = false;                         // some value showed what the data are
  KeyMap<std::string, std::int32_t> numbers;  // of words

  void AddMissing() {
    std::visit(
        [this](auto& data) {
          using Data = std::decay_t<decltype(data)>;
          if constexpr (std::is_same_v<Data, AnswerColumn::Words>) {
            data.codes.push_back(-1);
          } else if constexpr (std::is_same_v<Data, Values>) {
            data.emplace_back();
          } else {
            column.missing.resize(rows, 0);
            column.missing.push_back(1);
            if constexpr (std::is_same_v<Data, AnswerColumn::Truths>) {
              data.values.push_back(0);
            } else {
              data.push_back({});
            }
          }
        },
        column.data);
    ++rows;
  }

  // The data as a vector of this type, in which rows that were missing so far have their place.
  template <class Data>
  Data* As() {
    if (!typed) {
      typed = true;
      const std::size_t before = std::exchange(rows, 0);
      column.missing.clear();
      column.data = Data{};
      for (std::size_t row = 0; row < before; ++row) {
        AddMissing();
      }
    }
    return std::get_if<Data>(&column.data);
  }

  // Puts the next row, if the data are of this type.
  template <class Data, class T>
  bool Put(T value) {
    Data* data = As<Data>();
    if (data == nullptr) {
      return false;
    }
    if constexpr (std::is_same_v<Data, AnswerColumn::Truths>) {
      data->values.push_back(value ? 1 : 0);
    } else if constexpr (std::is_same_v<Data, AnswerColumn::Words>) {
      data->codes.push_back(ToNumber(std::move(value), *data));
    } else {
      data->push_back(value);
    }
    ++rows;
    if (!column.missing.empty()) {
      column.missing.push_back(0);
    }
    return true;
  }

  std::int32_t ToNumber(const std::string& word, AnswerColumn::Words& words) {
    const auto [found, added] =
        numbers.emplace(word, static_cast<std::int32_t>(words.words.size()));
    if (added) {
      words.words.push_back(word);
    }
    return found->second;
  }

  bool PutInteger(std::int64_t value) {
    if (auto* reals = typed ? std::get_if<Reals>(&column.data) : nullptr; reals != nullptr) {
      return Put<Reals>(static_cast<double>(value));
    }
    return Put<Integers>(value);
  }

  // A column of whole numbers in which a real one turns up.
  bool PutReal(double value) {
    if (auto* integers = typed ? std::get_if<Integers>(&column.data) : nullptr;
        integers != nullptr) {
      Reals reals(integers->begin(), integers->end());
      column.data = std::move(reals);
    }
    return Put<Reals>(value);
  }

  bool TryPut(const Value& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value.data())) {
      return PutInteger(*integer);
    }
    if (const auto* number = std::get_if<std::uint64_t>(&value.data())) {
      return std::in_range<std::int64_t>(*number) && PutInteger(static_cast<std::int64_t>(*number));
    }
    if (const auto* real = std::get_if<double>(&value.data())) {
      return PutReal(*real);
    }
    if (const auto* truth = std::get_if<bool>(&value.data())) {
      return Put<AnswerColumn::Truths>(*truth);
    }
    if (const auto* text = std::get_if<std::string>(&value.data())) {
      const auto address =
          column.unit == Unit::kAddress ? AddressIn(*text) : std::optional<std::uint64_t>();
      return address ? Put<AddressNumbers>(*address) : Put<AnswerColumn::Words>(*text);
    }
    if (const auto* text = std::get_if<SharedText>(&value.data())) {
      return Put<AnswerColumn::Words>(text->str());
    }
    return Put<Values>(value);
  }

  [[nodiscard]] Value ToValue(std::size_t row) const {
    if (!column.missing.empty() && column.missing[row] != 0) {
      return {};
    }
    return std::visit(
        [row](const auto& data) -> Value {
          using Data = std::decay_t<decltype(data)>;
          if constexpr (std::is_same_v<Data, AnswerColumn::Words>) {
            return data.codes[row] < 0
                       ? Value()
                       : Value(data.words[static_cast<std::size_t>(data.codes[row])]);
          } else if constexpr (std::is_same_v<Data, AnswerColumn::Truths>) {
            return Value(data.values[row] != 0);
          } else if constexpr (std::is_same_v<Data, AddressNumbers>) {
            return Value(AddressText(data[row]));
          } else {
            return Value(data[row]);
          }
        },
        column.data);
  }

  void BecomeValues() {
    Values values;
    values.reserve(rows + 1);
    for (std::size_t row = 0; row < rows; ++row) {
      values.push_back(ToValue(row));
    }
    typed = true;
    column.data = std::move(values);
    column.missing.clear();
    numbers.clear();
  }
};

ColumnBuilder::ColumnBuilder(const FieldInfo& field) : impl_(std::make_unique<Impl>()) {
  impl_->column = {.key = std::string(field.key),
                   .title = std::string(field.title),
                   .unit = field.unit,
                   .data = Typeless(field.unit)};
}

ColumnBuilder::~ColumnBuilder() = default;
ColumnBuilder::ColumnBuilder(ColumnBuilder&&) noexcept = default;

void ColumnBuilder::Add(const Value& value) {
  if (value.is_null()) {
    impl_->AddMissing();
  } else if (!impl_->TryPut(value)) {
    impl_->BecomeValues();
    impl_->Put<Values>(value);
  }
}

AnswerColumn ColumnBuilder::Make() && {
  return std::move(impl_->column);
}

AnswerColumns MakeColumns(const AnswerView& answer, std::size_t limit) {
  if (answer.columns && (limit == 0 || limit >= answer.row_count)) {
    return answer.columns(answer.fields);
  }
  std::vector<ColumnBuilder> builders;
  for (const FieldInfo& field : answer.fields) {
    builders.emplace_back(field);
  }
  AnswerColumns made;
  if (answer.rows) {
    for (const auto next = answer.rows(limit); const auto* values = next(); ++made.rows) {
      for (std::size_t i = 0; i < builders.size(); ++i) {
        builders[i].Add((*values)[i]);
      }
    }
  }
  for (ColumnBuilder& builder : builders) {
    made.columns.push_back(std::move(builder).Make());
  }
  return made;
}

}  // namespace memtool
