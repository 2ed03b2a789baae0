#include "oom_text/wording.h"

#include <algorithm>
#include <array>

#include "oom_text/phrases.h"

namespace memtool::formats::oom_text {

namespace {

constexpr std::size_t kMostProcesses = 1024;
constexpr std::size_t kHintReach = 600;  // how far behind its figures a message gives advice

// Allocators of PyTorch's kind name their device first.
constexpr std::array<std::string_view, 9> kKinds{"CUDA", "HIP", "XPU",  "NPU",  "MPS",
                                                 "MUSA", "MLU", "Cuda", "DPCPP"};

// Said without a figure, by the runtime or by PyTorch before it counted.
constexpr std::array<std::string_view, 7> kBare{"CUDA error: out of memory",
                                                "HIP error: out of memory",
                                                "cuda runtime error (2) : out of memory",
                                                "cuda runtime error (2): out of memory",
                                                "CUDA_ERROR_OUT_OF_MEMORY",
                                                "hipErrorOutOfMemory",
                                                "cudaErrorMemoryAllocation"};

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// "(GPU 0; 10.92 GiB total capacity; … already allocated; … free; … cached)"
void ParseParenthesis(Phrases& in, Parsed& parsed) {
  OomMessage& message = parsed.message;
  message.wording = OomWording::kTorchReserved;
  message.complete = false;
  while (!message.complete) {
    in.ClearStarved();
    std::optional<OomNumber> size;
    if (!in.TakeSize(size)) {
      break;
    }
    if (in.Take("total capacity")) {
      message.capacity = size;
    } else if (in.Take("already allocated")) {
      message.allocated = size;
    } else if (in.Take("free")) {
      message.free = size;
    } else if (in.Take("allowed")) {
      message.limit = size;
    } else if (in.Take("cached")) {
      // Only what is free in the allocator, unlike "reserved" of later years.
      message.wording = OomWording::kTorchCached;
      message.unallocated = size;
    } else if (in.Take("reserved in total by PyTorch") || in.Take("reserved")) {
      message.reserved = size;
    } else if (!in.Take("current active") && !in.Take("inactive")) {
      break;
    }
    parsed.consumed = in.at();
    if (!in.Take(";")) {
      message.complete = in.Take(")");
      break;
    }
  }
  parsed.consumed = message.complete ? in.at() : parsed.consumed;
  parsed.starved = !message.complete && in.starved();
}

// "Of the allocated memory … is allocated by PyTorch, [with … allocated in private pools (e.g.,
// CUDA Graphs),] and … is reserved by PyTorch but unallocated."; behind the first three words.
bool ParseAllocated(Phrases& in, Parsed& parsed) {
  OomMessage& message = parsed.message;
  std::optional<OomNumber> size;
  if (!in.TakeSize(size) || !in.Take("is allocated by PyTorch")) {
    return false;
  }
  message.allocated = size;
  parsed.consumed = in.at();
  in.Take(",");
  if (in.Take("with")) {
    if (!in.TakeSize(size) || !in.Take("allocated in private pools")) {
      return false;
    }
    message.private_pools = size;
    parsed.consumed = in.at();
    in.Take("(e.g., CUDA Graphs)") || in.Take("(e.g., HIP Graphs)");
    in.Take(",");
  }
  in.ClearStarved();
  if (!in.Take("and") || !in.TakeSize(size) || !in.Take("is reserved by PyTorch but unallocated")) {
    return false;
  }
  message.unallocated = size;
  parsed.consumed = in.at();
  return true;
}

// One sentence after the capacity. False: there is none, or not a whole one.
bool ParseSentence(Phrases& in, Parsed& parsed) {
  OomMessage& message = parsed.message;
  std::optional<OomNumber> size;
  std::int64_t pid = 0;
  const auto in_use = [&] { return in.TakeSize(size) && in.Take("memory in use."); };
  if (in.Take("Including non-PyTorch memory, this process has")) {
    if (!in_use()) {
      return false;
    }
    message.process = size;
  } else if (in.Take("Process")) {
    if (!in.TakeInteger(pid) || !in.Take("has") || !in_use()) {
      return false;
    }
    if (message.others.size() < kMostProcesses) {
      message.others.push_back({.pid = pid, .used = size});
    }
  } else if (in.TakeSize(size)) {
    if (!in.Take("allowed;")) {
      return false;
    }
    message.limit = size;
  } else {
    return false;
  }
  parsed.consumed = in.at();
  return true;
}

// "GPU 0 has a total capacity of … of which … is free." and what follows; behind "GPU".
void ParseSentences(Phrases& in, Parsed& parsed) {
  OomMessage& message = parsed.message;
  message.wording = OomWording::kTorchUnallocated;
  message.complete = false;
  std::int64_t gpu = 0;
  if (in.TakeInteger(gpu) && gpu >= 0 && gpu < INT16_MAX) {
    message.gpu = static_cast<int>(gpu);
  }
  in.ClearStarved();
  std::optional<OomNumber> size;
  // 2.1 wrote "capacty".
  if (!(in.Take("has a total capacity of") || in.Take("has a total capacty of")) ||
      !in.TakeSize(size)) {
    parsed.starved = in.starved();
    return;
  }
  message.capacity = size;
  parsed.consumed = in.at();
  if (!in.Take("of which") || !in.TakeSize(size) || !in.Take("is free.")) {
    parsed.starved = in.starved();
    return;
  }
  message.free = size;
  parsed.consumed = in.at();
  do {
    in.ClearStarved();
    if (in.Take("Of the allocated memory")) {
      message.complete = ParseAllocated(in, parsed);
      break;
    }
  } while (ParseSentence(in, parsed));
  parsed.starved = !message.complete && in.starved();
}

// Behind "CUDA out of memory.": what was asked, then one of the two forms.
std::optional<Parsed> ParseTorch(Phrases& in, Parsed parsed) {
  parsed.consumed = in.at();
  in.Take(".");
  in.ClearStarved();
  if (!in.Take("Tried to allocate")) {
    // Without figures, but only as a sentence or a line of its own: not "if 'CUDA out of memory'
    // in".
    const std::string_view rest = std::string_view(in.rest());
    parsed.starved = in.starved();
    const bool ends = parsed.consumed < in.at() || rest.find_first_not_of(" \t\r\n") == rest.npos;
    return ends ? std::optional(parsed) : std::nullopt;
  }
  parsed.message.wording = OomWording::kTorchUnallocated;
  parsed.message.complete = false;
  parsed.consumed = in.at();
  if (in.Take("more than 1EB memory")) {
    parsed.message.wording = OomWording::kNoFigures;
    parsed.message.complete = true;
    parsed.consumed = in.at();
    return parsed;
  }
  if (!in.TakeSize(parsed.message.asked)) {
    parsed.message.wording = OomWording::kNoFigures;
    parsed.starved = in.starved();
    return parsed;
  }
  parsed.consumed = in.at();
  std::int64_t gpu = 0;
  if (in.Take("(GPU") || in.Take("(NPU") || in.Take("(XPU")) {
    if (in.TakeInteger(gpu) && gpu >= 0 && gpu < INT16_MAX) {
      parsed.message.gpu = static_cast<int>(gpu);
    }
    in.Take(";");
    ParseParenthesis(in, parsed);
    return parsed;
  }
  in.Take(".");
  if (in.Take("GPU") || in.Take("Device") || in.Take("MLU") || in.Take("NPU")) {
    ParseSentences(in, parsed);
    return parsed;
  }
  parsed.starved = in.starved();
  return parsed;
}

// cudaMallocAsync: "Allocation on device 0 would exceed allowed memory. (out of memory)", then a
// line for each figure.
std::optional<Parsed> ParseAsync(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kTorchAsync, .complete = false}};
  std::int64_t gpu = 0;
  if (in.TakeInteger(gpu) && gpu >= 0 && gpu < INT16_MAX) {
    parsed.message.gpu = static_cast<int>(gpu);
  }
  if (!in.Take("would exceed allowed memory. (out of memory)")) {
    return std::nullopt;
  }
  OomMessage& message = parsed.message;
  parsed.consumed = in.at();
  const auto take = [&](std::string_view name, std::optional<OomNumber>& to) {
    in.ClearStarved();
    std::optional<OomNumber> size;
    if (!in.Take(name) || !in.Take(":") || !in.TakeSize(size)) {
      return false;
    }
    to = size;
    parsed.consumed = in.at();
    return true;
  };
  message.complete = take("Currently allocated", message.allocated) &&
                     take("Requested", message.asked) && take("Device limit", message.capacity) &&
                     take("Free (according to CUDA)", message.free);
  if (message.complete) {
    take("PyTorch limit (set by user-supplied memory fraction)", message.limit);
  }
  parsed.starved = in.starved();
  return parsed;
}

// "Out of memory while trying to allocate 6291456 bytes.": the client's; "ran out of memory trying
// to allocate 27.93GiB (rounded to 29995136256)": its allocator's.
std::optional<Parsed> ParseXla(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kXla, .complete = false}};
  if (!in.TakeSize(parsed.message.asked)) {
    parsed.starved = in.starved();
    return parsed.starved ? std::optional(parsed) : std::nullopt;
  }
  parsed.message.complete = true;
  parsed.consumed = in.at();
  std::int64_t rounded = 0;
  if (in.Take("(rounded to") && in.TakeInteger(rounded) && in.Take(")")) {
    parsed.message.asked = OomNumber{.bytes = rounded};
    parsed.consumed = in.at();
  }
  return parsed;
}

void FindAdvice(std::string_view after, OomMessage& message) {
  after = after.substr(0, std::min(kHintReach, FindStart(after, 0)));
  for (const std::string_view setting :
       {std::string_view("expandable_segments"), std::string_view("max_split_size_mb")}) {
    if (after.find(setting) != std::string_view::npos) {
      message.advice.emplace_back(setting);
    }
  }
}

std::optional<Parsed> ParseForm(std::string_view text) {
  Phrases in(text);
  for (const std::string_view kind : kKinds) {
    if (text.starts_with(kind) && in.Take(kind)) {
      if (in.Take("out of memory")) {
        Parsed parsed;
        parsed.message.kind = kind;
        return ParseTorch(in, std::move(parsed));
      }
      in = Phrases(text);
    }
  }
  for (const std::string_view bare : kBare) {
    if (in.Take(bare)) {
      return Parsed{
          .message = {.kind = bare.starts_with("hip") || bare.starts_with("HIP") ? "HIP" : "CUDA"},
          .consumed = in.at()};
    }
  }
  if (in.Take("Allocation on device")) {
    return ParseAsync(in);
  }
  if (in.Take("Out of memory while trying to allocate") ||
      in.Take("ran out of memory trying to allocate")) {
    return ParseXla(in);
  }
  if (in.Take("Out of memory. Tried to allocate")) {
    in = Phrases(text);
    in.Take("Out of memory");
    return ParseTorch(in, {});
  }
  return std::nullopt;
}

// Where the message around "out of memory" begins: at its kind, its "Allocation on device".
std::size_t StartAround(std::string_view line, std::size_t at, std::size_t from) {
  const std::string_view before = line.substr(from, at - from);
  for (const std::string_view bare : kBare) {
    const std::size_t inside = bare.find("out of memory");
    if (inside != std::string_view::npos && before.size() >= inside &&
        line.substr(at - inside).starts_with(bare)) {
      return at - inside;
    }
  }
  constexpr std::string_view kAsync = "Allocation on device";
  constexpr std::size_t kAsyncReach = 64;
  if (const std::size_t async = before.rfind(kAsync);
      async != std::string_view::npos && before.size() - async < kAsyncReach) {
    return from + async;
  }
  constexpr std::string_view kRan = "ran ";
  if (before.ends_with(kRan)) {
    return at - kRan.size();
  }
  std::size_t begin = at;
  while (begin > from && line[begin - 1] == ' ') {
    --begin;
  }
  std::size_t word = begin;
  while (word > from && IsLetter(line[word - 1])) {
    --word;
  }
  const bool is_kind = word < begin && std::find(kKinds.begin(), kKinds.end(),
                                                 line.substr(word, begin - word)) != kKinds.end();
  return is_kind ? word : at;
}

}  // namespace

std::size_t FindStart(std::string_view line, std::size_t from) {
  // Window by window: a word that a long line lacks is not searched to its end after each hit.
  constexpr std::size_t kWindow = 2048;
  constexpr std::size_t kLongestWord = 64;
  for (std::size_t begin = from; begin < line.size(); begin += kWindow) {
    const std::string_view window = line.substr(begin, kWindow + kLongestWord);
    std::size_t found = std::string_view::npos;
    for (const std::string_view word :
         {std::string_view("out of memory"), std::string_view("Out of memory")}) {
      const std::size_t at = window.find(word);
      if (at < kWindow) {
        found = std::min(found, StartAround(line, begin + at, from));
      }
    }
    for (const std::string_view bare : kBare) {
      const bool worded = bare.find("out of memory") != std::string_view::npos;
      const std::size_t at = worded ? std::string_view::npos : window.find(bare);
      found = at < kWindow ? std::min(found, begin + at) : found;
    }
    if (found != std::string_view::npos) {
      return found;
    }
  }
  return std::string_view::npos;
}

std::optional<Parsed> ParseMessage(std::string_view text) {
  auto parsed = ParseForm(text);
  if (parsed) {
    FindAdvice(text.substr(parsed->consumed), parsed->message);
  }
  return parsed;
}

}  // namespace memtool::formats::oom_text
