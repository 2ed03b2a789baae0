// memtool info: what a file is, what it holds and what it cannot know.
#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>
#include <ctime>
#include <map>

#include "command.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "rows.h"
#include "session.h"

namespace memtool::commands {

namespace {

std::string TimeText(std::int64_t nanos) {
  const std::time_t seconds = static_cast<std::time_t>(nanos / 1'000'000'000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) {
    return "out of range";
  }
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

class InfoCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.summary = "what a file holds, and what it cannot know",
            .usage = "[options] [FILE...]",
            .examples = "memtool info memory9.prof\nmemtool info --format json *.prof"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved : {input_.Resolve(), output_.Resolve(streams, input_.rows().value_or(0))}) {
      if (!resolved) {
        return Fail(std::move(resolved.error()));
      }
    }
    auto names = input_.Names(streams);
    if (!names) {
      return Fail(std::move(names.error()));
    }
    Session session(input_, streams);
    Report report{.command = "info"};
    report.columns = {
        {"input", ""}, {"property", "PROPERTY", true}, {"value", "VALUE", true, true}};
    auto done = session.ForEachRecording(
        *names, [&](const std::string& name, const Recording& recording) -> Result<void> {
          Card(report, name == "-" ? "standard input" : name, recording);
          return {};
        });
    if (!done) {
      return Fail(std::move(done.error()));
    }
    session.Describe(report);
    session.Finish();
    if (auto printed = output_.Print(report, streams); !printed) {
      return Fail(std::move(printed.error()));
    }
    return session.exit_code();
  }

 private:
  static void Card(Report& report, const std::string& name, const Recording& recording) {
    const auto add = [&](std::string property, std::string value) {
      report.rows.push_back({name, std::move(property), std::move(value)});
    };
    const Metadata& metadata = recording.metadata;
    add("input", name);
    add("format", metadata.format_display +
                      (metadata.packing.empty() ? "" : ", packed with " + metadata.packing));
    add("unpacked", FormatSize(static_cast<std::int64_t>(metadata.unpacked_bytes)));
    if (metadata.time_nanos != 0) {
      add("taken", TimeText(metadata.time_nanos));
    }
    if (metadata.duration_nanos != 0) {
      add("duration", fmt::format("{:.3f} s", static_cast<double>(metadata.duration_nanos) / 1e9));
    }
    if (recording.profile) {
      ProfileRows(add, recording);
    }
    add("stacks", fmt::format("{} distinct",
                              FormatCount(static_cast<std::int64_t>(recording.stack_count()))));
    add("functions", FormatCount(static_cast<std::int64_t>(recording.functions.size())));
    for (const Mapping& mapping : recording.mappings) {
      add("mapping", std::string(recording.Text(mapping.filename)));
    }
    for (const StringId comment : metadata.comments) {
      add("comment", std::string(recording.Text(comment)));
    }
    for (const Diagnostic& diagnostic : recording.diagnostics) {
      add("note", fmt::format("{}: {}", diagnostic.count, diagnostic.message));
    }
    for (const BlindSpot& blind : recording.blind_spots) {
      add("blind to", blind.what + " (" + blind.why + ")");
    }
  }

  template <class Add>
  static void ProfileRows(const Add& add, const Recording& recording) {
    const Profile& profile = *recording.profile;
    const Filter all;
    const View view(recording, all);
    for (const SampleType& type : profile.types) {
      const std::string name(recording.Text(type.type));
      const auto choice = ChooseValue(recording, name);
      if (!choice) {
        continue;
      }
      const StackSums sums = SumByStack(view, *choice);
      const std::string unit(recording.Text(type.unit));
      add("sample type",
          fmt::format("{}/{}: {}", name, unit,
                      IsBytes(choice->role) ? FormatSize(sums.total) : FormatCount(sums.total)));
    }
    add("samples", FormatCount(static_cast<std::int64_t>(profile.size())));
    std::map<std::string, std::size_t> keys;
    for (std::uint32_t set = 0; set < recording.label_set_count(); ++set) {
      for (const Label& label : recording.Labels(LabelSetId(set))) {
        ++keys[std::string(recording.Text(label.key))];
      }
    }
    for (const auto& [key, sets] : keys) {
      add("label", key);
    }
  }

  InputOptions input_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> MakeInfo() {
  return std::make_unique<InfoCommand>();
}

}  // namespace memtool::commands
