#include "oom_text/pool_wordings.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "oom_text/words/phrases.h"

namespace memtool::formats::oom_text {

namespace {

// "2.27GiB (2441334240B)", "27.93GiB (rounded to 29995136256)", "2.27GiB (2441334272 bytes)": the
// exact number is taken.
bool TakeExact(Phrases& in, std::optional<OomNumber>& size) {
  if (!in.TakeSize(size)) {
    return false;
  }
  std::optional<OomNumber> exact;
  std::int64_t rounded = 0;
  if (in.Take("(rounded to") && in.TakeInteger(rounded)) {
    exact = OomNumber{.bytes = rounded};
  } else if (!in.Take("(") || !in.TakeSize(exact)) {
    return true;
  }
  in.Take(")");
  size = exact;
  return true;
}

// "requested by op model/transpose", where it is named.
std::string TakeOp(Phrases& in) {
  if (!in.Take("requested by op")) {
    return {};
  }
  constexpr std::size_t kMaxOp = 512;
  std::string_view op = in.rest();
  op.remove_prefix(std::min(op.find_first_not_of(' '), op.size()));
  return std::string(op.substr(0, std::min(op.find_first_of(" \t\r\n"), kMaxOp)));
}

// Reads what follows the words of XLA's client or allocator.
std::optional<Parsed> ReadXla(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kXla, .kind = "XLA", .complete = false}};
  if (!TakeExact(in, parsed.message.requested_bytes)) {
    parsed.starved = in.starved();
    return parsed.starved ? std::optional(parsed) : std::nullopt;
  }
  parsed.message.complete = true;
  parsed.message.absurd = !parsed.message.requested_bytes;
  std::int64_t ordinal = 0;
  if (in.Take("on device ordinal") && in.TakeInteger(ordinal) && ordinal < INT16_MAX) {
    parsed.message.gpu = static_cast<int>(ordinal);
  }
  parsed.consumed = in.at();
  parsed.message.op = TakeOp(in);
  // "The caller indicates that this is not a failure": it continues with less.
  constexpr std::size_t kReach = 160;
  parsed.message.retry = in.SkipTo("this is not a failure", kReach);
  return parsed;
}

// "failed to allocate 2.27GiB (2441334272 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: …"
std::optional<Parsed> ReadDriver(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kXla, .kind = "XLA", .growth = true}};
  if (!TakeExact(in, parsed.message.requested_bytes) || !in.Take("from device")) {
    return std::nullopt;
  }
  in.Take(": CUDA_ERROR_OUT_OF_MEMORY") && in.Take(": out of memory");
  parsed.consumed = in.at();
  return parsed;
}

std::int64_t BytesOfType(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 14> kTypes{{{"float", 4},
                                                                              {"double", 8},
                                                                              {"half", 2},
                                                                              {"bfloat16", 2},
                                                                              {"int8", 1},
                                                                              {"uint8", 1},
                                                                              {"int16", 2},
                                                                              {"uint16", 2},
                                                                              {"int32", 4},
                                                                              {"uint32", 4},
                                                                              {"int64", 8},
                                                                              {"uint64", 8},
                                                                              {"bool", 1},
                                                                              {"complex64", 8}}};
  const auto* const known = std::find_if(kTypes.begin(), kTypes.end(),
                                         [type](const auto& each) { return each.first == type; });
  return known == kTypes.end() ? 0 : known->second;
}

// "64,56,56,256] and type float on …/device:GPU:0 by allocator GPU_0_bfc": the requested size
// follows from shape and type.
std::optional<Parsed> ReadTensor(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kTensorFlow, .kind = "TensorFlow"}};
  std::int64_t bytes = 1;  // negative: more than any device has
  const auto times = [&bytes](std::int64_t factor) {
    const bool fits =
        bytes >= 0 && (factor == 0 || bytes <= std::numeric_limits<std::int64_t>::max() / factor);
    bytes = fits ? bytes * factor : -1;
  };
  for (std::int64_t extent = 0; in.TakeInteger(extent); in.Take(",")) {
    times(extent);
  }
  if (!in.Take("] and type")) {
    return std::nullopt;
  }
  std::string_view type = in.rest();
  type.remove_prefix(std::min(type.find_first_not_of(' '), type.size()));
  const std::int64_t size = BytesOfType(type.substr(0, type.find(' ')));
  times(size);
  if (size > 0 && bytes >= 0) {
    parsed.message.requested_bytes = OomNumber{.bytes = bytes};
  }
  parsed.message.absurd = bytes < 0;
  constexpr std::size_t kReach = 160;
  constexpr std::string_view kDevice = "device:GPU:";
  parsed.consumed = in.at();
  const std::string_view after = in.rest().substr(0, kReach);
  if (const std::size_t at = after.find(kDevice); at != std::string_view::npos) {
    Phrases number(after.substr(at + kDevice.size()));
    std::int64_t gpu = 0;
    if (number.TakeInteger(gpu) && gpu < INT16_MAX) {
      parsed.message.gpu = static_cast<int>(gpu);
    }
  }
  return parsed;
}

constexpr std::array<Form, 5> kForms{{{"Out of memory while trying to allocate", ReadXla},
                                      {"ran out of memory trying to allocate", ReadXla},
                                      {"Failed to allocate request for", ReadXla},
                                      {"failed to allocate", ReadDriver},
                                      {"OOM when allocating tensor with shape[", ReadTensor}}};

}  // namespace

std::size_t FindOtherWording(std::string_view text) {
  std::size_t first = std::string_view::npos;
  for (const Form& form : kForms) {
    first = std::min(first, text.find(form.words));
  }
  return first;
}

std::optional<Parsed> ParseOtherWording(std::string_view text) {
  for (const Form& form : kForms) {
    Phrases in(text);
    if (in.Take(form.words)) {
      return form.read(in);
    }
  }
  return std::nullopt;
}

}  // namespace memtool::formats::oom_text
