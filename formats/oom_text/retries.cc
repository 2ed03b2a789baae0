#include "oom_text/retries.h"

#include <array>

#include "oom_text/words/phrases.h"

namespace memtool::formats::oom_text {

namespace {

constexpr std::size_t kRetryReach = 200;

// "free: 1073741824", with a unit or without.
bool TakeFigure(Phrases& in, std::string_view name, std::optional<OomNumber>& to) {
  std::int64_t bytes = 0;
  if (!in.Take(name)) {
    return false;
  }
  if (in.TakeSize(to)) {
    return true;
  }
  if (!in.TakeInteger(bytes)) {
    return false;
  }
  to = OomNumber{.bytes = bytes};
  return true;
}

// "0 while trying to allocate 2147483648 bytes (free: 1073741824, total: 8589934592)": written for
// each failed driver call, even when the next one succeeds.
std::optional<Parsed> ReadWarning(Phrases& in) {
  Parsed parsed{
      .message = {
          .wording = OomWording::kTorchRetry, .kind = "CUDA", .complete = false, .retry = true}};
  OomMessage& message = parsed.message;
  std::int64_t device = 0;
  if (!in.TakeInteger(device) || device > INT16_MAX || !in.Take("while trying to allocate") ||
      !in.TakeSize(message.requested_bytes)) {
    return std::nullopt;
  }
  message.gpu = static_cast<int>(device);
  parsed.consumed = in.at();
  message.complete = TakeFigure(in, "(free:", message.free) && in.Take(",") &&
                     TakeFigure(in, "total:", message.capacity);
  parsed.consumed = message.complete ? in.at() : parsed.consumed;
  return parsed;
}

// Reads what follows the condition of an assertion in PyTorch's allocator.
std::optional<Parsed> ReadAssertion(Phrases& in, Role role) {
  if (!in.SkipTo("INTERNAL ASSERT FAILED", kRetryReach) ||
      !in.SkipTo("CUDACachingAllocator.cpp", kRetryReach)) {
    return std::nullopt;
  }
  return Parsed{.message = {.kind = "CUDA"}, .consumed = in.at(), .role = role};
}

// The allocator asks NVML who holds the device's memory only when there is none left.
std::optional<Parsed> ReadNvml(Phrases& in) {
  return ReadAssertion(in, Role::kOwn);
}

// From expandable segments: fails for other reasons too.
std::optional<Parsed> ReadHandles(Phrases& in) {
  return ReadAssertion(in, Role::kAfterRetry);
}

constexpr std::array<Form, 3> kRetryForms{
    {{"memory allocation failed with OOM on device", ReadWarning},
     {"NVML_SUCCESS ==", ReadNvml},
     {"!handles_.at(i)", ReadHandles}}};

}  // namespace

std::span<const Form> RetryForms() {
  return kRetryForms;
}

}  // namespace memtool::formats::oom_text
