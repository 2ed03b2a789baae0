// memtool segments: the allocator's segments at a moment, one line of picture each.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "command.h"
#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/allocator/free_memory.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/history/groups.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/select/at_moment.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kPictureOffTerminal = 40;
constexpr std::size_t kNarrowestPicture = 12;
constexpr std::size_t kWidestPicture = 100;
constexpr std::size_t kOtherColumns = 96;  // what the columns beside the picture need
// A segment is pinned when no more than this part of it lives: little keeps much from going back.
constexpr double kPinnedShare = 0.25;

struct SegmentLine {
  Segment segment;
  FreeMemory gives;
  std::int64_t largest_free = 0;  // of the blocks that the file lists
  std::int64_t live_blocks = 0;
  bool estimated = false;
  std::string picture;
  std::string holder;  // who allocated most of what lives in it

  [[nodiscard]] std::int64_t free() const { return segment.size - segment.active; }
  // What live blocks keep from going back to the driver.
  [[nodiscard]] std::int64_t kept() const { return gives.reuse_only + gives.unlisted; }
  [[nodiscard]] bool pinned() const {
    const auto live = static_cast<double>(segment.active);
    return segment.active > 0 && !segment.small && kept() > 0 &&
           live <= kPinnedShare * (live + static_cast<double>(kept()));
  }
};

struct Totals {
  std::int64_t reserved = 0, allocated = 0, pending = 0, free = 0;
  std::int64_t largest_free = 0;
  std::int64_t splits = 0, split_bytes = 0;             // free blocks in segments that are in use
  std::int64_t unused = 0, unused_bytes = 0;            // segments without a live block
  std::int64_t pinned = 0, pinned_bytes = 0, pins = 0;  // pinned segments, free and live in them
  std::int64_t estimated = 0;
  std::int64_t unplaced = 0, unplaced_blocks = 0;

  FreeMemory gives;

  // Where free memory lies in no listed block, its largest piece may be any.
  [[nodiscard]] bool pieces_known() const { return gives.unlisted <= 0; }
  [[nodiscard]] double fragmentation() const {
    return free > 0 ? 1.0 - static_cast<double>(largest_free) / static_cast<double>(free) : 0.0;
  }
};

// Each character is one slice of the segment; its height is how much of the slice is in use.
std::string Picture(const Segment& segment, std::span<const Block> blocks, std::size_t width) {
  constexpr std::array<std::string_view, 9> kFill{"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<double> used(width, 0);
  std::vector<double> pending(width, 0);
  const double slice = static_cast<double>(segment.size) / static_cast<double>(width);
  for (const Block& block : blocks) {
    if (block.state == BlockState::kInactive || slice <= 0) {
      continue;
    }
    const auto begin = static_cast<double>(block.address - segment.address);
    const double end = begin + static_cast<double>(block.size);
    auto at = static_cast<std::size_t>(begin / slice);
    for (; at < width && static_cast<double>(at) * slice < end; ++at) {
      const double part = std::min(end, static_cast<double>(at + 1) * slice) -
                          std::max(begin, static_cast<double>(at) * slice);
      used[at] += std::max(part, 0.0);
      pending[at] += block.state == BlockState::kPendingFree ? std::max(part, 0.0) : 0.0;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < width; ++i) {
    const double share = slice > 0 ? used[i] / slice : 0;
    // What is in use is never shown as empty, what has a hole never as full.
    auto level = static_cast<std::size_t>(std::lround(share * 8));
    level = share > 0 ? std::clamp<std::size_t>(level, 1, share < 0.999999 ? 7 : 8) : 0;
    text += pending[i] > used[i] / 2 ? std::string_view("▒") : kFill.at(level);
  }
  return text;
}

// Who allocated live blocks, as rows of top name them.
class Holders {
 public:
  explicit Holders(AllocationGroups groups) : groups_(std::move(groups)) {}

  // Of the blocks in use the one that holds the most, ties by name; empty when there is none.
  [[nodiscard]] std::string Largest(std::span<const Block> blocks) const {
    std::map<std::uint32_t, std::int64_t> held;
    for (const Block& block : blocks) {
      if (block.state != BlockState::kInactive) {
        std::int64_t& bytes = held[GroupOf(block.stack)];
        bytes = SaturatingAdd(bytes, block.size);
      }
    }
    std::string largest;
    std::int64_t most = -1;
    for (const auto& [group, bytes] : held) {
      if (bytes < most) {
        continue;
      }
      std::string name = Name(group);
      largest = bytes > most || name < largest ? std::move(name) : largest;
      most = bytes;
    }
    return largest;
  }

 private:
  [[nodiscard]] std::uint32_t GroupOf(StackId stack) const {
    return stack.valid() && stack.value() < groups_.of_stack.size()
               ? groups_.of_stack[stack.value()]
               : AllocationGroups::kRest;
  }

  [[nodiscard]] std::string Name(std::uint32_t group) const {
    if (group == AllocationGroups::kRest || groups_.names[group].name == kNoStack) {
      return "(stack unknown)";
    }
    const AllocationGroups::Name& name = groups_.names[group];
    const std::string place = PlaceText(name.file, name.line);
    return NameText(name.name) + (place.empty() ? "" : "  " + place);
  }

  AllocationGroups groups_;
};

class SegmentsCommand final : public RowsCommand {
 public:
  SegmentsCommand()
      : RowsCommand(
            {.help = "who holds a segment: function, filefunction (default), line, file, module, "
                     "stack, bucket or bucket:AXIS"}) {}

  [[nodiscard]] Doc doc() const override {
    return {.summary = "the allocator's segments at a moment, and what fragments them",
            .usage = "[options] [FILE...]",
            .examples =
                "memtool segments snapshot.pickle\n"
                "memtool segments --at peak:reserved -n 10 snapshot.pickle"};
  }

 private:
  Result<void> ResolveMore() override {
    switch (view().by().kind) {
      case By::Kind::kFrame:
      case By::Kind::kStack:
      case By::Kind::kBucket:
        return {};
      default:
        return Fail(ErrorCode::kUsage, "--by: segments are held by frames, stacks or buckets",
                    "function, filefunction, line, file, module, stack or bucket");
    }
  }

  Result<std::vector<std::string>> Names(Streams& streams) override {
    const unsigned terminal = streams.out.TerminalWidth();
    width_ = terminal == 0
                 ? kPictureOffTerminal
                 : std::clamp<std::size_t>(terminal > kOtherColumns ? terminal - kOtherColumns : 0,
                                           kNarrowestPicture, kWidestPicture);
    return RowsCommand::Names(streams);
  }

  Result<Report> MakeReport(Session& session, const std::vector<std::string>& names) override {
    auto done = session.ForEach(names, view(), [this](Selection loaded) -> Result<void> {
      if (!loaded.recording().state || !loaded.recording().history) {
        return Fail(ErrorCode::kUnsupported,
                    fmt::format("a {} does not tell the allocator's segments",
                                loaded.recording().metadata.format_display),
                    "PyTorch snapshots do: see memtool help recording");
      }
      auto groups = GroupAllocations(loaded.view(), view().by());
      MEMTOOL_TRY(groups);
      const Holders holders(*std::move(groups));
      for (const MomentOfTrace& moment : loaded.moments()) {
        Add(loaded, moment, holders);
      }
      return {};
    });
    MEMTOOL_TRY(done);
    return Describe(session);
  }

  void Add(const Selection& loaded, const MomentOfTrace& moment, const Holders& holders) {
    const Recording& recording = loaded.recording();
    const StateAtMoment at =
        StateAt(*loaded.history(), recording.history->traces[moment.trace], moment.event);
    for (std::size_t i = 0; i < at.state.segments.size(); ++i) {
      const Segment& segment = at.state.segments[i];
      AddSegment(recording, segment,
                 std::span(at.state.blocks).subspan(segment.first_block, segment.block_count),
                 at.estimated[i] != 0, holders);
    }
    totals_.unplaced = SaturatingAdd(totals_.unplaced, at.unplaced_bytes);
    totals_.unplaced_blocks += static_cast<std::int64_t>(at.unplaced_blocks);
  }

  void AddSegment(const Recording& recording, const Segment& segment, std::span<const Block> blocks,
                  bool estimated, const Holders& holders) {
    SegmentLine line{.segment = segment, .gives = FreeIn(segment, blocks), .estimated = estimated};
    for (const Block& block : blocks) {
      if (block.state == BlockState::kInactive) {
        line.largest_free = std::max(line.largest_free, block.size);
        totals_.splits += segment.active > 0 ? 1 : 0;
        totals_.split_bytes =
            SaturatingAdd(totals_.split_bytes, segment.active > 0 ? block.size : 0);
      } else {
        ++line.live_blocks;
      }
    }
    streams_.push_back(recording.history->streams[segment.stream]);
    line.picture = Picture(segment, blocks, width_);
    line.holder = holders.Largest(blocks);
    Sum(line);
    lines_.push_back(std::move(line));
  }

  void Sum(const SegmentLine& line) {
    const Segment& segment = line.segment;
    const auto add = [](std::int64_t& sum, std::int64_t value) { sum = SaturatingAdd(sum, value); };
    add(totals_.reserved, segment.size);
    add(totals_.allocated, segment.allocated);
    add(totals_.pending, segment.active - segment.allocated);
    add(totals_.free, line.free());
    totals_.gives.Add(line.gives);
    totals_.largest_free = std::max(totals_.largest_free, line.largest_free);
    totals_.estimated += line.estimated ? 1 : 0;
    if (segment.active == 0) {
      ++totals_.unused;
      add(totals_.unused_bytes, segment.size);
    }
    if (line.pinned()) {
      ++totals_.pinned;
      add(totals_.pinned_bytes, line.kept());
      add(totals_.pins, segment.active);
      add(pinned_by_[line.holder], line.kept());
    }
  }

  // "einsum  _backends.py 1.2 GiB, …": who keeps the most from going back.
  [[nodiscard]] std::string PinnedBy() const {
    constexpr std::size_t kNamed = 3;
    std::vector<std::pair<std::string, std::int64_t>> holders(pinned_by_.begin(), pinned_by_.end());
    std::stable_sort(holders.begin(), holders.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (std::size_t i = 0; i < std::min(kNamed, holders.size()); ++i) {
      text += fmt::format("{}{} {}", i > 0 ? ", " : "", holders[i].first,
                          FormatSize(holders[i].second));
    }
    return holders.size() > kNamed ? text + ", …" : text;
  }

  [[nodiscard]] std::vector<std::size_t> Sorted() const {
    std::vector<std::size_t> order(lines_.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      const SegmentLine& x = lines_[a];
      const SegmentLine& y = lines_[b];
      return std::tuple(-x.free(), -x.segment.size, x.segment.device, x.segment.address) <
             std::tuple(-y.free(), -y.segment.size, y.segment.device, y.segment.address);
    });
    return order;
  }

  [[nodiscard]] Report Describe(const Session& session) const {
    Report report{.command = "segments"};
    session.Describe(report);
    report.sample_type = "reserved";
    report.unit = "bytes";
    report.columns = {{"free", "FREE"},
                      {"size", "SIZE"},
                      {"largest_free", "LARGEST FREE"},
                      {.key = "live_blocks", .title = "LIVE", .drop = 2},
                      {.key = "device", .title = "DEV", .drop = 1},
                      {.key = "address", .title = "ADDRESS", .left = true, .drop = 3},
                      {.key = "", .title = "IN USE", .left = true},
                      {.key = "holder", .title = "HELD BY", .left = true, .shrink = true},
                      {"stream", ""},
                      {"pool", ""},
                      {"pool_id", ""},
                      {"returnable", ""},
                      {"expandable", ""},
                      {"allocated", ""},
                      {"active", ""},
                      {"requested", ""},
                      {"blocks", ""},
                      {"pinned", ""},
                      {"estimated", ""}};
    const auto bytes = [](std::int64_t value) { return Amount{.value = value}; };
    for (const std::size_t i : Sorted()) {
      const SegmentLine& line = lines_[i];
      const Segment& segment = line.segment;
      report.rows.push_back(
          {bytes(line.free()), bytes(segment.size),
           line.gives.unlisted > 0 ? Cell() : Cell(bytes(line.largest_free)), line.live_blocks,
           static_cast<std::int64_t>(segment.device), fmt::format("0x{:x}", segment.address),
           line.picture, line.holder, fmt::format("0x{:x}", streams_[i]),
           std::string(segment.small ? "small" : "large"),
           fmt::format("({}, {})", segment.pool_owner, segment.pool_id), line.gives.returnable,
           std::int64_t{segment.expandable ? 1 : 0}, segment.allocated, segment.active,
           segment.requested, std::int64_t{segment.block_count},
           std::int64_t{line.pinned() ? 1 : 0}, std::int64_t{line.estimated ? 1 : 0}});
    }
    report.totals = Sums();
    AddText(session, report);
    return report;
  }

  [[nodiscard]] std::vector<std::pair<std::string, Cell>> Sums() const {
    const Totals& t = totals_;
    return {
        {"total", t.free},
        {"reserved", t.reserved},
        {"allocated", t.allocated},
        {"pending_free", t.pending},
        {"free", t.free},
        {"largest_free", t.pieces_known() ? Cell(t.largest_free) : Cell()},
        {"returnable_bytes", t.gives.returnable},
        {"reuse_only_bytes", t.gives.reuse_only},
        {"private_pool_bytes", t.gives.private_pool},
        {"unlisted_bytes", t.gives.unlisted},
        {"inactive_splits", t.splits},
        {"inactive_split_bytes", t.split_bytes},
        {"unused_segments", t.unused},
        {"unused_bytes", t.unused_bytes},
        {"pinned_segments", t.pinned},
        {"pinned_free_bytes", t.pinned_bytes},
        {"pinned_live_bytes", t.pins},
        {"unplaced_bytes", t.unplaced},
        {"fragmentation", t.pieces_known() ? Cell(Percent{.ratio = t.fragmentation()}) : Cell()}};
  }

  void AddText(const Session& session, Report& report) const {
    const Totals& t = totals_;
    const auto share = [](std::int64_t part, std::int64_t whole) {
      return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
    };
    std::string live = FormatSize(t.allocated) + " live";
    live += t.pending > 0 ? " + " + FormatSize(t.pending) + " waiting for a stream" : "";
    report.head =
        Head(session, fmt::format("{} · reserved {} in {} segment{} = {} + {} free ({:.1f}%)",
                                  InputsText(session), FormatSize(t.reserved),
                                  FormatCount(static_cast<std::int64_t>(lines_.size())),
                                  lines_.size() == 1 ? "" : "s", live, FormatSize(t.free),
                                  share(t.free, t.reserved)));
    if (t.pieces_known()) {
      report.head.push_back(fmt::format(
          "largest free block {} ({:.1f}% of what is free; fragmentation {:.1f}%)",
          FormatSize(t.largest_free), share(t.largest_free, t.free), 100 * t.fragmentation()));
    } else {
      report.head.push_back(fmt::format(
          "{} free in no block that the file lists: the largest free block, the fragmentation and "
          "what empty_cache() gives back of it are unknown",
          FormatSize(t.gives.unlisted)));
    }
    if (t.pieces_known() || t.gives.returnable > 0 || t.gives.reuse_only > 0) {
      report.head.push_back(fmt::format(
          "empty_cache() gives back {} · only reuse can fill {} in {} gap{} beside live blocks",
          ReturnableText(t.gives), FormatSize(t.gives.reuse_only), FormatCount(t.gives.gaps),
          t.gives.gaps == 1 ? "" : "s"));
    }
    if (t.gives.private_pool > 0) {
      report.head.push_back(PrivatePoolText(t.gives));
    }
    if (t.pinned > 0) {
      report.head.push_back(
          fmt::format("pinned: {} live keep {} from going back, in {} large segment{}; held by {}",
                      FormatSize(t.pins), FormatSize(t.pinned_bytes), FormatCount(t.pinned),
                      t.pinned == 1 ? "" : "s", PinnedBy()));
    }
    if (!lines_.empty()) {
      report.foot.emplace_back("IN USE: · free  ▁…█ partly to wholly live  ▒ waiting for a stream");
    }
    if (t.estimated > 0) {
      report.foot.push_back(fmt::format(
          "{} of {} segments are estimated: a history tells requested sizes, block sizes follow "
          "from the allocator's rules",
          FormatCount(t.estimated), FormatCount(static_cast<std::int64_t>(lines_.size()))));
    }
    for (const Diagnostic& diagnostic : report.diagnostics) {
      if (diagnostic.code == "cut") {
        report.foot.push_back(diagnostic.message);
      }
    }
    if (t.unplaced_blocks > 0) {
      report.foot.push_back(fmt::format(
          "{} in {} live blocks lie in no known segment: this history lacks segment events",
          FormatSize(t.unplaced), FormatCount(t.unplaced_blocks)));
    }
  }

  std::size_t width_ = kPictureOffTerminal;
  std::vector<SegmentLine> lines_;
  std::vector<std::uint64_t> streams_;  // raw handle, per line
  Totals totals_;
  std::map<std::string, std::int64_t> pinned_by_;  // free bytes of pinned segments, per holder
};

}  // namespace

std::unique_ptr<Command> MakeSegments() {
  return std::make_unique<SegmentsCommand>();
}

}  // namespace memtool::commands
