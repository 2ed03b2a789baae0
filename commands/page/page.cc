// memtool page, memtool report and memtool open: the page, with inputs inside or without.
#include <boost/program_options/value_semantic.hpp>
#include <string>
#include <vector>

#include "base/command.h"
#include "options/default_input.h"
#include "options/input_options.h"
#include "output/graph/browser.h"
#include "output/whole_file.h"
#include "page/data_blocks.h"
#include "page/page_file.h"

namespace memtool::commands {

namespace {

class PageCommandBase : public Command {
 public:
  enum class Kind { kEmpty, kReport, kBrowser };
  explicit PageCommandBase(Kind kind) : kind_(kind) {}

  void Declare(po::options_description& options) override {
    po::options_description group("Page");
    auto add = group.add_options();
    if (kind_ != Kind::kEmpty) {
      add("file", po::value(&files_)->value_name("FILE"),
          "an input; '-' is stdin (also as a plain argument)");
      add("diff-base", po::value(&bases_)->value_name("FILE"), "compare with this input");
      add("title", po::value(&title_)->value_name("TEXT"), "title of the page");
    }
    if (kind_ != Kind::kBrowser) {
      add("output,o", po::value(&output_)->value_name("FILE"), "write to FILE instead of stdout");
    }
    add("page", po::value(&page_)->value_name("FILE"),
        "the page in FILE instead of the one built in");
    options.add(group);
  }

  Result<ExitCode> Run(Streams& streams) override {
    if (kind_ != Kind::kBrowser && output_ == "-" && streams.out.TerminalWidth() > 0) {
      return Fail(ErrorCode::kUsage, "a page is not for a terminal", "-o FILE, or a pipe");
    }
    if (!page_.empty()) {
      streams.inputs.Add(page_);
    }
    auto page = LoadPage(page_);
    MEMTOOL_TRY(page);
    if (!title_.empty()) {
      SetTitle(*page, title_);
    }
    if (kind_ != Kind::kEmpty && files_.empty()) {
      auto found = DefaultInput(streams);
      MEMTOOL_TRY(found);
      streams.inputs.Add(*found);
      files_.push_back(*std::move(found));
    }
    std::vector<std::string> all = files_;
    all.insert(all.end(), bases_.begin(), bases_.end());
    MEMTOOL_TRY(CheckNames(all));
    auto inputs = OpenPageInputs(files_, bases_);
    MEMTOOL_TRY(inputs);
    const ByteProducer produce = [&](const ByteSink& byte_sink) -> Result<void> {
      MEMTOOL_TRY(byte_sink(page->before));
      for (PageInput& input : *inputs) {
        MEMTOOL_TRY(WriteDataBlock(input, byte_sink));
      }
      return byte_sink(page->after);
    };
    MEMTOOL_TRY(kind_ == Kind::kBrowser ? Show(produce, streams)
                                        : StreamWholeFile(output_, produce, streams));
    return ExitCode::kOk;
  }

 private:
  static Result<void> Show(const ByteProducer& produce, Streams& streams) {
    auto path = StreamTemporary(".html", produce);
    MEMTOOL_TRY(path);
    const std::string browser = OpenInBrowser(*path);
    streams.out.Write(VisibleText(*path).EndLine());
    if (browser.empty()) {
      Warn(streams, "found no browser to open; the page is in the file above");
    }
    return {};
  }

  Kind kind_;
  std::vector<std::string> files_;
  std::vector<std::string> bases_;
  std::string title_;
  std::string output_ = "-";
  std::string page_;
};

class PageCommand final : public PageCommandBase {
 public:
  PageCommand() : PageCommandBase(Kind::kEmpty) {}
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options]", .examples = "memtool page -o memtool.html"};
  }
};

class ReportCommand final : public PageCommandBase {
 public:
  ReportCommand() : PageCommandBase(Kind::kReport) {}
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool report -o report.html snapshot.pickle\n"
                "memtool report --diff-base memory1.prof -o grown.html memory9.prof"};
  }
};

class OpenCommand final : public PageCommandBase {
 public:
  OpenCommand() : PageCommandBase(Kind::kBrowser) {}
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool open snapshot.pickle\n"
                "memtool open --diff-base memory1.prof memory9.prof"};
  }
};

}  // namespace

std::unique_ptr<Command> MakePage() {
  return std::make_unique<PageCommand>();
}
std::unique_ptr<Command> MakeReport() {
  return std::make_unique<ReportCommand>();
}
std::unique_ptr<Command> MakeOpen() {
  return std::make_unique<OpenCommand>();
}

}  // namespace memtool::commands
