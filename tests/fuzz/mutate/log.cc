#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../../capture/wire.h"
#include "common/log_maker.h"
#include "mutate/mutate.h"

namespace memtool::fuzz {

namespace {

using wire::Tag;

// A record: its tag, numbers, and texts behind them.
struct Record {
  std::uint8_t tag = 0;
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> texts;
};

struct Shape {
  std::size_t numbers = 0;
  std::size_t texts = 0;
};

std::optional<Shape> GetShape(std::uint8_t tag) {
  if ((tag & wire::kCompact) != 0) {
    const auto has = [tag](std::uint8_t bit) { return std::size_t{(tag & bit) != 0 ? 1U : 0U}; };
    const bool alloc = (tag & wire::kCompactFree) == 0;
    return Shape{.numbers = 2 + has(wire::kCompactNewAttributes) +
                            (alloc ? 1 + has(wire::kCompactNewStack) : 0)};
  }
  constexpr std::array<Shape, 11> kDefinitions{
      {{}, {5, 2}, {1, 0}, {3, 0}, {3, 3}, {5, 0}, {3, 0}, {2, 1}, {5, 1}, {7, 0}, {1, 1}}};
  if (tag > 0 && tag < kDefinitions.size()) {
    return kDefinitions[tag];
  }
  // With the time and the attributes; failed, reserve and import also name a stack.
  constexpr std::array<Shape, 16> kEvents{{{6, 0},
                                           {4, 0},
                                           {3, 0},
                                           {3, 0},
                                           {6, 0},
                                           {4, 0},
                                           {5, 0},
                                           {4, 0},
                                           {5, 0},
                                           {4, 0},
                                           {6, 0},
                                           {3, 1},
                                           {2, 0},
                                           {6, 0},
                                           {},
                                           {1, 0}}};
  const auto first = static_cast<std::uint8_t>(Tag::kFailed);
  const bool known = tag >= first && tag <= static_cast<std::uint8_t>(Tag::kEnd) && tag != 0x2e;
  return known ? std::optional(kEvents.at(std::size_t{tag} - first)) : std::nullopt;
}

std::optional<Record> TakeRecord(std::string_view& bytes) {
  Record record{.tag = static_cast<std::uint8_t>(bytes[0])};
  const auto shape = GetShape(record.tag);
  bytes.remove_prefix(1);
  for (std::size_t i = 0; shape && i < shape->numbers; ++i) {
    const auto number = TakeVarint(bytes);
    if (!number) {
      return std::nullopt;
    }
    record.numbers.push_back(*number);
  }
  for (std::size_t i = 0; shape && i < shape->texts; ++i) {
    const std::uint64_t size = TakeVarint(bytes).value_or(bytes.size() + 1);
    if (size > bytes.size()) {
      return std::nullopt;
    }
    record.texts.emplace_back(bytes.substr(0, static_cast<std::size_t>(size)));
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return shape ? std::optional(std::move(record)) : std::nullopt;
}

// Up to the first byte that is no record.
std::vector<Record> Split(std::string_view bytes) {
  std::vector<Record> records;
  while (!bytes.empty()) {
    auto record = TakeRecord(bytes);
    if (!record) {
      break;
    }
    records.push_back(*std::move(record));
  }
  return records;
}

std::string Join(const std::vector<Record>& records) {
  std::string out;
  for (const Record& record : records) {
    out += static_cast<char>(record.tag);
    for (const std::uint64_t number : record.numbers) {
      PutVarint(out, number);
    }
    for (const std::string& text : record.texts) {
      PutVarint(out, text.size());
      out += text;
    }
  }
  return out;
}

void ChangeNumber(Record& record, Random& random) {
  if (record.numbers.empty()) {
    return;
  }
  std::uint64_t& number = record.numbers[Below(random, record.numbers.size())];
  number = random() % 2 == 0 ? number + random() % 9 - 4 : OddNumber(random);
}

// Another event, with numbers as they come.
Record NewRecord(Random& random) {
  Record record;
  std::optional<Shape> shape;
  while (!shape) {
    record.tag = static_cast<std::uint8_t>(random() % 2 == 0 ? 0x80U + random() % 0x80U
                                                             : 1 + random() % 0x2fU);
    shape = GetShape(record.tag);
  }
  for (std::size_t i = 0; i < shape->numbers; ++i) {
    record.numbers.push_back(random() % 2 == 0 ? random() % 6 : OddNumber(random));
  }
  record.texts.resize(shape->texts, "x");
  return record;
}

void Change(std::vector<Record>& records, Random& random) {
  if (records.empty() || random() % 8 == 0) {
    const std::size_t at = records.empty() ? 0 : Below(random, records.size());
    records.insert(records.begin() + static_cast<std::ptrdiff_t>(at), NewRecord(random));
    return;
  }
  Record& record = records[Below(random, records.size())];
  if (random() % 3 == 0) {
    Rearrange(records, random);
  } else if (!record.texts.empty() && random() % 2 == 0) {
    std::string& text = record.texts[Below(random, record.texts.size())];
    text = AnyChange(std::move(text), wire::kMaxText);
  } else {
    ChangeNumber(record, random);
  }
}

}  // namespace

// Changes one chunk. A sealed one stays as long as a chunk is; the last one makes the file longer
// or shorter, and `committed` with it.
std::size_t MutateLog(std::uint8_t* data, std::size_t size, std::size_t most, Random& random) {
  if (!RepairChecksums(data, size)) {
    return 0;
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text.
  std::string log(reinterpret_cast<const char*>(data), size);
  const std::size_t chunks =
      (size - wire::kHeaderBytes + wire::kChunkBytes - 1) / wire::kChunkBytes;
  const std::size_t chosen = Below(random, chunks);
  const std::size_t at = wire::kHeaderBytes + chosen * wire::kChunkBytes;
  wire::ChunkHeader chunk{};
  if (at + sizeof chunk > size) {
    return 0;
  }
  std::memcpy(&chunk, log.data() + at, sizeof chunk);
  const std::size_t begin = at + sizeof chunk;
  const std::size_t room = std::min(wire::kChunkBytes - sizeof chunk, size - begin);
  const std::size_t used = chunk.used == 0 ? room : std::min<std::size_t>(chunk.used, room);
  std::vector<Record> records = Split(std::string_view(log).substr(begin, used));
  for (auto changes = 1 + random() % 3; changes > 0; --changes) {
    Change(records, random);
  }
  std::string changed = Join(records);
  changed.resize(std::min(changed.size(), wire::kChunkBytes - sizeof chunk));
  chunk.used = chunk.used == 0 ? 0 : static_cast<std::uint32_t>(changed.size());
  std::memcpy(log.data() + at, &chunk, sizeof chunk);
  if (chosen + 1 == chunks) {
    log.resize(begin);
    log += changed;
  } else {
    changed.resize(wire::kChunkBytes - sizeof chunk);
    log.replace(begin, changed.size(), changed);
  }
  wire::Header header{};
  std::memcpy(&header, log.data(), sizeof header);
  header.committed = log.size() - (random() % 64 == 0 ? 1 : 0);
  std::memcpy(log.data(), &header, sizeof header);
  const std::size_t stored = Store(log, data, most);
  RepairChecksums(data, stored);
  return stored;
}

}  // namespace memtool::fuzz
