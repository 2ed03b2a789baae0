// memtool flame: what holds memory, as a flame graph.
#include "memtool/profile/answers/flame.h"

#include <fmt/format.h>

#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "base/command.h"
#include "flame/flame_picture.h"
#include "memtool/profile/answers/write.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/rows/table.h"
#include "next/next.h"
#include "options/input_options.h"
#include "options/keywords_option.h"
#include "options/view_options.h"
#include "output/text/ascii.h"
#include "output/whole_file.h"
#include "rows/rows.h"
#include "session/input_reader.h"
#include "session/programs.h"
#include "words/choice.h"
#include "words/known_words.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr double kUsualShare = 0.0005;  // half a pixel of a wide window

enum class FlameFormat : std::uint8_t { kSvg, kText, kFolded, kJson, kJsonl, kCsv };
constexpr std::array<Choice<FlameFormat>, 6> kFormats{{{"svg", FlameFormat::kSvg},
                                                       {"text", FlameFormat::kText},
                                                       {"folded", FlameFormat::kFolded},
                                                       {"json", FlameFormat::kJson},
                                                       {"jsonl", FlameFormat::kJsonl},
                                                       {"csv", FlameFormat::kCsv}}};

class FlameCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool flame memory9.prof\n"
                "memtool flame -o flame.svg memory9.prof\n"
                "memtool flame --diff-base memory1.prof -o growth.svg memory9.prof\n"
                "memtool flame --at peak --format folded snapshot.pickle",
            .often = "output up diff-base"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options);
    view_.Declare(options, ByOption{});
    po::options_description group("Flame graph");
    auto add = group.add_options();
    add("by", ToValue(&by_text_, ByWords(Rows::kFrames))->value_name("WHAT"),
        "frames: function, filefunction (default), line, file or module");
    add("diff-base", po::value(&bases_)->value_name("FILE"), "compare with this input");
    view_.DeclareBase(group);
    add("buckets", po::bool_switch(&buckets_), "in data: which category most of each frame is of");
    keywords_.Declare(add);
    add("up", po::bool_switch(&up_), "callees above their callers, the root at the bottom");
    add("min-share",
        po::value(&share_)->value_name("F")->notifier([this](double) { has_share_ = true; }),
        "frames below this part of the whole are one, (smaller); 0 = all (default 0.0005; folded "
        "stacks have all)");
    add("format", ToValue(&format_text_, ToWords(kFormats))->value_name("FORMAT"),
        "text, svg, folded, json, jsonl or csv (default: by the ending of FILE, else text)");
    add("output,o", po::value(&output_)->value_name("FILE"), "write to FILE instead of stdout");
    options.add(group);
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved :
         {input_.Resolve(), view_.Resolve(), keywords_.Resolve(), ResolveFrames(streams)}) {
      MEMTOOL_TRY(resolved);
    }
    if (auto code = view_.PrintInstead(streams)) {
      return *std::move(code);
    }
    auto sides = GetSides(input_, bases_, false, streams);
    MEMTOOL_TRY(sides);
    bases_ = sides->bases;
    InputReader input_reader(input_, streams);
    MEMTOOL_TRY(Answer(input_reader, sides->BasesFirst()));
    input_reader.Finish();
    const bool data = format_ == FlameFormat::kJson || format_ == FlameFormat::kJsonl ||
                      format_ == FlameFormat::kCsv;
    if (streams.on_answer && data) {
      streams.on_answer(MakeView(answer_), 0);
      return input_reader.exit_code();
    }
    MEMTOOL_TRY(data ? WriteData(streams)
                     : WriteWholeFile(output_, Picture(input_reader, streams), streams));
    return input_reader.exit_code();
  }

 private:
  [[nodiscard]] unsigned Width(const Streams& streams) const {
    constexpr unsigned kUsual = 80;
    const unsigned width = output_ == "-" ? streams.out.TerminalWidth() : 0;
    return width > 0 ? width : kUsual;
  }

  [[nodiscard]] FlameFormat FormatOfOutput() const {
    constexpr std::array<Choice<FlameFormat>, 6> kEndings{{{".txt", FlameFormat::kText},
                                                           {".folded", FlameFormat::kFolded},
                                                           {".json", FlameFormat::kJson},
                                                           {".jsonl", FlameFormat::kJsonl},
                                                           {".csv", FlameFormat::kCsv},
                                                           {".svg", FlameFormat::kSvg}}};
    for (const auto& ending : kEndings) {
      if (output_.ends_with(ending.word)) {
        return ending.value;
      }
    }
    return FlameFormat::kText;
  }

  Result<void> ResolveFrames(const Streams& streams) {
    if (format_text_.empty()) {
      format_ = FormatOfOutput();
    } else {
      auto format = Choose("--format", format_text_, kFormats);
      MEMTOOL_TRY(format);
      format_ = *format;
    }
    auto by = ParseBy(by_text_);
    MEMTOOL_TRY(by);
    if (by->kind != By::Kind::kFrame) {
      return Fail(ErrorCode::kUsage, "--by: a flame graph cannot have '" + by_text_ + "' as frames",
                  "function, filefunction, line, file or module");
    }
    query_.granularity = by->granularity;
    if (!(share_ >= 0 && share_ <= 1)) {
      return Fail(ErrorCode::kUsage, "--min-share: not a part of the whole",
                  "give 0 to 1, such as 0.001");
    }
    if (format_ != FlameFormat::kFolded) {  // which has every stack and byte
      query_.depth = input_.rows().value_or(0);
      // What has less than half a cell could not be distinguished from what is not there.
      const double usual = format_ == FlameFormat::kText ? 0.5 / Width(streams) : kUsualShare;
      query_.min_share = has_share_ ? share_ : usual;
    }
    return {};
  }

  Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& all) {
    auto loaded = SelectAll(input_reader, all, view_, bases_.size());
    MEMTOOL_TRY(loaded);
    if (!bases_.empty() && loaded->size() != all.size()) {
      return Fail(ErrorCode::kIo, "a comparison needs both sides; an input was left out");
    }
    const auto middle = loaded->begin() + static_cast<std::ptrdiff_t>(bases_.size());
    const std::vector<Selection> inputs(std::make_move_iterator(middle),
                                        std::make_move_iterator(loaded->end()));
    loaded->erase(middle, loaded->end());
    if (buckets_ || keywords_.given()) {
      auto keywords = keywords_.For(inputs.front().source());
      MEMTOOL_TRY(keywords);
      query_.keywords = *keywords;
    }
    answer_ = Flame(*loaded, inputs, query_);
    answer_.head = input_reader.Head("flame");
    return {};
  }

  [[nodiscard]] std::string Picture(const InputReader& input_reader, const Streams& streams) const {
    const FlameStyle style{
        .head = Head(input_reader),
        .amount = [&](std::int64_t value) { return AmountText(input_reader, value); },
        .changed = [&](std::int64_t value) { return AmountText(input_reader, value, true); },
        .up = up_,
        .width = Width(streams),
        .palette = format_ == FlameFormat::kText ? streams.look.PaletteFor(output_) : Palette()};
    if (format_ == FlameFormat::kSvg) {
      return FlameSvg(answer_, style);
    }
    if (format_ == FlameFormat::kFolded) {
      return FlameFolded(answer_);
    }
    const std::string text =
        FlameText(answer_, style).str() + NextLines(MakeView(answer_), streams, Width(streams));
    return streams.look.ascii ? ToAscii(text) : text;
  }

  Result<void> WriteData(Streams& streams) const {
    return StreamWholeFile(
        output_,
        [this](const ByteSink& byte_sink) {
          CallbackSink out(byte_sink);
          const TextSink sink = [&out](std::string_view bytes) { out.WriteBytes(bytes); };
          if (format_ == FlameFormat::kJson) {
            memtool::WriteJson(MakeView(answer_), 0, sink);
          } else if (format_ == FlameFormat::kJsonl) {
            memtool::WriteJsonLines(MakeView(answer_), 0, sink);
          } else {
            memtool::WriteCsv(MakeView(answer_), 0, sink);
          }
          return out.Flush();
        },
        streams);
  }

  [[nodiscard]] std::vector<std::string> Head(const InputReader& input_reader) const {
    std::vector<std::string> head;
    const std::string_view what = input_reader.type_word();
    if (answer_.difference) {
      const auto& notes = input_reader.notes();
      head.push_back(fmt::format("{} compared with {}", notes[bases_.size()].path, notes[0].path));
      head.push_back(fmt::format(
          "{} {} → {} ({})", what, AmountText(input_reader, answer_.base_total),
          AmountText(input_reader, answer_.total),
          AmountText(input_reader, SaturatingSubtract(answer_.total, answer_.base_total), true)));
      head.back() += " · widths: the larger of both sides";
    } else {
      head.push_back(fmt::format("{} · {} {}", InputsText(input_reader), what,
                                 AmountText(input_reader, answer_.total)));
    }
    const auto& moments = input_reader.moment_lines();
    head.insert(head.end(), moments.begin(), moments.end());
    if (const std::string filters = view_.Describe(); !filters.empty()) {
      head.push_back("filters: " + filters);
    }
    if (answer_.frames_left_out > 0) {
      head.push_back(fmt::format("{} not drawn (--min-share 0 -n 0 draws all)",
                                 Counted(answer_.frames_left_out, "frame")));
    }
    return head;
  }

  InputOptions input_;
  ViewOptions view_;
  std::string by_text_ = "filefunction";
  std::vector<std::string> bases_;
  bool up_ = false;
  bool buckets_ = false;
  KeywordsOption keywords_;
  double share_ = 0;
  bool has_share_ = false;
  std::string format_text_;
  FlameFormat format_ = FlameFormat::kSvg;
  std::string output_ = "-";
  FlameQuery query_;
  FlameAnswer answer_;
};

}  // namespace

std::unique_ptr<Command> MakeFlame() {
  return std::make_unique<FlameCommand>();
}

}  // namespace memtool::commands
