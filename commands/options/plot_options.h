// The picture that accompanies an answer: --plot and --plot-width.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <string>

#include "base/command.h"
#include "output/plot/plot.h"

namespace memtool::commands {

#ifdef __EMSCRIPTEN__  // a page draws with what a browser has
inline constexpr bool kDraws = false;
#else
inline constexpr bool kDraws = true;
#endif

class PlotOptions {
 public:
  // `help`: of --plot, what is drawn.
  void Declare(po::options_description_easy_init add, const char* help);
  // Errors: kUsage for an ending that is not a picture format, and for an invalid width.
  Result<void> Resolve();
  // True when a picture is wanted.
  [[nodiscard]] bool wanted() const { return kDraws && !path_.empty(); }
  // Errors: those of SavePlot.
  Result<void> Save(const BarChart& chart, Streams& streams) const;
  Result<void> Save(const AreaChart& chart, Streams& streams) const;

 private:
  std::string path_;
  std::string width_ = "178mm";
  PlotSize size_;
};

}  // namespace memtool::commands
