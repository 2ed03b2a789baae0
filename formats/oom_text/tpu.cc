#include "oom_text/tpu.h"

#include <algorithm>
#include <array>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "oom_text/words/phrases.h"

namespace memtool::formats::oom_text {

namespace {

constexpr std::size_t kTpuReach = 400;  // how far a message extends past its figures

// "0x0x1_HBM0" of "(0x0x1_HBM0)": which chip of the machine, and which of its memories.
std::string_view ChipIn(std::string_view text) {
  constexpr std::string_view kMemory = "_HBM";
  constexpr std::string_view kPlace = "0123456789x";
  const std::size_t memory = text.find(kMemory);
  if (memory == std::string_view::npos) {
    return {};
  }
  const std::size_t open = text.substr(0, memory).find_last_not_of(kPlace);
  const std::size_t close = text.find(')', memory);
  constexpr std::size_t kMaxLength = 32;
  const bool whole = open != std::string_view::npos && text[open] == '(' &&
                     close != std::string_view::npos && close - open < kMaxLength;
  return whole ? text.substr(open + 1, close - open - 1) : std::string_view();
}

// The next size within a few words after `words`.
std::optional<OomNumber> SizeBehind(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  constexpr std::size_t kFewWords = 32;
  text = text.substr(at + words.size());
  const auto digit =
      static_cast<std::size_t>(std::find_if(text.begin(), text.end(), IsDigit) - text.begin());
  std::optional<OomNumber> size;
  if (digit < std::min(kFewWords, text.size())) {
    Phrases(text.substr(digit)).TakeSize(size);
  }
  return size;
}

// "8.00M. That was not possible. There are 6.43M free.; (0x0x1_HBM0)", "29.49G at the bottom of
// memory. That was not possible. There are 147.64M free, 0B reserved, and 147.64M reservable."
std::optional<Parsed> ReadRuntime(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kXlaTpu, .kind = "XLA", .complete = false}};
  OomMessage& message = parsed.message;
  if (!in.TakeSize(message.requested_bytes)) {
    return std::nullopt;
  }
  in.Take("at the bottom of memory");
  constexpr std::size_t kReason = 120;  // "due to fragmentation"
  if (!in.Take(".") || !in.Take("That was not possible")) {
    // Any program attempts to allocate: only this sentence makes it a failure.
    return std::nullopt;
  }
  parsed.consumed = in.at();
  if (!in.SkipTo("There are", kReason) || !in.TakeSize(message.free) || !in.Take("free")) {
    parsed.starved = in.starved();
    return parsed;
  }
  message.complete = true;
  parsed.consumed = in.at();
  std::optional<OomNumber> reserved;
  if (in.Take(",") && in.TakeSize(reserved) && in.Take("reserved, and") &&
      in.TakeSize(message.largest) && in.Take("reservable")) {
    parsed.consumed = in.at();
  }
  const std::string_view after = in.rest().substr(0, kTpuReach);
  if (!message.largest) {
    message.largest = SizeBehind(after, "argest contiguous");
  }
  message.chip = ChipIn(after);
  return parsed;
}

// "34.82G, SparseCore Hbm usage 174.10G, exceeding available bytes: 95.74G": both kinds of core
// share the memory.
std::optional<Parsed> ReadCores(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kXlaHbm, .kind = "hbm"}};
  std::optional<OomNumber> dense;
  std::optional<OomNumber> sparse;
  in.Take(":");
  if (!in.TakeSize(dense) || !in.Take(",") || !in.Take("SparseCore Hbm usage")) {
    return std::nullopt;
  }
  in.Take(":");
  if (!in.TakeSize(sparse) || !in.Take(",") || !in.Take("exceeding available bytes")) {
    return std::nullopt;
  }
  in.Take(":");
  if (!in.TakeSize(parsed.message.capacity)) {
    return std::nullopt;
  }
  if (dense && sparse) {
    parsed.message.requested_bytes =
        OomNumber{.bytes = SaturatingAdd(dense->bytes, sparse->bytes),
                  .precision = SaturatingAdd(dense->precision, sparse->precision)};
  }
  parsed.consumed = in.at();
  return parsed;
}

// "20.95G) exceeds available HBM (15.48G)"
std::optional<Parsed> ReadTemporaries(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kXlaHbm, .kind = "hbm"}};
  if (!in.TakeSize(parsed.message.requested_bytes) || !in.Take(")") ||
      !in.Take("exceeds available HBM (") || !in.TakeSize(parsed.message.capacity)) {
    return std::nullopt;
  }
  parsed.consumed = in.at();
  return parsed;
}

// "32.00M and limit 16.00M"
std::optional<Parsed> ReadScoped(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kXlaScoped, .kind = "scoped vmem"}};
  if (!in.TakeSize(parsed.message.requested_bytes) || !in.Take("and limit") ||
      !in.TakeSize(parsed.message.capacity)) {
    return std::nullopt;
  }
  parsed.consumed = in.at();
  return parsed;
}

// "33554432) would exceed memory (size=16777216) :: …space=vmem…"
std::optional<Parsed> ReadAllocation(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kXlaScoped, .kind = "its memory space"}};
  std::int64_t size = 0;
  std::int64_t most = 0;
  if (!in.TakeInteger(size) || !in.Take(")") || !in.Take("would exceed memory (size=") ||
      !in.TakeInteger(most) || !in.Take(")")) {
    return std::nullopt;
  }
  parsed.message.requested_bytes = OomNumber{.bytes = size};
  parsed.message.capacity = OomNumber{.bytes = most};
  parsed.consumed = in.at();
  constexpr std::string_view kSpace = "space=";
  constexpr std::size_t kMaxLength = 16;
  constexpr std::string_view kShape = "shape = '";
  const std::string_view after = in.rest().substr(0, kTpuReach);
  if (const std::size_t at = after.find(kShape); at != std::string_view::npos) {
    const std::string_view shape = after.substr(at + kShape.size());
    parsed.message.shape = shape.substr(0, shape.find('\''));
  }
  if (const std::size_t at = after.find(kSpace); at != std::string_view::npos) {
    std::string_view name = after.substr(at + kSpace.size());
    name = name.substr(0, name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"));
    if (!name.empty() && name.size() <= kMaxLength) {
      parsed.message.kind = name;
    }
  }
  return parsed;
}

constexpr std::array<Form, 7> kTpuForms{{{"Attempting to allocate", ReadRuntime},
                                         {"Attempting to reserve", ReadRuntime},
                                         {"TensorCore Hbm usage", ReadCores},
                                         {"memory required for HLO temporaries (", ReadTemporaries},
                                         {"Scoped allocation with size", ReadScoped},
                                         {"scoped allocation with size", ReadScoped},
                                         {"Allocation (size=", ReadAllocation}}};

}  // namespace

std::span<const Form> TpuForms() {
  return kTpuForms;
}

}  // namespace memtool::formats::oom_text
