#include "oom_text/server_wordings.h"

#include <algorithm>
#include <array>
#include <string>

#include "oom_text/words/phrases.h"

namespace memtool::formats::oom_text {

namespace {

constexpr std::size_t kLibraryReach = 300;  // a path and a line number
constexpr std::size_t kFigure = 24;         // a number and its unit

// RMM: "std::bad_alloc: out_of_memory: CUDA error (failed to allocate 1073741824 bytes) at:
// FILE:LINE: cudaErrorMemoryAllocation out of memory"
std::optional<Parsed> ReadRmm(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kLibrary, .kind = "RMM"}};
  if (!in.TakeSize(parsed.message.requested_bytes) || !in.Take(")")) {
    return std::nullopt;
  }
  parsed.consumed = in.at();
  if (in.Take("at:") && in.SkipTo("cudaErrorMemoryAllocation", kLibraryReach)) {
    in.Take("out of memory");
    parsed.consumed = in.at();
  }
  return parsed;
}

// CuPy: "1,073,741,824 bytes (allocated so far: 6,291,456 bytes, limit set to: 7,340,032 bytes)."
std::optional<Parsed> ReadCupy(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kLibrary, .kind = "CuPy", .complete = false}};
  if (!in.TakeGrouped(parsed.message.requested_bytes)) {
    return std::nullopt;
  }
  parsed.consumed = in.at();
  if (in.Take("(allocated so far:") && in.TakeGrouped(parsed.message.allocated)) {
    parsed.consumed = in.at();
    if (in.Take(", limit set to:") && in.TakeGrouped(parsed.message.limit)) {
      parsed.consumed = in.at();
    }
    in.ClearStarved();
    parsed.message.complete = in.Take(")");
  }
  parsed.starved = !parsed.message.complete && in.starved();
  return parsed;
}

// llama.cpp and what builds on it: "14136.04 MiB on device 0: cudaMalloc failed: out of memory"
std::optional<Parsed> ReadLlama(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kLibrary, .kind = "llama.cpp"}};
  std::int64_t device = 0;
  if (!in.TakeSize(parsed.message.requested_bytes) || !in.Take("on device") ||
      !in.TakeInteger(device) || device > INT16_MAX || !in.Take(":") ||
      !in.SkipTo("out of memory", kLibraryReach)) {
    return std::nullopt;
  }
  parsed.message.gpu = static_cast<int>(device);
  parsed.consumed = in.at();
  return parsed;
}

// Its next line: "failed to allocate CUDA0 buffer of size 14822711296"; reads what follows "failed
// to allocate".
std::optional<Parsed> ReadLlamaBuffer(Phrases& in) {
  constexpr std::array<std::string_view, 6> kBackends{"CUDA", "ROCm", "Vulkan",
                                                      "SYCL", "MUSA", "CANN"};
  Parsed parsed{.message = {.wording = OomWording::kLibrary, .kind = "llama.cpp"},
                .role = Role::kDetail};
  bool known = false;
  for (const std::string_view backend : kBackends) {
    known = known || in.Take(backend);
  }
  std::int64_t device = 0;
  std::int64_t bytes = 0;
  if (!known || !in.TakeInteger(device) || device > INT16_MAX || !in.Take("buffer of size") ||
      !in.TakeInteger(bytes)) {
    return std::nullopt;
  }
  parsed.message.gpu = static_cast<int>(device);
  parsed.message.requested_bytes = OomNumber{.bytes = bytes};
  parsed.consumed = in.at();
  return parsed;
}

// vLLM: "[cuda:0 ](67.24/79.25 GiB) on startup is less than desired GPU memory utilization (0.9,
// 71.33 GiB)"
std::optional<Parsed> ReadVllmStart(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kVllm, .kind = "vLLM"}};
  OomMessage& message = parsed.message;
  std::int64_t device = 0;
  if (in.Take("cuda:") && in.TakeInteger(device) && device <= INT16_MAX) {
    message.gpu = static_cast<int>(device);
  }
  const std::string_view figures = in.rest();
  if (!in.Take("(") || !in.SkipTo("/", kFigure) || !in.TakeSize(message.capacity) ||
      !in.Take(")")) {
    return std::nullopt;
  }
  // The figure before the slash has the unit of the one after it.
  const std::size_t open = figures.find('(');
  const std::size_t slash = figures.find('/');
  const std::string_view whole = figures.substr(slash + 1, figures.find(')') - slash - 1);
  const std::size_t unit = std::min(whole.find_first_not_of("0123456789."), whole.size());
  std::string free(figures.substr(open + 1, slash - open - 1));
  free += whole.substr(unit);
  Phrases(free).TakeSize(message.free);
  if (!in.SkipTo("less than desired GPU memory utilization (", kLibraryReach) ||
      !in.SkipTo(",", kFigure) || !in.TakeSize(message.requested_bytes)) {
    return std::nullopt;
  }
  parsed.consumed = in.at();
  return parsed;
}

// "with the model's max seq len (196608), 23.25 GiB KV cache is needed, which is larger than the
// available KV cache memory (22.5 GiB)"
std::optional<Parsed> ReadVllmCache(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kVllm, .kind = "vLLM"}};
  const std::string_view text = in.rest();
  constexpr std::string_view kNeeded = "KV cache is needed";
  if (!in.SkipTo(kNeeded, kLibraryReach) ||
      !in.SkipTo("available KV cache memory (", kLibraryReach) ||
      !in.TakeSize(parsed.message.limit)) {
    return std::nullopt;
  }
  parsed.consumed = in.at();
  // The size is the last two words before that.
  std::string_view before = text.substr(0, text.find(kNeeded));
  before = before.substr(0, before.find_last_not_of(' ') + 1);
  const std::size_t unit = before.rfind(' ');
  const std::size_t number =
      unit == std::string_view::npos || unit == 0 ? unit : before.rfind(' ', unit - 1);
  if (number == std::string_view::npos ||
      !Phrases(before.substr(before.find_first_not_of(" (", number)))
           .TakeSize(parsed.message.requested_bytes)) {
    return std::nullopt;
  }
  return parsed;
}

constexpr std::array<Form, 6> kLibraryForms{{{"(failed to allocate", ReadRmm},
                                             {"Out of memory allocating", ReadCupy},
                                             {"buffer_type_alloc_buffer: allocating", ReadLlama},
                                             {"failed to allocate", ReadLlamaBuffer},
                                             {"Free memory on device", ReadVllmStart},
                                             {"To serve at least one request", ReadVllmCache}}};

}  // namespace

std::span<const Form> LibraryWordings() {
  return kLibraryForms;
}

}  // namespace memtool::formats::oom_text
