#include "timeline_writers/chrome_writer.h"

#include <fmt/format.h>

#include <array>

#include "memtool/profile/base/escape.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/label_text.h"
#include "support/json.h"
#include "timeline_writers/chunks.h"
#include "timeline_writers/export_model.h"
#include "timeline_writers/names.h"

namespace memtool::formats {

namespace {

constexpr ExportLimits kChromeLimits{
    .states = 1'200'000, .allocations = 0, .blocks = 200, .from_zero = true};
constexpr std::size_t kMarksPid = 0;

// A JSON string with its quotes.
std::string Quoted(std::string_view bytes) {
  const std::string text = ToUtf8(bytes);
  JsonBuffer buffer;
  JsonWriter json(buffer);
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  return EscapeJson({buffer.GetString(), buffer.GetSize()});
}

// Microseconds with three decimals, as text: a double would lose them.
std::string Micros(std::int64_t nanos) {
  constexpr std::int64_t kPerMicro = 1000;
  return nanos % kPerMicro == 0 ? fmt::format("{}", nanos / kPerMicro)
                                : fmt::format("{}.{:03}", nanos / kPerMicro, nanos % kPerMicro);
}

class ChromeSink final : public ExportSink {
 public:
  ChromeSink(const Recording& recording, const WriteOptions& options, Chunks& out)
      : recording_(recording), names_(recording, options), out_(out) {}

  void BeginTrace(const ExportTrace& trace) override {
    NameProcess(trace.number + 1, trace.name);
    counters_.clear();
    for (const ExportCounter& counter : trace.counters) {
      counters_.push_back(Quoted(counter.name));
    }
  }

  void Counter(const ExportTrace& trace, std::size_t counter, std::int64_t time,
               std::int64_t value) override {
    Event(fmt::format(R"({{"ph":"C","pid":{},"ts":{},"name":{},"args":{{"bytes":{}}}}})",
                      trace.number + 1, Micros(time), counters_[counter], value));
  }

  void Allocation(const ExportTrace& /*trace*/, const ExportBlock& /*block*/) override {}

  void Block(const ExportTrace& trace, std::size_t lane, const ExportBlock& block) override {
    std::string args = fmt::format(R"("bytes":{},"address":"{:#x}")", block.bytes, block.address);
    if (block.event) {
      args += fmt::format(R"(,"event":{})", *block.event);
    }
    if (block.freed) {
      args += fmt::format(R"(,"freed":{})", *block.freed);
    }
    const ExportName name = names_.Of(block.stack);
    if (!name.file.empty()) {
      args += ",\"file\":" + Quoted(name.file);
    }
    if (const auto labels = recording_.Labels(block.labels); !labels.empty()) {
      args += ",\"labels\":{" + MakeLabels(labels) + "}";
    }
    const std::string_view shown =
        !block.event && !block.stack.valid() ? kBeforeRecording : name.name;
    Slice({"largest blocks", trace.number + 1, lane}, block.begin, block.end,
          Quoted(fmt::format("{} {}", shown, FormatSize(block.bytes))), args);
  }

  void Mark(std::size_t lane, const ExportMark& mark) override {
    if (!marked_) {
      NameProcess(kMarksPid, "marks");
      marked_ = true;
    }
    std::string args = mark.device < 0 ? "" : fmt::format(R"("device":{})", mark.device);
    if (mark.out_of != ExportMark::kNone) {
      args += fmt::format(R"({}"bytes requested":{})", args.empty() ? "" : ",", mark.out_of);
    }
    if (mark.span) {
      Slice({"marks", kMarksPid, lane}, mark.begin, mark.end, Quoted(mark.name), args);
      return;
    }
    Event(fmt::format(R"({{"ph":"i","s":"g","pid":{},"tid":0,"ts":{},"name":{},"args":{{{}}}}})",
                      kMarksPid, Micros(mark.begin), Quoted(mark.name), args));
  }

 private:
  [[nodiscard]] std::string MakeLabels(std::span<const Label> labels) const {
    std::string text;
    for (const Label& label : labels) {
      text +=
          (text.empty() ? "" : ",") + Quoted(recording_.Text(label.key)) + ":" +
          (label.numeric ? fmt::format("{}", label.number) : Quoted(recording_.Text(label.text)));
    }
    return text;
  }

  void NameProcess(std::size_t pid, std::string_view name) {
    Event(fmt::format(R"({{"ph":"M","pid":{0},"name":"process_name","args":{{"name":{1}}}}})", pid,
                      Quoted(name)));
    Event(fmt::format(
        R"({{"ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}}}})", pid));
  }

  // Complete events nest by thread: a lane is one.
  struct Track {
    std::string_view category;
    std::size_t pid;
    std::size_t lane;
  };
  void Slice(const Track& track, std::int64_t begin, std::int64_t end, const std::string& name,
             const std::string& args) {
    Event(fmt::format(
        R"({{"ph":"X","cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"args":{{{}}}}})",
        track.category, track.pid, track.lane + 1, Micros(begin), Micros(end - begin), name, args));
  }

  void Event(const std::string& json) {
    out_.Add(first_ ? "\n" : ",\n");
    out_.Add(json);
    first_ = false;
  }

  const Recording& recording_;
  ExportNames names_;
  Chunks& out_;
  std::vector<std::string> counters_;  // quoted
  bool first_ = true;
  bool marked_ = false;
};

}  // namespace

std::span<const std::string_view> ChromeWriter::endings() const {
  static constexpr std::array<std::string_view, 1> kEndings{".json"};
  return kEndings;
}

Result<void> ChromeWriter::Write(const Recording& recording, const WriteOptions& options,
                                 const ByteSink& sink) const {
  const auto model = ExportModel::Of(recording, options, kChromeLimits);
  MEMTOOL_TRY(model);
  Chunks out(sink);
  std::string notes;
  for (const std::string& note : model->facts().notes) {
    notes += (notes.empty() ? "" : ",") + Quoted(note);
    if (options.note) {
      options.note(note);
    }
  }
  out.Add(fmt::format(R"({{"displayTimeUnit":"ns","otherData":{{"producer":"memtool","input":{},)"
                      R"("zero_nanoseconds":"{}","notes":[{}]}},"traceEvents":[)",
                      Quoted(recording.metadata.format_display), model->facts().zero, notes));
  ChromeSink drawn(recording, options, out);
  MEMTOOL_TRY(model->Draw(drawn));
  out.Add("\n]}\n");
  return out.Finish();
}

}  // namespace memtool::formats
