// memtool raw: every record of an input as text, for eyes and for comparing readers.
#include <fmt/format.h>

#include "command.h"
#include "options/input_options.h"
#include "output/escape.h"
#include "session.h"

namespace memtool::commands {

namespace {

class Dump {
 public:
  Dump(const Recording& recording, Sink& out) : recording_(recording), out_(out) {}

  void Run(const std::string& name) {
    Line(fmt::format("input {}: {}", EscapeText(name), recording_.metadata.format_display));
    Header();
    if (recording_.profile) {
      Samples(*recording_.profile);
    }
    Locations();
    Mappings();
  }

 private:
  void Line(const std::string& text) { out_.Write(text + "\n"); }
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
    for (std::size_t i = 0; i < profile.size(); ++i) {
      std::string line = " ";
      for (const auto& column : profile.values) {
        line += fmt::format(" {:>12}", column[i]);
      }
      line += ":";
      for (const LocationId location : recording_.Stack(profile.stacks[i])) {
        line += fmt::format(" {}", location.value() + 1);
      }
      Line(line);
      for (const Label& label : recording_.Labels(profile.label_sets[i])) {
        const std::string value =
            label.numeric ? fmt::format("{}{}{}", label.number, Text(label.unit).empty() ? "" : " ",
                                        Text(label.unit))
                          : Text(label.text);
        Line(fmt::format("      {}: {}", Text(label.key), value));
      }
    }
  }

  void Locations() {
    Line("locations:");
    for (std::size_t i = 0; i < recording_.locations.size(); ++i) {
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
  }

  void Mappings() {
    Line("mappings:");
    for (std::size_t i = 0; i < recording_.mappings.size(); ++i) {
      const Mapping& m = recording_.mappings[i];
      Line(fmt::format("  {}: {:#x}/{:#x}/{:#x} {} {}{}{}{}{}", i + 1, m.start, m.limit, m.offset,
                       Text(m.filename), Text(m.build_id), m.has_functions ? " [FN]" : "",
                       m.has_filenames ? " [FL]" : "", m.has_line_numbers ? " [LN]" : "",
                       m.has_inline_frames ? " [IN]" : ""));
    }
  }

  const Recording& recording_;
  Sink& out_;
};

class RawCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.summary = "every record of an input, as text",
            .usage = "[options] [FILE...]",
            .examples = "memtool raw memory9.prof | less"};
  }

  void Declare(po::options_description& options) override { input_.Declare(options, false); }

  Result<ExitCode> Run(Streams& streams) override {
    if (auto resolved = input_.Resolve(); !resolved) {
      return Fail(std::move(resolved.error()));
    }
    auto names = input_.Names(streams);
    if (!names) {
      return Fail(std::move(names.error()));
    }
    // With several inputs nothing may be printed before all have been read.
    const bool several = names->size() > 1;
    StringSink held;
    Sink& out = several ? static_cast<Sink&>(held) : streams.out;
    Session session(input_, streams);
    auto done = session.ForEachRecording(
        *names, [&](const std::string& name, const Recording& recording) -> Result<void> {
          Dump(recording, out).Run(name == "-" ? "standard input" : name);
          return {};
        });
    if (!done) {
      return Fail(std::move(done.error()));
    }
    if (several) {
      streams.out.Write(held.text());
    }
    session.Finish();
    return session.exit_code();
  }

 private:
  InputOptions input_;
};

}  // namespace

std::unique_ptr<Command> MakeRaw() {
  return std::make_unique<RawCommand>();
}

}  // namespace memtool::commands
