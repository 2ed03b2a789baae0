#include "torch_snapshot/pages/plot_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/numbers.h"
#include "support/byte_cursor.h"
#include "support/code_stacks.h"
#include "support/json_stream.h"
#include "support/read_error.h"
#include "torch_snapshot/wire/pickle_writer.h"

namespace memtool::formats::torch_snapshot {

namespace {

constexpr std::array<std::string_view, 2> kPlots{"alloc_data = {", "trace_data = {"};
constexpr std::size_t kPageStep = std::size_t{64} << 10U;
constexpr std::int64_t kNull = std::numeric_limits<std::int64_t>::min();
// All stacks together, in frames per number of the page: real ones have fewer than one. A chain
// that many stacks share may not become a copy for each.
constexpr std::size_t kMaxFramesPerNumber = 16;

// What a page says, by key ("actions") or keys ("events.addr"): lists of whole numbers, of pairs
// of them as one after the other, and of texts.
struct Plot {
  std::map<std::string, std::vector<std::int64_t>, std::less<>> numbers;
  std::map<std::string, std::vector<std::string>, std::less<>> texts;
  std::size_t count = 0;  // of numbers

  [[nodiscard]] std::span<const std::int64_t> Numbers(std::string_view key) const {
    const auto found = numbers.find(key);
    return found == numbers.end() ? std::span<const std::int64_t>() : found->second;
  }
  [[nodiscard]] const std::string& Text(std::string_view key, std::int64_t row) const {
    const auto found = texts.find(key);
    if (found == texts.end() || row < 0 || static_cast<std::size_t>(row) >= found->second.size()) {
      ThrowRead(ErrorCode::kMalformed, 0, std::string(key),
                fmt::format("the page refers to text {}, which it does not have", row));
    }
    return found->second[static_cast<std::size_t>(row)];
  }
};

// RapidJSON's handler; the names are RapidJSON's.
class PlotHandler {
 public:
  explicit PlotHandler(Plot& plot) : plot_(plot) {}

  bool Null() { return Number(kNull); }
  static bool Bool(bool /*value*/) { return true; }
  bool Int(int value) { return Number(value); }
  bool Uint(unsigned value) { return Number(value); }
  bool Int64(std::int64_t value) { return Number(value); }
  bool Uint64(std::uint64_t value) { return Number(static_cast<std::int64_t>(value)); }
  static bool Double(double /*value*/) { return true; }
  static bool RawNumber(const char* /*text*/, unsigned /*size*/, bool /*copy*/) { return true; }
  bool String(const char* text, unsigned size, bool /*copy*/) {
    if (lists_ > 0 && objects_ <= 2) {
      plot_.texts[key_].emplace_back(text, size);
    }
    return true;
  }
  bool StartObject() {
    outer_ = objects_++ == 1 ? key_ + "." : "";
    return true;
  }
  bool Key(const char* text, unsigned size, bool /*copy*/) {
    key_ = outer_;
    key_.append(text, size);
    column_ = nullptr;
    return true;
  }
  bool EndObject(unsigned /*count*/) {
    --objects_;
    outer_.clear();
    return true;
  }
  bool StartArray() {
    ++lists_;
    return true;
  }
  bool EndArray(unsigned /*count*/) {
    --lists_;
    return true;
  }

 private:
  bool Number(std::int64_t value) {
    if (lists_ > 0 && objects_ <= 2) {
      column_ = column_ == nullptr ? &plot_.numbers[key_] : column_;
      column_->push_back(value);
      ++plot_.count;
    }
    return true;
  }

  Plot& plot_;
  std::string outer_;
  std::string key_;
  std::vector<std::int64_t>* column_ = nullptr;
  std::size_t objects_ = 0;
  std::size_t lists_ = 0;
};

// "model.py:12:forward", or as the profiler names Python functions.
CodePlace ParseFrame(std::string_view text) {
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
    if (end > at + 1 && end < text.size() && text[end] == ':') {
      const auto line = ParseNumber<std::int64_t>(text.substr(at + 1, end - at - 1));
      return {
          .function = text.substr(end + 1), .file = text.substr(0, at), .line = line.value_or(0)};
    }
  }
  return PlaceOfPythonCall(text);
}

class SnapshotMaker {
 public:
  SnapshotMaker(const Plot& plot, const Limits& limits) : plot_(plot), limits_(limits) {}

  std::string Run() && {
    out_.BeginDict();
    if (!plot_.Numbers("events.action").empty() || !plot_.Numbers("segments.addr").empty()) {
      Segments();
      BeginTraces();
      Events();
    } else if (!plot_.Numbers("elements_size").empty()) {
      BeginTraces();
      Elements();
    } else {
      ThrowRead(ErrorCode::kUnsupported, 0, {},
                "a page drawn by PyTorch 2.0, with a picture and no snapshot",
                "give the snapshot that it was drawn from; pages of PyTorch 2.1 and later hold "
                "theirs");
    }
    out_.EndList();
    out_.EndList();
    out_.EndDict();
    return out_.Finish();
  }

 private:
  void BeginTraces() {
    out_.Key(Word::kDeviceTraces);
    out_.BeginList();
    out_.Item();
    out_.BeginList();
  }

  // Row `row` of a column; 0 where the column is shorter.
  [[nodiscard]] std::int64_t At(std::string_view key, std::size_t row) const {
    const auto column = plot_.Numbers(key);
    return row < column.size() && column[row] != kNull ? column[row] : 0;
  }

  void BeginEvent(std::string_view action, std::int64_t address, std::int64_t size) {
    out_.Item();
    out_.BeginDict();
    out_.Key(Word::kAction);
    out_.Text(action);
    out_.Key(action == "oom" ? Word::kDeviceFree : Word::kAddr);
    out_.Unsigned(static_cast<std::uint64_t>(address));
    out_.Key(Word::kSize);
    out_.Int(size);
  }

  // The stack that an entry of the table of suffixes begins, written once.
  void Frames(std::int64_t suffix) {
    out_.Key(Word::kFrames);
    if (const auto known = stacks_.find(suffix); known != stacks_.end()) {
      out_.Recall(known->second);
      return;
    }
    out_.BeginList();
    std::size_t depth = 0;
    for (std::int64_t at = suffix; at != kNull;) {
      const auto [text, next] = Suffix(at);
      if (++depth > limits_.depth || ++frames_ > kMaxFramesPerNumber * plot_.count) {
        ThrowRead(ErrorCode::kLimit, 0, "suffix_table", "a stack of too many frames");
      }
      out_.Item();
      WriteFrame(text);
      at = next;
    }
    out_.EndList();
    stacks_.emplace(suffix, out_.Remember());
  }

  // Each entry refers to one before it, so that no chain has a circle.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> Suffix(std::int64_t row) const {
    const auto table = plot_.Numbers("suffix_table");
    const bool known = row >= 0 && static_cast<std::uint64_t>(row) < table.size() / 2;
    const std::size_t at = known ? 2 * static_cast<std::size_t>(row) : 0;
    if (!known || table[at + 1] >= row) {
      ThrowRead(ErrorCode::kMalformed, 0, "suffix_table",
                fmt::format("entry {} is missing or refers to a later one", row));
    }
    return {table[at], table[at + 1]};
  }

  void WriteFrame(std::int64_t text) {
    if (const auto known = written_.find(text); known != written_.end()) {
      out_.Recall(known->second);
      return;
    }
    const CodePlace frame = ParseFrame(plot_.Text("string_table", text));
    out_.BeginDict();
    out_.Key(Word::kName);
    out_.Text(frame.function);
    out_.Key(Word::kFilename);
    out_.Text(frame.file);
    out_.Key(Word::kLine);
    out_.Int(frame.line);
    out_.EndDict();
    written_.emplace(text, out_.Remember());
  }

  // segment_plot

  void Events() {
    const auto actions = plot_.Numbers("events.action");
    const auto frames = plot_.Numbers("events.frames");
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const std::string& action = plot_.Text("string_table", actions[i]);
      // The page's own word for a free that was requested and completed at once.
      const bool both = action == "free";
      for (const std::string_view one :
           both ? std::vector<std::string_view>{"free_requested", "free_completed"}
                : std::vector<std::string_view>{action}) {
        BeginEvent(one, At("events.addr", i), At("events.size", i));
        out_.Key(Word::kStream);
        out_.Unsigned(static_cast<std::uint64_t>(At("events.stream", i)));
        Frames(i < frames.size() ? frames[i] : kNull);
        out_.EndDict();
      }
    }
  }

  // Blocks are those that are not free, in the order of the segments.
  void Segments() {
    out_.Key(Word::kSegments);
    out_.BeginList();
    const auto segments = plot_.Numbers("segments.addr");
    const auto blocks = plot_.Numbers("blocks.addr");
    std::size_t block = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const auto begin = static_cast<std::uint64_t>(segments[i]);
      const auto size =
          static_cast<std::uint64_t>(std::max<std::int64_t>(At("segments.size", i), 0));
      std::size_t end = block;
      std::uint64_t active = 0;
      std::uint64_t allocated = 0;
      std::uint64_t requested = 0;
      for (; end < blocks.size() && static_cast<std::uint64_t>(blocks[end]) - begin < size; ++end) {
        const auto block_size = static_cast<std::uint64_t>(At("blocks.size", end));
        active += block_size;
        allocated += At("blocks.pending_free", end) == 0 ? block_size : 0;
        requested += static_cast<std::uint64_t>(At("blocks.real_size", end));
      }
      out_.Item();
      out_.BeginDict();
      const auto number = [this](Word key, std::uint64_t value) {
        out_.Key(key);
        out_.Unsigned(value);
      };
      number(Word::kDevice, 0);
      number(Word::kAddress, begin);
      number(Word::kTotalSize, size);
      number(Word::kAllocatedSize, allocated);
      number(Word::kActiveSize, active);
      number(Word::kRequestedSize, requested);
      number(Word::kStream, static_cast<std::uint64_t>(At("segments.stream", i)));
      constexpr std::uint64_t kSmallSegment = std::uint64_t{2} << 20U;
      out_.Key(Word::kSegmentType);
      out_.Text(size > kSmallSegment ? Word::kLarge : Word::kSmall);
      Blocks(begin, size, block, end);
      out_.EndDict();
      block = end;
    }
    out_.EndList();
  }

  void Blocks(std::uint64_t begin, std::uint64_t size, std::size_t first, std::size_t last) {
    out_.Key(Word::kBlocks);
    out_.BeginList();
    const auto frames = plot_.Numbers("blocks.frames");
    std::uint64_t at = begin;
    for (std::size_t i = first; i < last; ++i) {
      const auto address = static_cast<std::uint64_t>(At("blocks.addr", i));
      Gap(at, address);
      BeginBlock(
          address, static_cast<std::uint64_t>(At("blocks.size", i)),
          At("blocks.pending_free", i) != 0 ? Word::kActivePendingFree : Word::kActiveAllocated);
      out_.Key(Word::kRequestedSize);
      out_.Int(At("blocks.real_size", i));
      Frames(i < frames.size() ? frames[i] : kNull);
      out_.EndDict();
      at = address + static_cast<std::uint64_t>(At("blocks.size", i));
    }
    Gap(at, begin + size);
    out_.EndList();
  }
  void Gap(std::uint64_t from, std::uint64_t to) {
    if (from < to) {
      BeginBlock(from, to - from, Word::kInactive);
      out_.EndDict();
    }
  }
  void BeginBlock(std::uint64_t address, std::uint64_t size, Word state) {
    out_.Item();
    out_.BeginDict();
    out_.Key(Word::kAddress);
    out_.Unsigned(address);
    out_.Key(Word::kSize);
    out_.Unsigned(size);
    out_.Key(Word::kState);
    out_.Text(state);
  }

  // trace_plot, profile_plot: an element that is named is allocated, or freed where it is live.

  void Elements() {
    const std::size_t count = plot_.Numbers("elements_size").size();
    const auto checked = [count](std::int64_t element) {
      if (element < 0 || static_cast<std::uint64_t>(element) >= count) {
        ThrowRead(ErrorCode::kMalformed, 0, "actions",
                  fmt::format("element {}, where there are {}", element, count));
      }
      return static_cast<std::size_t>(element);
    };
    const auto actions = plot_.Numbers("actions");
    std::vector<char> freed(count);
    for (const std::int64_t action : actions) {
      freed[checked(action)] = 1;
    }
    std::vector<char> live(count);
    for (const std::int64_t initial : plot_.Numbers("initially_allocated")) {
      const std::size_t element = checked(initial);
      // What is never freed would have no event.
      if (freed[element] == 0 && live[element] == 0) {
        Element(element, true);
      }
      live[element] = 1;
    }
    for (const std::int64_t action : actions) {
      const std::size_t element = checked(action);
      Element(element, live[element] == 0);
      live[element] = live[element] == 0 ? 1 : 0;
    }
  }

  void Element(std::size_t element, bool alloc) {
    const auto infos = plot_.Numbers("elements_info");
    std::int64_t suffix = element < infos.size() ? infos[element] : kNull;
    // Unless the page names an address.
    std::uint64_t address = (element + 1) << kAddressShift;
    bool segment = false;
    bool of_free = false;
    if (suffix != kNull) {
      const auto [text, next] = Suffix(suffix);
      Headline(plot_.Text("string_table", text), address, segment);
      suffix = next;
    }
    if (suffix != kNull) {
      const auto [text, next] = Suffix(suffix);
      if (plot_.Text("string_table", text).starts_with("alloc not recorded")) {
        of_free = true;
        suffix = next;
      }
    }
    const std::string_view action =
        segment ? (alloc ? "segment_alloc" : "segment_free") : (alloc ? "alloc" : "free_completed");
    BeginEvent(action, static_cast<std::int64_t>(address), At("elements_size", element));
    out_.Key(Word::kStream);
    out_.Unsigned(0);
    Frames(alloc || of_free ? suffix : kNull);
    if (const std::int64_t category = Category(element); category != kNull) {
      out_.Key(Word::kCategory);
      out_.Text(plot_.Text("categories", category));
    }
    out_.EndDict();
  }

  [[nodiscard]] std::int64_t Category(std::size_t element) const {
    const auto categories = plot_.Numbers("elements_category");
    return element < categories.size() ? categories[element] : kNull;
  }

  // "b7f3e2c000000_0 2.0MiB allocation (2097152 bytes)": a block's address ("s": a segment's), and
  // how many had it before.
  static void Headline(std::string_view text, std::uint64_t& address, bool& segment) {
    if (text.size() < 2 || (text[0] != 'b' && text[0] != 's')) {
      return;
    }
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data() + 1, text.data() + text.size(), value, 16);
    if (error == std::errc() && end != text.data() + text.size() && *end == '_') {
      address = value;
      segment = text[0] == 's';
    }
  }

  static constexpr unsigned kAddressShift = 9;

  const Plot& plot_;
  const Limits& limits_;
  PickleWriter out_;
  KeyMap<std::int64_t, std::uint32_t> stacks_;   // by suffix: what the writer remembers
  KeyMap<std::int64_t, std::uint32_t> written_;  // frames, by text
  std::size_t frames_ = 0;
};

// Moves to the object that the script draws.
void FindPlot(ByteWindow& page) {
  while (true) {
    const std::string_view text = AsText(page.Fill(kPageStep));
    for (const std::string_view plot : kPlots) {
      if (const std::size_t at = text.find(plot); at != std::string_view::npos) {
        page.Advance(at + plot.size() - 1);
        return;
      }
    }
    if (text.size() < kPageStep) {
      ThrowRead(ErrorCode::kUnsupported, 0, {}, "an HTML page that holds no snapshot",
                "give the file that the page shows");
    }
    page.Advance(text.size() - kPlots[0].size());
  }
}

}  // namespace

bool IsPlotPage(std::string_view head) {
  return std::any_of(kPlots.begin(), kPlots.end(), [head](std::string_view plot) {
    return head.find(plot) != std::string_view::npos;
  });
}

std::string ReadPlotPage(ByteWindow& page, const Limits& limits) {
  FindPlot(page);
  Plot plot;
  PlotHandler handler(plot);
  JsonStream stream(page, limits);
  ParseJson(stream, handler);
  page.Skip(limits.unpacked_bytes);
  return SnapshotMaker(plot, limits).Run();
}

}  // namespace memtool::formats::torch_snapshot
