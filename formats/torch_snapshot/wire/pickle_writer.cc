#include "torch_snapshot/wire/pickle_writer.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "memtool/profile/base/utf8.h"
#include "support/pickle/pickle_opcodes.h"

namespace memtool::formats::torch_snapshot {

namespace {

constexpr unsigned char kProtocol = 2;
// Python writes so many items before it appends them; readers' stacks rely on that.
constexpr std::uint32_t kBatch = 1000;

}  // namespace

PickleWriter::PickleWriter() {
  Byte(pickle::kProto);
  Byte(kProtocol);
}

void PickleWriter::Number(std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    Byte(static_cast<unsigned char>(value >> (8 * i)));
  }
}

void PickleWriter::Begin(bool dict) {
  Byte(dict ? pickle::kEmptyDict : pickle::kEmptyList);
  levels_.push_back({.items = 0, .dict = dict});
}

void PickleWriter::Count() {
  Level& level = levels_.back();
  if (level.items == kBatch) {
    Byte(level.dict ? pickle::kSetItems : pickle::kAppends);
    level.items = 0;
  }
  if (level.items == 0) {
    Byte(pickle::kMark);
  }
  ++level.items;
}

void PickleWriter::End() {
  const Level level = levels_.back();
  levels_.pop_back();
  if (level.items > 0) {
    Byte(level.dict ? pickle::kSetItems : pickle::kAppends);
  }
}

void PickleWriter::BeginDict() {
  Begin(true);
}
void PickleWriter::EndDict() {
  End();
}
void PickleWriter::BeginList() {
  Begin(false);
}
void PickleWriter::EndList() {
  End();
}
void PickleWriter::Item() {
  Count();
}

void PickleWriter::Key(Word key) {
  Count();
  Text(key);
}
void PickleWriter::Key(std::string_view key) {
  Count();
  Text(key);
}

void PickleWriter::Int(std::int64_t value) {
  if (value >= 0) {
    Unsigned(static_cast<std::uint64_t>(value));
  } else if (value >= std::numeric_limits<std::int32_t>::min()) {
    Byte(pickle::kBinInt);
    Number(static_cast<std::uint64_t>(value), sizeof(std::int32_t));
  } else {
    Byte(pickle::kLong1);
    Byte(sizeof value);
    Number(static_cast<std::uint64_t>(value), sizeof value);
  }
}

void PickleWriter::Unsigned(std::uint64_t value) {
  if (value <= std::numeric_limits<std::uint8_t>::max()) {
    Byte(pickle::kBinInt1);
    Number(value, 1);
  } else if (value <= std::numeric_limits<std::uint16_t>::max()) {
    Byte(pickle::kBinInt2);
    Number(value, 2);
  } else if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
    Byte(pickle::kBinInt);
    Number(value, 4);
  } else {
    // Two's complement: as many bytes as leave the sign bit free.
    const auto bits = static_cast<std::size_t>(std::bit_width(value));
    const std::size_t bytes = bits / 8 + 1;
    Byte(pickle::kLong1);
    Byte(static_cast<unsigned char>(bytes));
    Number(value, std::min(bytes, sizeof value));
    Number(0, bytes - std::min(bytes, sizeof value));
  }
}

void PickleWriter::Bool(bool value) {
  Byte(value ? pickle::kNewTrue : pickle::kNewFalse);
}

void PickleWriter::Float(double value) {
  Byte(pickle::kBinFloat);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (std::size_t i = sizeof bits; i-- > 0;) {
    Byte(static_cast<unsigned char>(bits >> (8 * i)));
  }
}

void PickleWriter::Pair(std::uint64_t first, std::uint64_t second) {
  Unsigned(first);
  Unsigned(second);
  Byte(pickle::kTuple2);
}

void PickleWriter::FreshText(std::string_view text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  scratch_.clear();
  for (std::size_t bad = FirstInvalidUtf8(text); bad != std::string_view::npos;
       bad = FirstInvalidUtf8(text)) {
    scratch_.append(text.substr(0, bad)).append(kReplacement);
    text.remove_prefix(bad + 1);
  }
  scratch_.append(text);
  Byte(pickle::kBinUnicode);
  Number(scratch_.size(), sizeof(std::uint32_t));
  out_ += scratch_;
}

void PickleWriter::Text(std::string_view text) {
  const auto [known, fresh] = texts_.try_emplace(std::string(text), next_);
  if (!fresh) {
    return Recall(known->second);
  }
  FreshText(text);
  Remember();
}

void PickleWriter::Text(Word word) {
  std::uint32_t& number = words_.at(static_cast<std::size_t>(word));
  if (number != 0) {
    return Recall(number - 1);
  }
  FreshText(kWords.at(static_cast<std::size_t>(word)));
  number = Remember() + 1;
}

std::uint32_t PickleWriter::Remember() {
  const std::uint32_t number = next_++;
  const bool narrow = number <= std::numeric_limits<std::uint8_t>::max();
  Byte(narrow ? pickle::kBinPut : pickle::kLongBinPut);
  Number(number, narrow ? 1 : sizeof number);
  return number;
}

void PickleWriter::Recall(std::uint32_t number) {
  const bool narrow = number <= std::numeric_limits<std::uint8_t>::max();
  Byte(narrow ? pickle::kBinGet : pickle::kLongBinGet);
  Number(number, narrow ? 1 : sizeof number);
}

std::string PickleWriter::Finish() {
  Byte(pickle::kStop);
  return std::move(out_);
}

}  // namespace memtool::formats::torch_snapshot
