// memtool pprof: pprof's own command line and output, for fingers and scripts that know it.
#include "base/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <chrono>
#include <cstdlib>

#include "options/input_options.h"
#include "output/graph/browser.h"
#include "output/graph/layout.h"
#include "output/whole_file.h"
#include "pprof/load.h"
#include "pprof/report.h"

namespace memtool::commands {

namespace {

constexpr std::chrono::seconds kLayoutLimit{60};

struct Form {
  std::string_view report;
  std::string_view suffix;  // of a file that takes the place of a terminal; empty: text
  std::string_view layout;  // dot's name of the picture
};

constexpr std::array<Form, 9> kForms{{{"callgrind", "callgraph.out", ""},
                                      {"proto", "pb.gz", ""},
                                      {"topproto", "pb.gz", ""},
                                      {"svg", "svg", "svg"},
                                      {"web", "svg", "svg"},
                                      {"png", "png", "png"},
                                      {"gif", "gif", "gif"},
                                      {"pdf", "pdf", "pdf"},
                                      {"ps", "ps", "ps"}}};

Form GetForm(const std::string& report) {
  for (const Form& form : kForms) {
    if (form.report == report) {
      return form;
    }
  }
  return {};
}

// "profile001.svg": the first name that is free.
std::string FreeName(std::string_view suffix) {
  for (int i = 1;; ++i) {
    std::string name = fmt::format("profile{:03}.{}", i, suffix);
    if (::access(name.c_str(), F_OK) != 0) {
      return name;
    }
  }
}

class PprofCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "REPORT [options] FILE...",
            .examples =
                "memtool pprof -top memory9.prof\n"
                "memtool pprof -web -diff_base memory1.prof memory9.prof\n"
                "memtool pprof -peek train memory9.prof\n"
                "alias pprof='memtool pprof'"};
  }

  void Declare(po::options_description& options) override {
    std::string_view name;
    std::optional<po::options_description> group;
    for (const pprof::OptionHelp& option : pprof::OptionList()) {
      if (option.group != name) {
        if (group) {
          options.add(*group);
        }
        name = option.group;
        group.emplace(std::string(name));
      }
      const std::string option_name(option.name);
      const std::string text(option.text);
      if (option.value.empty()) {
        group->add_options()(option_name.c_str(), text.c_str());
      } else {
        group->add_options()(option_name.c_str(),
                             po::value<std::string>()->value_name(std::string(option.value)),
                             text.c_str());
      }
    }
    options.add(*group);
  }

  [[nodiscard]] Line line() const override { return Line::kOneDash; }

  std::optional<Result<void>> ParseRaw(std::span<const std::string> args) override {
    auto settings = pprof::ParseSettings(args);
    MEMTOOL_TRY(settings);
    settings_ = *std::move(settings);
    return Result<void>();
  }

  Result<ExitCode> Run(Streams& streams) override {
    const pprof::WarnUser warn = [&streams](std::string_view message) { Warn(streams, message); };
    for (const std::string& warning : settings_.warnings) {
      warn(warning);
    }
    for (const auto& names : {settings_.sources, settings_.bases}) {
      std::for_each(names.begin(), names.end(),
                    [&streams](const std::string& name) { streams.inputs.Add(name); });
    }
    std::vector<std::string> names = settings_.sources;
    names.insert(names.end(), settings_.bases.begin(), settings_.bases.end());
    MEMTOOL_TRY(CheckNames(names));
    auto profile = pprof::LoadProfile(settings_);
    MEMTOOL_TRY(profile);
    auto report = pprof::MakePprofReport(*std::move(profile), settings_, warn);
    MEMTOOL_TRY(report);
    MEMTOOL_TRY(Send(*report, GetForm(settings_.report), streams));
    return ExitCode::kOk;
  }

 private:
  Result<void> Send(pprof::PprofReport& report, const Form& form, Streams& streams) const {
    const bool whole = !pprof::IsLong(settings_.report);
    auto text = whole ? Whole(report, form) : Result<std::string>();
    MEMTOOL_TRY(text);
    if (settings_.output.empty() && settings_.report == "web") {
      return Show(*text, form, streams);
    }
    std::string path = settings_.output;
    if (path.empty() && !form.suffix.empty() && streams.out.TerminalWidth() > 0) {
      path = FreeName(form.suffix);
    }
    if (!path.empty()) {
      Warn(streams, "Generating report in " + path);
    }
    return StreamWholeFile(
        path.empty() ? "-" : path,
        [&](const ByteSink& byte_sink) {
          return whole ? byte_sink(*text) : pprof::WriteReport(report, byte_sink);
        },
        streams);
  }

  static Result<std::string> Whole(pprof::PprofReport& report, const Form& form) {
    std::string text;
    MEMTOOL_TRY(pprof::WriteReport(report, [&text](std::string_view bytes) {
      text += bytes;
      return Result<void>();
    }));
    return form.layout.empty() ? text : LayOut(text, std::string(form.layout), kLayoutLimit);
  }

  static Result<void> Show(const std::string& text, const Form& form, Streams& streams) {
    auto path = WriteTemporary("." + std::string(form.suffix), text);
    MEMTOOL_TRY(path);
    const std::string browser = OpenInBrowser(*path);
    Warn(streams, browser.empty()
                      ? fmt::format("no browser here; the graph is in {}", *path)
                      : fmt::format("{} shows the graph, which is in {}", browser, *path));
    return {};
  }

  pprof::Settings settings_;
};

}  // namespace

std::unique_ptr<Command> MakePprof() {
  return std::make_unique<PprofCommand>();
}

}  // namespace memtool::commands
