// What a line of a log says about memory: one amount, of what, where and when. Sizes are bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "memtool/profile/base/ids.h"
#include "memtool/profile/model/history.h"

namespace memtool {

// How an amount relates to others of the same process and device.
enum class AmountRole : std::uint8_t {
  kPart,    // held for one purpose: parts add up
  kLevel,   // what is held in all at that time
  kPeak,    // the highest since an earlier line, or in all
  kDevice,  // of the device, whoever holds it
  kBudget,  // what the program may take
  kCount,   // no bytes: tokens, blocks
};

struct AmountKind {
  std::string_view name;   // stable: "kv_cache"
  std::string_view title;  // for people: "KV cache"
  AmountRole role = AmountRole::kPart;
};

// All that statements are about.
std::span<const AmountKind> AmountKinds();
// The index of `name` in AmountKinds().
std::optional<std::uint8_t> FindAmount(std::string_view name);

enum class StatementKind : std::uint8_t {
  kMeasured,
  kPlan,  // estimated before it happened
  kSum,   // of amounts that other lines give
};

struct Statement {
  std::uint64_t line = 0;       // from 1
  std::int64_t time = kNoTime;  // nanoseconds since 1970, by a clock without a known zone
  std::int64_t value = 0;       // bytes; of a count the number
  // The writer rounded: the amount lies from value - below to value + above.
  std::int64_t below = 0;
  std::int64_t above = 0;
  StringId producer;
  StringId process;  // "EngineCore pid=71"; may be none, as the next two
  StringId device;   // as written: "CUDA0", "GPU 1"
  StringId stage;
  std::int32_t rank = -1;   // -1: not said
  std::uint8_t amount = 0;  // index into AmountKinds()
  StatementKind kind = StatementKind::kMeasured;
  bool adds = false;      // one more allocation, which replaces no earlier one
  bool host = false;      // memory of the host
  std::uint32_t run = 0;  // how many runs began before, in this log

  [[nodiscard]] const AmountKind& what() const { return AmountKinds()[amount]; }
};

// The number in the name of a device: 1 of "cuda:1", 0 of "MTL0_Mapped". None where it has none.
std::optional<std::int32_t> DeviceNumber(std::string_view device);
// Whether two names may be one device's: "0" and "CUDA0", "MTL0" and "MTL0_Mapped", but not "CUDA0"
// and "RPC0", or "CUDA0" and "CUDA1".
bool MayBeSameDevice(std::string_view a, std::string_view b);

// A line of a log with an amount and a word about memory that no pattern knows.
struct UnreadLine {
  std::uint64_t line = 0;
  std::string text;
};

}  // namespace memtool
