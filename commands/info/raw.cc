// memtool raw: every record of an input as text, for eyes and for comparing readers.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/rows/table.h"
#include "options/input_options.h"
#include "output/escape.h"
#include "output/text/visible_numbers.h"
#include "rows/rows.h"
#include "session/input_reader.h"

namespace memtool::commands {

namespace {

constexpr VisibleView kColon = VisibleView::Own(":");

VisibleView ActionName(Action action) {
  constexpr auto kNames = std::to_array<VisibleView>(
      {VisibleView::Own("alloc"), VisibleView::Own("free_requested"),
       VisibleView::Own("free_completed"), VisibleView::Own("segment_alloc"),
       VisibleView::Own("segment_free"), VisibleView::Own("segment_map"),
       VisibleView::Own("segment_unmap"), VisibleView::Own("oom"), VisibleView::Own("adjust"),
       VisibleView::Own("mark"), VisibleView::Own("annotate"), VisibleView::Own("other")});
  static_assert(kNames.size() == static_cast<std::size_t>(Action::kOther) + 1);
  return kNames[static_cast<std::size_t>(action)];
}

class Dump {
 public:
  // `limit`: of records of each kind, 0 = all. Locations and mappings are then those that the
  // printed records refer to.
  Dump(const Recording& recording, std::size_t limit, Sink& out)
      : recording_(recording), limit_(limit), out_(out) {
    if (limit_ != 0) {
      printed_stacks_.resize(recording.stack_count());
      printed_locations_.resize(recording.locations.size());
      printed_mappings_.resize(recording.mappings.size());
    }
  }

  void Run(const std::string& name) {
    Line(fmt::format("input {}: {}", EscapeText(name),
                     EscapeText(recording_.metadata.format_display)));
    Header();
    if (recording_.profile) {
      Samples(*recording_.profile);
    }
    if (recording_.history) {
      Events(*recording_.history);
    }
    if (recording_.state) {
      Segments(*recording_.state);
    }
    for (const Setting& setting : recording_.settings) {
      Line(fmt::format("setting {}: {}", EscapeText(setting.name), EscapeText(setting.value)));
    }
    Locations();
    Mappings();
  }

 private:
  void Line(std::string_view text) { out_.Write(VisibleText(text).EndLine()); }
  // How many of so many records are printed.
  [[nodiscard]] std::size_t Printed(std::size_t count) const {
    return limit_ == 0 ? count : std::min(limit_, count);
  }
  // After the records of a kind: what the limit left out.
  void Rest(std::string_view indent, std::size_t printed, std::size_t count) {
    if (printed < count) {
      Line(fmt::format("{}({} more)", indent, count - printed));
    }
  }
  void Print(StackId stack) {
    if (limit_ == 0 || !stack.valid() || printed_stacks_[stack.value()] != 0) {
      return;
    }
    printed_stacks_[stack.value()] = 1;
    for (const LocationId id : recording_.Stack(stack)) {
      printed_locations_[id.value()] = 1;
      const MappingId mapping = recording_.At(id).mapping;
      if (mapping.valid()) {
        printed_mappings_[mapping.value()] = 1;
      }
    }
  }
  [[nodiscard]] std::string Text(StringId id) const { return EscapeText(recording_.Text(id)); }

  void Header() {
    const Metadata& metadata = recording_.metadata;
    const auto line = [this](const char* what, const std::string& value) {
      if (!value.empty()) {
        Line(fmt::format("{}: {}", what, value));
      }
    };
    line("time_nanos", metadata.time_nanos == 0 ? "" : fmt::format("{}", metadata.time_nanos));
    line("duration_nanos",
         metadata.duration_nanos == 0 ? "" : fmt::format("{}", metadata.duration_nanos));
    const std::string period_type =
        Text(metadata.period_type.type) + " " + Text(metadata.period_type.unit);
    line("period_type", period_type == " " ? "" : period_type);
    line("period", metadata.period == 0 ? "" : fmt::format("{}", metadata.period));
    line("drop_frames", Text(metadata.drop_frames));
    line("keep_frames", Text(metadata.keep_frames));
    line("doc_url", Text(metadata.doc_url));
    for (const StringId comment : metadata.comments) {
      line("comment", Text(comment));
    }
  }

  void Samples(const Profile& profile) {
    std::string types = "samples";
    for (const SampleType& type : profile.types) {
      types += fmt::format(" {}/{}", Text(type.type), Text(type.unit));
      types += type.type == profile.default_type ? " [default]" : "";
    }
    Line(types + ":");
    std::vector<VisibleText> labels(recording_.label_set_count());
    const std::size_t printed = Printed(profile.size());
    for (std::size_t i = 0; i < printed; ++i) {
      Print(profile.stacks[i]);
      line_.clear();
      line_.AppendBlanks(1);
      for (const auto& column : profile.values) {
        AppendNumbers(line_, FMT_COMPILE(" {:>12}"), column[i]);
      }
      line_.Append(kColon);
      for (const LocationId location : recording_.Stack(profile.stacks[i])) {
        AppendNumbers(line_, FMT_COMPILE(" {}"), location.value() + 1);
      }
      line_.EndLine();
      const LabelSetId set = profile.label_sets[i];
      if (!recording_.Labels(set).empty()) {
        VisibleText& text = labels[set.value()];
        if (text.empty()) {
          text = LabelLines(set);
        }
        line_.Append(text);
      }
      out_.Write(line_);
    }
    Rest("  ", printed, profile.size());
  }

  // Made once per label set, because samples share them.
  [[nodiscard]] VisibleText LabelLines(LabelSetId set) const {
    VisibleText lines;
    for (const Label& label : recording_.Labels(set)) {
      const std::string unit = Text(label.unit);
      const std::string value =
          label.numeric ? fmt::format("{}{}{}", label.number, unit.empty() ? "" : " ", unit)
                        : Text(label.text);
      lines.Append(fmt::format("      {}: {}", Text(label.key), value)).EndLine();
    }
    return lines;
  }

  // Made once per stack, because events share them.
  VisibleView StackText(StackId stack) {
    if (!stack.valid()) {
      return {};
    }
    Print(stack);
    stack_texts_.resize(recording_.stack_count());
    VisibleText& text = stack_texts_[stack.value()];
    if (text.empty()) {
      for (const LocationId location : recording_.Stack(stack)) {
        AppendNumbers(text, FMT_COMPILE(" {}"), location.value() + 1);
      }
    }
    return text;
  }

  [[nodiscard]] std::string LabelsText(LabelSetId set) const {
    const std::string text = LabelText(recording_, set);
    return text.empty() ? text : " [" + EscapeText(text) + "]";
  }

  void Events(const History& history) {
    for (const Trace& trace : history.traces) {
      Line(fmt::format("trace of {}: {} events{}", EscapeText(TraceText(trace)), trace.event_count,
                       trace.overflowed ? ", overflowed" : ""));
      const std::size_t printed = Printed(trace.event_count);
      for (std::uint64_t i = 0; i < printed; ++i) {
        const std::uint64_t row = trace.first_event + i;
        const Event& event = history.events[row];
        // By far the most lines of a history are these: composed in place, without copies.
        line_.clear();
        AppendNumbers(line_, FMT_COMPILE("  {}: "), i);
        line_.Append(ActionName(event.action));
        AppendNumbers(line_, FMT_COMPILE(" {:#x} size={}"), event.key, event.size);
        if (event.time != kNoTime) {
          AppendNumbers(line_, FMT_COMPILE(" t={}"), event.time);
        }
        AppendNumbers(line_, FMT_COMPILE(" stream={:#x}"), history.streams[event.stream]);
        if (!history.labels.empty()) {
          line_.Append(LabelsText(history.labels[row]));
        }
        line_.Append(kColon).Append(StackText(event.stack)).EndLine();
        out_.Write(line_);
      }
      Rest("  ", printed, trace.event_count);
    }
    const std::size_t marks = Printed(history.marks.size());
    for (const Mark& mark : std::span(history.marks).first(marks)) {
      const auto time = [](std::int64_t nanos) {
        return nanos == kNoTime ? std::string("-") : fmt::format("{}", nanos);
      };
      Line(fmt::format("mark {} device={} {} {}", EscapeText(mark.name), mark.device,
                       time(mark.begin), time(mark.end)));
    }
    Rest("mark ", marks, history.marks.size());
  }

  void Segments(const AllocatorState& state) {
    constexpr std::array<const char*, 3> kStates{"active", "pending_free", "inactive"};
    Line("segments:");
    const std::size_t printed = Printed(state.segments.size());
    for (const Segment& segment : std::span(state.segments).first(printed)) {
      Line(fmt::format("  {:#x} size={} device={}{} {}{} pool=({}, {}):{}", segment.address,
                       segment.size, segment.device, segment.host ? " host" : "",
                       segment.small ? "small" : "large", segment.expandable ? " expandable" : "",
                       segment.pool_owner, segment.pool_id, StackText(segment.stack).str()));
      const std::size_t blocks = Printed(segment.block_count);
      for (std::uint32_t i = 0; i < blocks; ++i) {
        const Block& block = state.blocks[segment.first_block + i];
        Line(fmt::format("    {:#x} size={} requested={} {}:{}", block.address, block.size,
                         block.requested, kStates[static_cast<std::size_t>(block.state)],
                         StackText(block.stack).str()));
      }
      Rest("    ", blocks, segment.block_count);
    }
    Rest("  ", printed, state.segments.size());
  }

  void Locations() {
    Line("locations:");
    std::size_t printed = 0;
    for (std::size_t i = 0; i < recording_.locations.size(); ++i) {
      if (limit_ != 0 && printed_locations_[i] == 0) {
        continue;
      }
      ++printed;
      const Location& location = recording_.locations[i];
      std::string line = fmt::format("  {}: {:#x}", i + 1, location.address);
      line += location.mapping.valid() ? fmt::format(" M={}", location.mapping.value() + 1) : "";
      line += location.folded ? " [folded]" : "";
      if (recording_.Unsymbolized(location)) {
        Line(line);
        continue;
      }
      for (const struct Line& frame : recording_.Lines(location)) {
        const Function& function = recording_.functions[frame.function.value()];
        std::string text =
            fmt::format(" {} {}:{}:{} s={}", Text(function.name), Text(function.filename),
                        frame.line, frame.column, function.start_line);
        if (function.system_name != function.name) {
          text += fmt::format(" ({})", Text(function.system_name));
        }
        Line(line + text);
        line.assign(line.size(), ' ');
      }
    }
    Rest("  ", printed, recording_.locations.size());
  }

  void Mappings() {
    Line("mappings:");
    std::size_t printed = 0;
    for (std::size_t i = 0; i < recording_.mappings.size(); ++i) {
      if (limit_ != 0 && printed_mappings_[i] == 0) {
        continue;
      }
      ++printed;
      const Mapping& m = recording_.mappings[i];
      Line(fmt::format("  {}: {:#x}/{:#x}/{:#x} {} {}{}{}{}{}", i + 1, m.start, m.limit, m.offset,
                       Text(m.filename), Text(m.build_id), m.has_functions ? " [FN]" : "",
                       m.has_filenames ? " [FL]" : "", m.has_line_numbers ? " [LN]" : "",
                       m.has_inline_frames ? " [IN]" : ""));
    }
    Rest("  ", printed, recording_.mappings.size());
  }

  const Recording& recording_;
  std::size_t limit_;
  Sink& out_;
  // With a limit, by row: 1 for what a printed record refers to.
  std::vector<char> printed_stacks_;
  std::vector<char> printed_locations_;
  std::vector<char> printed_mappings_;
  std::vector<VisibleText> stack_texts_;
  VisibleText line_;
};

class RawCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples = "memtool raw memory9.prof | less\nmemtool raw -n 20 memory9.prof"};
  }

  void Declare(po::options_description& options) override { input_.Declare(options); }

  Result<ExitCode> Run(Streams& streams) override {
    MEMTOOL_TRY(input_.Resolve());
    auto names = input_.Names(streams);
    MEMTOOL_TRY(names);
    // With several inputs nothing may be printed before all have been read.
    const bool several = names->size() > 1;
    StringSink held;
    Sink& out = several ? static_cast<Sink&>(held) : streams.out;
    InputReader input_reader(input_, streams);
    auto done = input_reader.ForEachRecording(
        *names, [&](const std::string& name, const auto& recording) -> Result<void> {
          Dump(*recording, input_.rows().value_or(0), out)
              .Run(name == "-" ? "standard input" : name);
          return {};
        });
    MEMTOOL_TRY(done);
    if (several) {
      streams.out.WriteBytes(held.text());
    }
    input_reader.Finish();
    return input_reader.exit_code();
  }

 private:
  InputOptions input_;
};

}  // namespace

std::unique_ptr<Command> MakeRaw() {
  return std::make_unique<RawCommand>();
}

}  // namespace memtool::commands
