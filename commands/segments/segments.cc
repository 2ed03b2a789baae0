// memtool segments: the allocator's segments at a moment, one line of picture each.
#include "memtool/profile/answers/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <cmath>
#include <map>
#include <span>

#include "base/command.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/answerable.h"
#include "memtool/profile/model/label_text.h"
#include "output/tabulate.h"
#include "rows/alike.h"
#include "rows/rows.h"
#include "rows/rows_command.h"
#include "words/refusals.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kPictureOffTerminal = 40;
constexpr std::size_t kNarrowestPicture = 12;
constexpr std::size_t kMaxPictureWidth = 100;
constexpr std::size_t kColumnsBesidePicture = 96;  // what the columns next to the picture need

// Each character is one slice of the segment; its height is how much of the slice is in use.
std::string Picture(std::span<const SliceFill> fill) {
  constexpr std::array<std::string_view, 9> kFill{"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const SliceFill& slice : fill) {
    // A slice that is in use is never shown as empty, nor one with a hole as full.
    auto level = static_cast<std::size_t>(std::lround(slice.used * 8));
    level = slice.used > 0 ? std::clamp<std::size_t>(level, 1, slice.used < 0.999999 ? 7 : 8) : 0;
    text += slice.pending > slice.used / 2 ? std::string_view("▒") : kFill.at(level);
  }
  return text;
}

// `whole`: the name as in the file.
std::string HolderText(const SegmentHolder& holder, bool whole = false) {
  if (holder.name == kNoStack) {
    return "(stack unknown)";
  }
  const std::string place = PlaceText(holder.file, holder.line);
  return (whole ? holder.name.str() : NameText(holder.name)) + (place.empty() ? "" : "  " + place);
}

// The answer's own fields, with the holder's name in words.
std::vector<Field<SegmentRow>> WordedFields(bool blocks) {
  std::vector<Field<SegmentRow>> fields(kSegmentFields.begin(), kSegmentFields.end());
  if (!blocks) {
    std::erase_if(fields, [](const Field<SegmentRow>& field) { return field.key == "block_list"; });
  }
  for (Field<SegmentRow>& field : fields) {
    if (field.key == "holder") {
      field.get = [](const SegmentRow& row) { return Value(HolderText(row.holder, true)); };
    }
  }
  return fields;
}

class SegmentsCommand final : public RowsCommand {
 public:
  SegmentsCommand()
      : RowsCommand(
            {.help = "what holds a segment: function, filefunction (default), line, file, module, "
                     "stack, bucket or bucket:AXIS"}) {}

  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool segments snapshot.pickle\n"
                "memtool segments --at peak:reserved -n 10 snapshot.pickle",
            .often = "conf device"};
  }

 private:
  [[nodiscard]] bool TakesConf() const override { return true; }

  void DeclareMore(po::options_description& options) override {
    po::options_description group("Segments");
    group.add_options()("blocks", po::bool_switch(&blocks_),
                        "with --format json: the blocks of each segment, by address");
    options.add(group);
  }

  Result<void> ResolveMore() override {
    if (blocks_ && !output().nests()) {
      return Fail(ErrorCode::kUsage, "--blocks: only JSON holds the blocks of a segment",
                  "--format json or --format jsonl");
    }
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
                 : std::clamp<std::size_t>(
                       terminal > kColumnsBesidePicture ? terminal - kColumnsBesidePicture : 0,
                       kNarrowestPicture, kMaxPictureWidth);
    return RowsCommand::Names(streams);
  }

  Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& names) override {
    SegmentsMaker maker({.by = view().by(), .slices = width_, .blocks = blocks_});
    MEMTOOL_TRY(
        input_reader.ForEach(names, view(), [&maker](const Selection& selection) -> Result<void> {
          if (!CanAnswer(selection.source(), "segments")) {
            return Refuse(ErrorCode::kUnsupported, selection.source(),
                          "does not record the allocator's segments",
                          "PyTorch snapshots do: see memtool help recording");
          }
          return maker.Add(selection);
        }));
    answer_ = std::move(maker).Make();
    AnswerHead head = input_reader.Head("segments");
    head.sample_type = std::move(answer_.head.sample_type);
    head.unit = std::move(answer_.head.unit);
    answer_.head = std::move(head);
    return {};
  }

  Result<void> Print(const InputReader& input_reader, Streams& streams) override {
    return output().Print(
        ViewRows<SegmentRow>(answer_.head, MakeFigures(answer_), answer_.rows,
                             WordedFields(blocks_)),
        [&] { return Table(input_reader); }, streams);
  }

  [[nodiscard]] TextTable Table(const InputReader& input_reader) const {
    TextTable table;
    const auto columns = Columns();
    Tabulate(answer_.rows, columns.all(), 0, 0, table);
    if (output().limit() != 0) {
      JoinAlike({.own = {columns.IndexOf("address")},
                 .limit = output().limit(),
                 .say =
                     [](const AlikeRows& rows) {
                       return FormatCount(static_cast<std::int64_t>(rows.count)) +
                              " segments like this";
                     }},
                table);
    }
    table.head = HeadLines(input_reader);
    table.column_notes = {{"IN USE",
                           "IN USE: '·' free, '▁' to '█' partly to wholly live, '▒' "
                           "waiting for a stream"}};
    table.foot = FootLines();
    return table;
  }

  [[nodiscard]] static TableColumns<SegmentRow> Columns() {
    TableColumns<SegmentRow> columns(kSegmentFields, true);
    columns["fill"].get = [](const SegmentRow& row) { return Picture(row.fill); };
    columns["holder"].get = [](const SegmentRow& row) { return HolderText(row.holder); };
    return columns;
  }

  // "einsum _backends.py 1.2 GiB, …": who keeps the most from being returned.
  [[nodiscard]] std::string PinnedByText() const {
    constexpr std::size_t kNamed = 3;
    std::map<std::string, std::int64_t> sums;  // by the holders' words
    for (const PinnedBy& pinned : answer_.pinned_by) {
      std::int64_t& sum = sums[HolderText(pinned.holder)];
      sum = SaturatingAdd(sum, pinned.bytes);
    }
    std::vector<std::pair<std::string, std::int64_t>> holders(sums.begin(), sums.end());
    std::stable_sort(holders.begin(), holders.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (std::size_t i = 0; i < std::min(kNamed, holders.size()); ++i) {
      text += fmt::format("{}{} {}", i > 0 ? ", " : "", holders[i].first,
                          FormatSize(holders[i].second));
    }
    return holders.size() > kNamed ? text + ", …" : text;
  }

  // "fragmentation 6.26 GiB (26.7% of what is reserved): gaps too small for …".
  [[nodiscard]] static std::string FragmentationText(const SegmentTotals& t) {
    std::string text = fmt::format("fragmentation {} ({:.1f}% of what is reserved)",
                                   FormatSize(t.gives.fragmented), 100 * t.fragmentation());
    if (t.gives.fragmented > 0) {
      text += fmt::format(": gaps too small for the {}, {}",
                          t.failed ? "request that failed" : "largest request of their pool",
                          FormatSize(t.request));
    }
    return text + " · largest free block " + FormatSize(t.largest_free);
  }

  [[nodiscard]] std::int64_t SegmentCount() const {
    return static_cast<std::int64_t>(answer_.rows.size());
  }

  [[nodiscard]] std::vector<std::string> HeadLines(const InputReader& input_reader) const {
    const SegmentTotals& t = answer_.totals;
    const auto share = [](std::int64_t part, std::int64_t whole) {
      return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
    };
    std::string live = FormatSize(t.allocated) + " live";
    live += t.pending > 0 ? " + " + FormatSize(t.pending) + " waiting for a stream" : "";
    if (t.programs) {
      return Head(
          input_reader,
          fmt::format("{} · {} in {} allocation{} of the program = {} in use + {} not, at "
                      "this point ({:.1f}%)",
                      InputsText(input_reader), FormatSize(t.reserved), FormatCount(SegmentCount()),
                      PluralS(SegmentCount()), FormatSize(t.allocated), FormatSize(t.free),
                      share(t.free, t.reserved)));
    }
    std::vector<std::string> head =
        Head(input_reader, fmt::format("{} · reserved {} in {} segment{} = {} + {} free ({:.1f}%)",
                                       InputsText(input_reader), FormatSize(t.reserved),
                                       FormatCount(SegmentCount()), PluralS(SegmentCount()), live,
                                       FormatSize(t.free), share(t.free, t.reserved)));
    if (t.pieces_known()) {
      head.push_back(FragmentationText(t));
    } else if (t.exceeds()) {
      head.emplace_back(
          "more is live than these segments hold, so that some are missing: fragmentation and what "
          "can go back are unknown");
    } else {
      head.push_back(fmt::format(
          "{} free in no block that the file lists: the largest free block{} and fragmentation are "
          "unknown",
          FormatSize(t.gives.unlisted),
          t.empty_cache ? ", what empty_cache() gives back of it" : ""));
    }
    if (t.empty_cache && !t.exceeds() &&
        (t.pieces_known() || t.gives.returnable > 0 || t.gives.reuse_only > 0)) {
      head.push_back(fmt::format(
          "empty_cache() gives back {} · only reuse can fill {} in {} gap{} beside live blocks",
          ReturnableText(t.gives), FormatSize(t.gives.reuse_only), FormatCount(t.gives.gaps),
          PluralS(t.gives.gaps)));
    }
    if (t.gives.private_pool > 0) {
      head.push_back(PrivatePoolText(t.gives));
    }
    if (t.pinned > 0) {
      head.push_back(fmt::format(
          "{} of live blocks keep {} from being released, in {} large segment{}; held by {}",
          FormatSize(t.pins), FormatSize(t.pinned_bytes), FormatCount(t.pinned), PluralS(t.pinned),
          PinnedByText()));
    }
    return head;
  }

  [[nodiscard]] std::vector<std::string> FootLines() const {
    const SegmentTotals& t = answer_.totals;
    std::vector<std::string> foot;
    if (t.estimated > 0) {
      foot.push_back(
          fmt::format("{} of {} segments are estimated: a history records requested sizes; block "
                      "sizes follow from the allocator's rules",
                      FormatCount(t.estimated), FormatCount(SegmentCount())));
    }
    for (const Diagnostic& diagnostic : answer_.head.diagnostics) {
      if (diagnostic.code == "cut") {
        foot.push_back(diagnostic.message);
      }
    }
    if (t.unplaced_blocks > 0 && t.programs) {
      foot.push_back(fmt::format("{} in {} buffers in use lie in no allocation",
                                 FormatSize(t.unplaced), FormatCount(t.unplaced_blocks)));
    } else if (t.unplaced_blocks > 0) {
      foot.push_back(fmt::format(
          "{} in {} live blocks lie in no known segment: this history lacks segment events",
          FormatSize(t.unplaced), FormatCount(t.unplaced_blocks)));
    }
    return foot;
  }

  bool blocks_ = false;
  std::size_t width_ = kPictureOffTerminal;
  SegmentsAnswer answer_;
};

}  // namespace

std::unique_ptr<Command> MakeSegments() {
  return std::make_unique<SegmentsCommand>();
}

}  // namespace memtool::commands
