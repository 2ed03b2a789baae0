#include "memtool_file/memtool_writer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "memtool_file/event_packer.h"
#include "memtool_file/section_writer.h"

namespace memtool::formats {

namespace memtool_file {

namespace {

// Small enough for a reader to keep its columns in a cache, large enough for zstd to learn.
constexpr std::size_t kSectionRows = std::size_t{1} << 18U;
constexpr std::size_t kSectionText = std::size_t{4} << 20U;

// "memtool" is the packing of what is read from a container; what lies within it is kept.
std::string PackingInside(const std::string& packing) {
  constexpr std::string_view kOwn = "memtool";
  const std::size_t at = packing.find(kOwn);
  if (at == std::string::npos) {
    return packing;
  }
  const std::size_t behind = at + kOwn.size();
  return behind < packing.size() ? packing.substr(behind + 1) : std::string();
}

About MakeAbout(const Recording& recording) {
  const Metadata& from = recording.metadata;
  About about{.format = from.format,
              .display = from.format_display,
              .packing = PackingInside(from.packing),
              .unpacked_bytes = from.unpacked_bytes,
              .framework = from.origin.framework,
              .kind = from.origin.kind,
              .platform = from.origin.platform,
              .schema = from.origin.schema,
              .host = from.origin.host,
              .rank = from.origin.rank,
              .process = from.origin.process,
              .default_by = from.default_by,
              .frames_are_scopes = from.frames_are_scopes,
              .time_nanos = from.time_nanos,
              .duration_nanos = from.duration_nanos,
              .period_type = from.period_type.type,
              .period_unit = from.period_type.unit,
              .period_role = from.period_type.role,
              .period = from.period,
              .drop_frames = from.drop_frames,
              .keep_frames = from.keep_frames,
              .doc_url = from.doc_url};
  if (recording.profile) {
    about.has_profile = true;
    about.default_type = recording.profile->default_type;
  }
  if (recording.history) {
    about.has_history = true;
    about.clock = recording.history->clock;
    about.has_event_labels = !recording.history->labels.empty();
  }
  about.has_state = recording.state != nullptr;
  about.log_text = from.log_text;
  return about;
}

// Tables in the order of `Table`.
class RecordingWriter {
 public:
  RecordingWriter(const Recording& recording, const ByteSink& sink)
      : recording_(recording), sections_(sink) {}

  Result<void> Run() {
    MEMTOOL_TRY(sections_.Header());
    const About about = MakeAbout(recording_);
    MEMTOOL_TRY(Rows<About>(Table::kAbout, std::span(&about, 1)));
    MEMTOOL_TRY(Symbols());
    MEMTOOL_TRY(Lists());
    if (recording_.profile) {
      MEMTOOL_TRY(Samples(*recording_.profile));
    }
    if (recording_.history) {
      MEMTOOL_TRY(Events(*recording_.history));
    }
    if (recording_.state) {
      MEMTOOL_TRY(Rows<Segment>(Table::kSegments, recording_.state->segments));
      MEMTOOL_TRY(Rows<Block>(Table::kBlocks, recording_.state->blocks));
    }
    MEMTOOL_TRY(Rows<Statement>(Table::kStatements, recording_.statements));
    MEMTOOL_TRY(Rows<UnreadLine>(Table::kUnreadLines, recording_.unread_lines));
    return sections_.End();
  }

 private:
  template <class Row>
  Result<void> Rows(Table table, std::span<const Row> rows) {
    for (std::size_t first = 0; first < rows.size();) {
      std::size_t text = 0;
      std::size_t count = 0;
      while (first + count < rows.size() && count < kSectionRows && text < kSectionText) {
        text += TextBytes(rows[first + count]);
        ++count;
      }
      PackRows<Row>(sections_.Start(table, count), rows.subspan(first, count));
      MEMTOOL_TRY(sections_.Finish());
      first += count;
    }
    return {};
  }

  // Rows that are lists: `items_of` gives one's, `pack` the columns of rows `first` to `last`
  // besides the lengths and items of lists.
  template <class Item, class GetItems, class Pack>
  Result<void> RowsOfLists(Table table, std::size_t begin, std::size_t end,
                           const GetItems& items_of, const Pack& pack) {
    std::vector<std::uint64_t> lengths;
    std::vector<Item> items;
    for (std::size_t first = begin; first < end;) {
      lengths.clear();
      items.clear();
      while (first + lengths.size() < end && lengths.size() < kSectionRows &&
             items.size() < kSectionRows) {
        const std::span<const Item> list = items_of(first + lengths.size());
        lengths.push_back(list.size());
        items.insert(items.end(), list.begin(), list.end());
      }
      if (items.size() > kMaxItems) {
        return Fail(ErrorCode::kLimit,
                    "a stack, location or set of labels is too long to be written");
      }
      ColumnPacker& columns = sections_.Start(table, lengths.size());
      columns.Numbers(1, lengths);
      pack(columns, first, lengths.size());
      PackRows<Item>(columns, items);
      MEMTOOL_TRY(sections_.Finish());
      first += lengths.size();
    }
    return {};
  }
  static void NoMore(ColumnPacker& /*columns*/, std::size_t /*first*/, std::size_t /*count*/) {}

  Result<void> Strings() {
    const StringTable& strings = recording_.strings;
    std::vector<std::string_view> texts;
    for (std::size_t row = 1; row < strings.size();) {  // row 0 is empty
      std::size_t bytes = 0;
      texts.clear();
      while (row < strings.size() && texts.size() < kSectionRows && bytes < kSectionText) {
        texts.push_back(strings[StringId(row++)]);
        bytes += texts.back().size();
      }
      sections_.Start(Table::kStrings, texts.size()).Texts(1, texts);
      MEMTOOL_TRY(sections_.Finish());
    }
    return {};
  }

  Result<void> Symbols() {
    MEMTOOL_TRY(Strings());
    MEMTOOL_TRY(Rows<Mapping>(Table::kMappings, recording_.mappings));
    MEMTOOL_TRY(Rows<Function>(Table::kFunctions, recording_.functions));
    const auto& locations = recording_.locations;
    MEMTOOL_TRY(RowsOfLists<Line>(
        Table::kLocations, 0, locations.size(),
        [this, &locations](std::size_t row) { return recording_.Lines(locations[row]); },
        [&locations](ColumnPacker& columns, std::size_t first, std::size_t count) {
          PackRows<Location>(columns, std::span(locations).subspan(first, count));
        }));
    MEMTOOL_TRY(RowsOfLists<LocationId>(
        Table::kStacks, 0, recording_.stack_count(),
        [this](std::size_t row) { return recording_.Stack(StackId(row)); }, NoMore));
    return RowsOfLists<Label>(
        Table::kLabelSets, 1, recording_.label_set_count(),  // set 0 is empty
        [this](std::size_t row) { return recording_.Labels(LabelSetId(row)); }, NoMore);
  }

  Result<void> Lists() {
    const Metadata& metadata = recording_.metadata;
    MEMTOOL_TRY(Rows<StringId>(Table::kComments, metadata.comments));
    MEMTOOL_TRY(Rows<std::string>(Table::kDeviceNames, metadata.origin.device_names));
    MEMTOOL_TRY(Rows<Diagnostic>(Table::kDiagnostics, recording_.diagnostics));
    MEMTOOL_TRY(Rows<BlindSpot>(Table::kBlindSpots, recording_.blind_spots));
    MEMTOOL_TRY(Rows<Counter>(Table::kCounters, recording_.counters));
    return Rows<Setting>(Table::kSettings, recording_.settings);
  }

  Result<void> Samples(const Profile& profile) {
    MEMTOOL_TRY(Rows<SampleType>(Table::kSampleTypes, profile.types));
    // As large as other sections, however many columns there are.
    constexpr std::size_t kUsualTypes = 4;
    const std::size_t most =
        std::max<std::size_t>(kSectionRows / (1 + profile.types.size() / kUsualTypes), 1);
    std::vector<std::uint64_t> words;
    const auto fill = [&words, most ](const auto& column, std::size_t first) -> const auto& {
      words.clear();
      const std::size_t end = std::min(column.size(), first + most);
      for (std::size_t row = first; row < end; ++row) {
        words.push_back(ToWord(column[row]));
      }
      return words;
    };
    for (std::size_t first = 0; first < profile.size(); first += most) {
      ColumnPacker& columns =
          sections_.Start(Table::kSamples, std::min(most, profile.size() - first));
      columns.Numbers(kSampleStack, fill(profile.stacks, first));
      columns.Numbers(kSampleLabels, fill(profile.label_sets, first));
      std::uint32_t number = kFirstValue;
      for (const auto& values : profile.values) {
        columns.Numbers(number++, fill(values, first));
      }
      MEMTOOL_TRY(sections_.Finish());
    }
    return Rows<std::uint32_t>(Table::kUnknownSizes, profile.unknown_size);
  }

  Result<void> Events(const History& history) {
    if (history.events.size() >= std::numeric_limits<std::uint32_t>::max()) {
      return Fail(ErrorCode::kLimit, "more than 4,294,967,294 events");
    }
    MEMTOOL_TRY(Rows<MemoryDomain>(Table::kDomains, history.domains));
    MEMTOOL_TRY(Rows<Trace>(Table::kTraces, history.traces));
    MEMTOOL_TRY(Rows<std::uint64_t>(Table::kStreams, history.streams));
    MEMTOOL_TRY(Rows<Mark>(Table::kMarks, history.marks));
    EventPacker packer(history);
    for (std::size_t first = 0; first < history.events.size(); first += kSectionRows) {
      const std::size_t count = std::min(kSectionRows, history.events.size() - first);
      packer.Pack(first, count, sections_.Start(Table::kEvents, count));
      MEMTOOL_TRY(sections_.Finish());
    }
    MEMTOOL_TRY(Rows<AddressRange>(Table::kMapped, history.mapped));
    const auto& breakdowns = history.breakdowns;
    return RowsOfLists<BreakdownPart>(
        Table::kBreakdowns, 0, breakdowns.size(),
        [&history, &breakdowns](std::size_t row) {
          return std::span(history.parts)
              .subspan(breakdowns[row].first_part, breakdowns[row].part_count);
        },
        [&breakdowns](ColumnPacker& columns, std::size_t first, std::size_t count) {
          PackRows<Breakdown>(columns, std::span(breakdowns).subspan(first, count));
        });
  }

  const Recording& recording_;
  SectionWriter sections_;
};

}  // namespace

}  // namespace memtool_file

std::span<const std::string_view> MemtoolWriter::endings() const {
  static constexpr std::array<std::string_view, 1> kEndings{".memtool"};
  return kEndings;
}

Result<void> MemtoolWriter::Write(const Recording& recording, const WriteOptions& /*options*/,
                                  const ByteSink& sink) const {
  return memtool_file::RecordingWriter(recording, sink).Run();
}

}  // namespace memtool::formats
