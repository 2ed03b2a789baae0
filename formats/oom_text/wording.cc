#include "oom_text/wording.h"

#include <algorithm>
#include <array>
#include <utility>

#include "oom_text/pool_wordings.h"
#include "oom_text/words/phrases.h"

namespace memtool::formats::oom_text {

namespace {

constexpr std::size_t kMaxProcesses = 1024;
constexpr std::size_t kHintReach = 600;  // how far past its figures a message gives advice

// Allocators of PyTorch's kind name their device first.
constexpr std::array<std::string_view, 9> kKinds{"CUDA", "HIP", "XPU",  "NPU",  "MPS backend",
                                                 "MUSA", "MLU", "Cuda", "DPCPP"};

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The number of a device, which some releases write as the character of that code.
void TakeDevice(Phrases& in, OomMessage& message) {
  std::int64_t number = 0;
  if ((in.TakeInteger(number) || in.TakeControl(number)) && number >= 0 && number < INT16_MAX) {
    message.gpu = static_cast<int>(number);
  }
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
// CUDA Graphs),] and … is reserved by PyTorch but unallocated."; reads what follows the first three
// words.
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
    if (message.others.size() < kMaxProcesses) {
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

// "GPU 0 has a total capacity of … of which … is free." and what follows; reads what follows "GPU".
void ParseSentences(Phrases& in, Parsed& parsed) {
  OomMessage& message = parsed.message;
  message.wording = OomWording::kTorchUnallocated;
  message.complete = false;
  TakeDevice(in, message);
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
  if (in.Take("of which")) {
    if (!in.TakeSize(size) || !in.Take("is free.")) {
      parsed.starved = in.starved();
      return;
    }
    message.free = size;
    parsed.consumed = in.at();
  } else if (!in.Take(".")) {  // XPU leaves out what is free
    parsed.starved = in.starved();
    return;
  }
  do {
    in.ClearStarved();
    if (in.Take("Of the allocated memory")) {
      message.complete = ParseAllocated(in, parsed);
      break;
    }
  } while (ParseSentence(in, parsed));
  parsed.starved = !message.complete && in.starved();
}

// "MTIA", "PrivateUse1": how a back end outside the table names its device. Empty for any other
// word.
std::string_view UnknownKind(std::string_view text) {
  constexpr std::size_t kMaxLength = 24;
  std::size_t end = 0;
  std::size_t capitals = 0;
  while (end < text.size() && (IsLetter(text[end]) || (text[end] >= '0' && text[end] <= '9'))) {
    capitals += text[end] >= 'A' && text[end] <= 'Z' ? 1 : 0;
    ++end;
  }
  return capitals >= 2 && end <= kMaxLength ? text.substr(0, end) : std::string_view();
}

// "NPUWorkspaceAllocator tried to allocate 2.00 GiB(NPU 0; 60.97 GiB total capacity; 1.00 GiB
// free)": from a second allocator besides PyTorch's.
bool ParseWorkspace(Phrases& in, Parsed& parsed) {
  if (!in.Take("NPUWorkspaceAllocator tried to allocate") ||
      !in.TakeSize(parsed.message.requested_bytes)) {
    return false;
  }
  parsed.message.absurd = !parsed.message.requested_bytes;
  parsed.consumed = in.at();
  parsed.message.complete = false;
  if (in.Take("(NPU")) {
    TakeDevice(in, parsed.message);
    in.Take(";");
    ParseParenthesis(in, parsed);
  }
  parsed.message.wording = OomWording::kLibrary;
  return true;
}

// Reads what follows "CUDA out of memory.": the requested size, then one of the two forms.
std::optional<Parsed> ParseTorch(Phrases& in, Parsed parsed) {
  parsed.consumed = in.at();
  in.Take(".");
  in.ClearStarved();
  if (parsed.message.kind == "NPU" && ParseWorkspace(in, parsed)) {
    return parsed;
  }
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
    parsed.message.absurd = true;
    parsed.message.complete = true;
    parsed.consumed = in.at();
    return parsed;
  }
  if (!in.TakeSize(parsed.message.requested_bytes)) {
    parsed.message.wording = OomWording::kNoFigures;
    parsed.starved = in.starved();
    return parsed;
  }
  parsed.message.absurd = !parsed.message.requested_bytes;
  parsed.consumed = in.at();
  const std::string& kind = parsed.message.kind;
  if (in.Take("(GPU") || in.Take("(XPU") || (!kind.empty() && in.Take("(" + kind))) {
    TakeDevice(in, parsed.message);
    in.Take(";");
    ParseParenthesis(in, parsed);
    return parsed;
  }
  in.Take(".");
  if (in.Take("GPU") || in.Take("Device") || (!kind.empty() && in.Take(kind))) {
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
  TakeDevice(in, parsed.message);
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
                     take("Requested", message.requested_bytes) &&
                     take("Device limit", message.capacity) &&
                     take("Free (according to CUDA)", message.free);
  if (message.complete) {
    take("PyTorch limit (set by user-supplied memory fraction)", message.limit);
  }
  parsed.starved = in.starved();
  return parsed;
}

// "MPS backend out of memory (MPS allocated: 17.05 GB, other allocations: 1.10 GB, max allowed:
// 18.13 GB). Tried to allocate 76.29 MB on private pool."; reads what follows "out of memory".
Parsed ParseMps(Phrases& in) {
  Parsed parsed{.message = {.wording = OomWording::kTorchMps, .kind = "MPS", .complete = false},
                .consumed = in.at()};
  OomMessage& message = parsed.message;
  const auto take = [&](std::string_view before, std::optional<OomNumber>& to) {
    in.ClearStarved();
    const bool taken = in.Take(before) && in.TakeSize(to);
    parsed.consumed = taken ? in.at() : parsed.consumed;
    return taken;
  };
  message.complete = take("(MPS allocated:", message.allocated) &&
                     take(", other allocations:", message.outside) &&
                     take(", max allowed:", message.limit) &&
                     take("). Tried to allocate", message.requested_bytes);
  parsed.starved = !message.complete && in.starved();
  return parsed;
}

void FindAdvice(std::string_view text, std::size_t consumed, OomMessage& message) {
  std::string_view after = text.substr(consumed);
  constexpr std::size_t kMaxStartLength = 256;
  after = after.substr(
      0, std::min(kHintReach, FindStart(after.substr(0, kHintReach + kMaxStartLength), 0)));
  const std::string_view all = text.substr(0, consumed + after.size());
  for (const std::string_view setting :
       {std::string_view("expandable_segments:"), std::string_view("max_split_size_mb")}) {
    if (after.find(setting) != std::string_view::npos) {
      message.advice.emplace_back(setting.substr(0, setting.find(':')));
    }
  }
  // Since 2.14 it says so where one allocation is larger than any expandable segment may become.
  message.reserve_too_small = all.find("expandable-segment") != std::string_view::npos &&
                              all.find("expandable_segments_reserve") != std::string_view::npos;
  // Since 2.14 advice about a setting that is already on is left out; what follows it remains.
  message.no_advice =
      message.complete && message.advice.empty() &&
      message.wording == OomWording::kTorchUnallocated &&
      after.find("See documentation for Memory Management") != std::string_view::npos;
  constexpr std::string_view kVariable = "ALLOC_CONF";
  if (const std::size_t at = after.find(kVariable); at != std::string_view::npos) {
    const std::size_t begin = after.substr(0, at).find_last_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    message.variable = after.substr(begin == std::string_view::npos ? 0 : begin + 1,
                                    at - (begin + 1) + kVariable.size());
  }
}

std::optional<Parsed> ParseForm(std::string_view text) {
  Phrases in(text);
  for (const std::string_view kind : kKinds) {
    if (text.starts_with(kind) && in.Take(kind)) {
      if (in.Take("out of memory")) {
        if (kind.starts_with("MPS")) {
          return ParseMps(in);
        }
        Parsed parsed;
        parsed.message.kind = kind;
        return ParseTorch(in, std::move(parsed));
      }
      in = Phrases(text);
    }
  }
  if (const std::string_view kind = UnknownKind(text); !kind.empty() && in.Take(kind)) {
    if (in.Take("out of memory. Tried to allocate")) {
      in = Phrases(text);
      in.Take(kind);
      in.Take("out of memory");
      Parsed parsed;
      parsed.message.kind = kind;
      return ParseTorch(in, std::move(parsed));
    }
    in = Phrases(text);
  }
  if (in.Take("Allocation on device")) {
    return ParseAsync(in);
  }
  if (in.Take("Out of memory. Tried to allocate")) {
    in = Phrases(text);
    in.Take("Out of memory");
    return ParseTorch(in, {});
  }
  return ParseOtherWording(text);
}

// Where the message around "out of memory" begins: at its kind, its "Allocation on device".
std::size_t StartAround(std::string_view line, std::size_t at, std::size_t from) {
  const std::string_view before = line.substr(from, at - from);
  constexpr std::string_view kAsync = "Allocation on device";
  constexpr std::size_t kAsyncReach = 64;
  if (const std::size_t async = before.rfind(kAsync);
      async != std::string_view::npos && before.size() - async < kAsyncReach) {
    return from + async;
  }
  std::size_t begin = at;
  while (begin > from && line[begin - 1] == ' ') {
    --begin;
  }
  std::size_t word = begin;
  while (word > from &&
         (IsLetter(line[word - 1]) || (line[word - 1] >= '0' && line[word - 1] <= '9'))) {
    --word;
  }
  constexpr std::string_view kMps = "MPS ";
  if (line.substr(word, begin - word) == "backend" &&
      line.substr(from, word - from).ends_with(kMps)) {
    word -= kMps.size();
  }
  const std::string_view name = line.substr(word, begin - word);
  const bool known = std::find(kKinds.begin(), kKinds.end(), name) != kKinds.end();
  const bool is_known = line.substr(at).starts_with("out of memory. Tried to allocate");
  return known || (is_known && UnknownKind(name) == name && !name.empty()) ? word : at;
}

}  // namespace

std::size_t FindStart(std::string_view line, std::size_t from) {
  // Window by window, so that a word that a long line lacks is not searched for to its end after
  // each hit; the first ones are small, because hits may follow each other closely.
  constexpr std::size_t kMinValue = 128;
  constexpr std::size_t kMaxValue = 2048;
  constexpr std::size_t kAround = 128;  // "out of memory" begins this long after its message
  constexpr std::size_t kMaxWordLength = 64;
  std::size_t size = kMinValue;
  for (std::size_t begin = from; begin < line.size(); begin += std::exchange(size, kMaxValue)) {
    const std::string_view window = line.substr(begin, size + kAround + kMaxWordLength);
    std::size_t found = std::string_view::npos;
    for (const std::string_view word :
         {std::string_view("out of memory"), std::string_view("Out of memory")}) {
      const std::size_t at = window.find(word);
      // Further on, or nowhere: a later window's.
      const std::size_t start =
          at < size + kAround ? StartAround(line, begin + at, from) : std::string_view::npos;
      found = start < begin + size ? std::min(found, start) : found;
    }
    if (const std::size_t at = FindOtherWording(window.substr(0, size + kMaxWordLength));
        at < size) {
      found = std::min(found, begin + at);
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
    FindAdvice(text, parsed->consumed, parsed->message);
  }
  return parsed;
}

}  // namespace memtool::formats::oom_text
