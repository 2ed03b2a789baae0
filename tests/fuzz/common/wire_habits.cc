#include "common/wire_habits.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace memtool::fuzz {

namespace {

enum Type : std::uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

enum class Message : std::uint8_t {
  kNone,
  kProfile,
  kPair,
  kLabel,
  kSample,
  kMapping,
  kLine,
  kLocation,
  kFunction
};

// What a field of a message is: a varint, or some of them (packed or not), or bytes that may be a
// message of their own.
struct Shape {
  bool known = false;
  bool varint = false;
  bool packed = false;
  Message message = Message::kNone;
};

constexpr Shape kNumber{.known = true, .varint = true};
constexpr Shape kNumbers{.known = true, .varint = true, .packed = true};
constexpr Shape kBytes{.known = true};

constexpr Shape In(Message message) {
  return {.known = true, .message = message};
}

Shape ProfileField(std::uint64_t number) {
  switch (number) {
    case 1:
    case 11:
      return In(Message::kPair);
    case 2:
      return In(Message::kSample);
    case 3:
      return In(Message::kMapping);
    case 4:
      return In(Message::kLocation);
    case 5:
      return In(Message::kFunction);
    case 6:
      return kBytes;
    case 13:
      return kNumbers;
    default:
      return number <= 15 ? kNumber : Shape{};
  }
}

Shape GetShape(Message message, std::uint64_t number) {
  const auto numbers_to = [number](std::uint64_t last) {
    return number <= last ? kNumber : Shape{};
  };
  switch (message) {
    case Message::kProfile:
      return ProfileField(number);
    case Message::kPair:
      return numbers_to(2);
    case Message::kLabel:
      return numbers_to(4);
    case Message::kSample:
      return number == 3 ? In(Message::kLabel) : number < 3 ? kNumbers : Shape{};
    case Message::kMapping:
      return numbers_to(10);
    case Message::kLine:
      return numbers_to(3);
    case Message::kLocation:
      return number == 4 ? In(Message::kLine) : numbers_to(5);
    default:
      return numbers_to(5);
  }
}

struct WireVarint {
  std::uint64_t value = 0;
  std::size_t bytes = 0;
  bool overflows = false;
};

class Walk {
 public:
  WireStyle Run(std::span<const std::byte> profile) {
    // Messages nest four deep; what waits is kept here, without recursion.
    waiting_.push_back({profile, Message::kProfile});
    while (!waiting_.empty()) {
      const Part part = waiting_.back();
      waiting_.pop_back();
      if (part.message == Message::kNone) {
        Numbers(part.bytes);
      } else {
        One(part.bytes, part.message);
      }
    }
    habits_.stricter = habits_.stricter || times_ > 1 || period_types_ > 1;
    habits_.looser = habits_.looser || period_types_ > 1;
    return habits_;
  }

 private:
  struct Part {
    std::span<const std::byte> bytes;
    Message message;  // kNone: packed numbers
  };

  std::optional<WireVarint> Next(std::span<const std::byte>& bytes) {
    WireVarint read;
    for (const std::byte one : bytes) {
      const auto low = static_cast<std::uint64_t>(one & std::byte{0x7f});
      if (read.bytes == 9 && low > 1) {
        read.overflows = true;
        habits_.stricter = true;  // libprotobuf drops what does not fit
      }
      read.value |= low << (7 * read.bytes);
      ++read.bytes;
      if ((one & std::byte{0x80}) == std::byte{0}) {
        bytes = bytes.subspan(read.bytes);
        return read;
      }
      if (read.bytes == 10) {
        break;
      }
    }
    return std::nullopt;
  }

  void Numbers(std::span<const std::byte> bytes) {
    while (!bytes.empty() && Next(bytes)) {
    }
  }

  // Tags and lengths have 32 bits and at most 5 bytes.
  void Short(const WireVarint& read) {
    if (read.bytes > 5 || read.value > INT32_MAX) {
      habits_.looser = true;
      habits_.stricter = true;  // what is cut off makes it another field
    }
  }

  void One(std::span<const std::byte> bytes, Message message) {
    while (!bytes.empty()) {
      const auto tag = Next(bytes);
      if (!tag || tag->overflows) {
        return;
      }
      Short(*tag);
      const std::uint64_t number = tag->value >> 3U;
      const auto type = static_cast<std::uint8_t>(tag->value & 7U);
      const Shape shape = GetShape(message, number);
      times_ += message == Message::kProfile && number == 9 ? 1 : 0;
      period_types_ += message == Message::kProfile && number == 11 ? 1 : 0;
      const bool fits =
          shape.varint ? type == kVarint || (shape.packed && type == kLength) : type == kLength;
      habits_.stricter = habits_.stricter || (shape.known && !fits) || (type == 3 || type == 4);
      if (!Payload(bytes, type, shape)) {
        return;
      }
    }
  }

  bool Payload(std::span<const std::byte>& bytes, std::uint8_t type, const Shape& shape) {
    if (type == kVarint) {
      return Next(bytes).has_value();
    }
    std::uint64_t size = type == kFixed64 ? 8 : type == kFixed32 ? 4 : 0;
    if (type == kLength) {
      const auto length = Next(bytes);
      if (!length) {
        return false;
      }
      Short(*length);
      size = length->value;
    } else if (size == 0) {
      return false;  // groups: both end here, or libprotobuf steps over them
    }
    if (size > bytes.size()) {
      return false;
    }
    if (type == kLength && (shape.message != Message::kNone || shape.packed)) {
      waiting_.push_back({bytes.first(static_cast<std::size_t>(size)), shape.message});
    }
    bytes = bytes.subspan(static_cast<std::size_t>(size));
    return true;
  }

  std::vector<Part> waiting_;
  WireStyle habits_;
  std::size_t times_ = 0;
  std::size_t period_types_ = 0;
};

}  // namespace

WireStyle FindHabits(std::span<const std::byte> profile) {
  return Walk().Run(profile);
}

}  // namespace memtool::fuzz
