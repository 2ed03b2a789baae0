#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mutate/mutate.h"

namespace memtool::fuzz {

namespace {

constexpr int kDeepest = 6;

struct Field {
  std::uint64_t tag = 0;
  std::uint64_t number = 0;  // of varints
  std::string bytes;         // of the others
};

std::optional<Field> TakeField(std::string_view& bytes) {
  const auto tag = TakeVarint(bytes);
  if (!tag || *tag < 8) {
    return std::nullopt;
  }
  Field field{.tag = *tag};
  std::uint64_t size = 0;
  switch (*tag % 8) {
    case 0: {
      const auto number = TakeVarint(bytes);
      field.number = number.value_or(0);
      return number ? std::optional(field) : std::nullopt;
    }
    case 1:
      size = 8;
      break;
    case 2:
      size = TakeVarint(bytes).value_or(bytes.size() + 1);
      break;
    case 5:
      size = 4;
      break;
    default:
      return std::nullopt;
  }
  if (size > bytes.size()) {
    return std::nullopt;
  }
  field.bytes = bytes.substr(0, static_cast<std::size_t>(size));
  bytes.remove_prefix(static_cast<std::size_t>(size));
  return field;
}

// None unless all of it is fields.
std::optional<std::vector<Field>> Split(std::string_view bytes) {
  std::vector<Field> fields;
  while (!bytes.empty()) {
    auto field = TakeField(bytes);
    if (!field) {
      return std::nullopt;
    }
    fields.push_back(*std::move(field));
  }
  return fields;
}

std::string Join(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& field : fields) {
    PutVarint(out, field.tag);
    if (field.tag % 8 == 0) {
      PutVarint(out, field.number);
      continue;
    }
    if (field.tag % 8 == 2) {
      PutVarint(out, field.bytes.size());
    }
    out += field.bytes;
  }
  return out;
}

// Of another field with the same tag where there is one: an id or an index that means something.
std::uint64_t NumberNearby(const std::vector<Field>& fields, const Field& field, Random& random) {
  const Field& other = fields[Below(random, fields.size())];
  return random() % 3 != 0    ? field.number + random() % 5 - 2
         : other.tag % 8 == 0 ? other.number
                              : OddNumber(random);
}

std::string Packed(std::string_view bytes, Random& random) {
  std::vector<std::uint64_t> numbers;
  while (!bytes.empty()) {
    const auto number = TakeVarint(bytes);
    if (!number) {
      break;
    }
    numbers.push_back(*number);
  }
  if (!numbers.empty() && random() % 2 == 0) {
    numbers[Below(random, numbers.size())] = OddNumber(random);
  } else {
    Rearrange(numbers, random);
  }
  std::string out;
  for (const std::uint64_t number : numbers) {
    PutVarint(out, number);
  }
  return out;
}

void Change(std::vector<Field>& fields, Random& random, std::size_t most, int depth);

void ChangeOne(std::vector<Field>& fields, Random& random, std::size_t most, int depth) {
  Field& field = fields[Below(random, fields.size())];
  if (field.tag % 8 == 0) {
    field.number = NumberNearby(fields, field, random);
    return;
  }
  if (field.tag % 8 == 2 && depth < kDeepest && !field.bytes.empty()) {
    auto inside = Split(field.bytes);
    if (inside && random() % 8 != 0) {
      Change(*inside, random, most, depth + 1);
      field.bytes = Join(*inside);
      return;
    }
    if (!inside && random() % 2 == 0) {
      field.bytes = Packed(field.bytes, random);
      return;
    }
  }
  field.bytes = AnyChange(std::move(field.bytes), most);
}

// Recursion as deep as kDeepest.
void Change(std::vector<Field>& fields, Random& random, std::size_t most, int depth) {
  if (fields.empty() || random() % 16 == 0) {
    fields.push_back({.tag = (1 + random() % 16) * 8, .number = OddNumber(random), .bytes = {}});
  } else if (random() % 4 == 0) {
    Rearrange(fields, random);
  } else if (random() % 32 == 0) {
    Field& field = fields[Below(random, fields.size())];
    field.tag = (field.tag & 7U) | (1 + random() % 16) << 3U;
  } else {
    ChangeOne(fields, random, most, depth);
  }
}

}  // namespace

std::size_t MutateProtobuf(std::uint8_t* data, std::size_t size, std::size_t most, Random& random) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text.
  auto fields = Split({reinterpret_cast<const char*>(data), size});
  if (!fields) {
    return 0;
  }
  for (auto changes = 1 + random() % 3; changes > 0; --changes) {
    Change(*fields, random, most, 0);
  }
  return Store(Join(*fields), data, most);
}

}  // namespace memtool::fuzz
