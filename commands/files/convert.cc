// memtool convert and memtool merge: inputs into files that other tools read.
#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <boost/program_options/value_semantic.hpp>

#include "command.h"
#include "memtool/formats/pprof_writer.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/rows/merge.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"
#include "options/input_options.h"
#include "options/view_options.h"
#include "output/escape.h"
#include "session/session.h"

namespace memtool::commands {

namespace {

// "root;caller;leaf VALUE", what flame graph tools read.
std::string Folded(const Session& session, const Selection& loaded) {
  NodeSpace space;
  NodeWalker walker(loaded.view(), Granularity::kFileFunction, space);
  NodeStack stack;
  std::map<std::string, std::int64_t> lines;
  for (const StackSum& sum : loaded.sums().rows) {
    if (sum.value == 0 || !walker.Expand(sum, stack)) {
      continue;
    }
    std::string line;
    for (std::size_t i = stack.nodes.size(); i-- > 0;) {
      line += EscapeFolded(space.Name(stack.nodes[i])) + (i > 0 ? ";" : "");
    }
    std::int64_t& value = lines[stack.nodes.empty() ? std::string(kNoStack) : std::move(line)];
    value = SaturatingAdd(value, sum.value);
  }
  (void)session;
  std::string text;
  for (const auto& [line, value] : lines) {
    text += fmt::format("{} {}\n", line, value);
  }
  return text;
}

class JsonDump {
 public:
  explicit JsonDump(const Recording& recording) : recording_(recording), json_(buffer_) {}

  std::string Run() {
    const Profile& profile = *recording_.profile;
    json_.StartObject();
    Key("schema");
    Text("memtool.profile/1");
    Key("format");
    Text(recording_.metadata.format);
    Key("time_nanos");
    json_.Int64(recording_.metadata.time_nanos);
    Key("sample_types");
    json_.StartArray();
    for (const SampleType& type : profile.types) {
      json_.StartObject();
      Key("type");
      Text(recording_.Text(type.type));
      Key("unit");
      Text(recording_.Text(type.unit));
      json_.EndObject();
    }
    json_.EndArray();
    Key("frames");
    Frames();
    Key("samples");
    Samples(profile);
    json_.EndObject();
    return EscapeJson({buffer_.GetString(), buffer_.GetSize()});
  }

 private:
  void Text(std::string_view bytes) {
    const std::string text = ToUtf8(bytes);
    json_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void Key(std::string_view key) { Text(key); }

  // One entry per line of a location; samples refer to them by index.
  void Frames() {
    json_.StartArray();
    for (const Line& line : recording_.lines) {
      json_.StartObject();
      if (line.function.valid()) {
        const Function& function = recording_.functions[line.function.value()];
        Key("name");
        Text(recording_.Text(function.name));
        Key("file");
        Text(recording_.Text(function.filename));
        Key("line");
        json_.Int64(line.line);
      }
      json_.EndObject();
    }
    json_.EndArray();
  }

  void Samples(const Profile& profile) {
    json_.StartArray();
    for (std::size_t i = 0; i < profile.size(); ++i) {
      json_.StartObject();
      Key("values");
      json_.StartArray();
      for (const auto& column : profile.values) {
        json_.Int64(column[i]);
      }
      json_.EndArray();
      Key("frames");  // innermost first
      json_.StartArray();
      for (const LocationId id : recording_.Stack(profile.stacks[i])) {
        const Location& location = recording_.At(id);
        for (std::uint32_t k = 0; k < location.line_count; ++k) {
          json_.Uint(location.first_line + k);
        }
      }
      json_.EndArray();
      Key("labels");
      json_.StartArray();
      for (const Label& label : recording_.Labels(profile.label_sets[i])) {
        json_.StartObject();
        Key("key");
        Text(recording_.Text(label.key));
        Key("value");
        if (label.numeric) {
          json_.Int64(label.number);
          Key("unit");
          Text(recording_.Text(label.unit));
        } else {
          Text(recording_.Text(label.text));
        }
        json_.EndObject();
      }
      json_.EndArray();
      json_.EndObject();
    }
    json_.EndArray();
  }

  const Recording& recording_;
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> json_;
};

// Inputs minus bases as one recording.
Result<std::shared_ptr<const Recording>> Combined(Session& session, const ViewOptions& view,
                                                  const std::vector<std::string>& names,
                                                  const std::vector<std::string>& bases) {
  std::vector<std::shared_ptr<const Recording>> recordings;
  std::vector<std::string> all = names;
  all.insert(all.end(), bases.begin(), bases.end());
  auto done =
      session.ForEachRecording(all, [&](const std::string&, const auto& read) -> Result<void> {
        auto recording = RecordingAt(read, view.moment(), view.device());
        MEMTOOL_TRY(recording);
        recordings.push_back(*std::move(recording));
        return {};
      });
  MEMTOOL_TRY(done);
  if (!bases.empty() && recordings.size() != all.size()) {
    return Fail(ErrorCode::kIo, "a comparison needs both sides; an input was left out");
  }
  if (recordings.size() == 1) {
    return recordings.front();
  }
  std::vector<MergeInput> inputs;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    inputs.push_back({recordings[i].get(), i < names.size() || bases.empty() ? 1 : -1});
  }
  auto merged = Merge(inputs);
  MEMTOOL_TRY(merged);
  return std::make_shared<const Recording>(*std::move(merged));
}

class ConvertCommand : public Command {
 public:
  explicit ConvertCommand(bool merge) : merge_(merge) {}

  [[nodiscard]] Doc doc() const override {
    if (merge_) {
      return {.summary = "several profiles as one pprof file",
              .usage = "[options] FILE...",
              .examples =
                  "memtool merge -o all.pb.gz rank*.prof\n"
                  "memtool merge --diff-base memory1.prof -o grown.pb.gz memory9.prof"};
    }
    return {.summary = "write a profile as pprof, folded stacks or JSON",
            .usage = "--to FORMAT [options] [FILE...]",
            .examples =
                "memtool convert --to folded memory9.prof | flamegraph.pl > flame.svg\n"
                "memtool convert --to json -o memory9.json memory9.prof\n"
                "memtool convert --to pprof -o all.pb.gz rank*.prof"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options, false);
    po::options_description group("Conversion");
    auto add = group.add_options();
    if (!merge_) {
      add("to", po::value(&to_)->value_name("FORMAT"), "pprof, folded or json");
    }
    add("diff-base", po::value(&bases_)->value_name("FILE"), "subtract this input");
    add("output,o", po::value(&output_)->value_name("FILE"), "write to FILE instead of stdout");
    options.add(group);
    if (!merge_) {
      view_.Declare(options, ByOption{});
    }
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved : {input_.Resolve(), view_.Resolve()}) {
      MEMTOOL_TRY(resolved);
    }
    if (to_ != "pprof" && to_ != "folded" && to_ != "json") {
      return Fail(ErrorCode::kUsage,
                  to_.empty() ? "convert needs --to" : "--to: cannot write '" + to_ + "'",
                  "pprof, folded or json");
    }
    // A file that lacks what a filter hides would not say so.
    if (to_ != "folded" && view_.selects()) {
      return Fail(ErrorCode::kUsage,
                  "--to " + to_ +
                      " writes whole recordings: filters, --frames and --sample-index "
                      "work with --to folded only");
    }
    auto names = input_.Names(streams);
    MEMTOOL_TRY(names);
    Session session(input_, streams);
    auto recording = Combined(session, view_, *names, bases_);
    MEMTOOL_TRY(recording);
    auto bytes = Convert(session, *std::move(recording));
    MEMTOOL_TRY(bytes);
    session.Finish();
    MEMTOOL_TRY(WriteWholeFile(output_, *bytes, streams));
    return session.exit_code();
  }

 private:
  Result<std::string> Convert(const Session& session,
                              const std::shared_ptr<const Recording>& shared) const {
    const Recording& recording = *shared;
    if (!recording.profile) {
      return Fail(ErrorCode::kUnsupported, "the input holds no samples");
    }
    if (to_ == "pprof") {
      return formats::WritePprof(recording);
    }
    if (to_ == "json") {
      return JsonDump(recording).Run() + "\n";
    }
    auto loaded = Select(shared, {.filter = view_.filter(), .sample_type = view_.sample_index()});
    MEMTOOL_TRY(loaded);
    return Folded(session, *loaded);
  }

  bool merge_;
  InputOptions input_;
  ViewOptions view_;
  std::string to_ = merge_ ? "pprof" : "";
  std::vector<std::string> bases_;
  std::string output_ = "-";
};

}  // namespace

std::unique_ptr<Command> MakeConvert() {
  return std::make_unique<ConvertCommand>(false);
}
std::unique_ptr<Command> MakeMerge() {
  return std::make_unique<ConvertCommand>(true);
}

}  // namespace memtool::commands
