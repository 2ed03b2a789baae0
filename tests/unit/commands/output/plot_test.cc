// Charts as files. How they look is for the eye; checked here: the files are complete, the same on
// every run, and contain no raw byte of a name; labels do not overlap, axes cover what they must.
#include "output/plot/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "output/escape.h"
#include "output/plot/charts.h"
#include "output/plot/text_plot.h"

namespace memtool::commands {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::int64_t kGiB = std::int64_t{1} << 30U;
using Style = BarSegment::Style;

class PlotFile : public ::testing::Test {
 protected:
  PlotFile()
      : folder_(std::filesystem::path(testing::TempDir()) / ("plot" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~PlotFile() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string Read(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  template <class Chart>
  std::string Save(const Chart& chart, const std::string& name, double width = 84) {
    const auto saved = SavePlot(chart, Path(name), {width}, streams_);
    EXPECT_TRUE(saved) << ToString(saved.error());
    return Read(name);
  }
  [[nodiscard]] std::size_t FileCount() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_),
                                                  std::filesystem::directory_iterator{}));
  }

  StringSink out_;
  Streams streams_{.out = out_, .err = out_};

 private:
  std::filesystem::path folder_;
};

BarChart Bars(std::size_t inputs, std::size_t categories) {
  BarChart chart{.title = "<script>alert(1)</script>", .subtitle = std::string(300, 'x')};
  for (const char* title : {"Layer", "\xff\x01 & <b>"}) {
    BarPanel panel{.title = title};
    for (std::size_t i = 0; i < inputs; ++i) {
      StackedBar bar{.name = "input \u202e" + std::string(i * 40, 'n')};
      for (std::size_t c = 0; c < categories; ++c) {
        bar.segments.push_back(
            {"<script>" + std::to_string(c), kGiB / static_cast<std::int64_t>(c * c + 1)});
      }
      bar.segments.push_back({"Others", kGiB / 7, Style::kOthers});
      bar.segments.push_back({"Untrackable", i % 2 == 0 ? kGiB / 3 : -kGiB, Style::kUntrackable});
      panel.bars.push_back(bar);
    }
    chart.panels.push_back(panel);
  }
  return chart;
}

AreaChart Areas() {
  AreaChart chart{.title = "run"};
  AreaPanel panel{.title = "device 0", .x = {-1, 4, 9}, .x_end = 12};
  panel.layers = {{.name = "before", .bytes = {10, 10, 5}, .style = Style::kUntrackable},
                  {.name = "f\n</svg>", .bytes = {0, 20, 30}},
                  {.name = "rest", .bytes = {0, 0, 1}, .style = Style::kOthers}};
  panel.reserved = {40, 40, 64};
  panel.marks = {{"step", 0, false}, {"OOM", 9, true}};
  chart.panels = {panel, panel};
  return chart;
}

TEST_F(PlotFile, HasTheFormOfItsName) {
  EXPECT_THAT(Save(Bars(1, 3), "a.svg"), StartsWith("<?xml"));
  EXPECT_THAT(Save(Bars(1, 3), "a.png"), StartsWith("\x89PNG"));
  EXPECT_THAT(Save(Bars(1, 3), "a.pdf"), StartsWith("%PDF"));
  EXPECT_THAT(Save(Areas(), "b.svg"), StartsWith("<?xml"));
}

TEST_F(PlotFile, IsTheSameOnEveryRun) {
  for (const char* ending : {".svg", ".png", ".pdf"}) {
    const std::string first = Save(Bars(3, 5), std::string("first") + ending);
    EXPECT_TRUE(first == Save(Bars(3, 5), std::string("second") + ending)) << ending;
    const std::string area = Save(Areas(), std::string("third") + ending);
    EXPECT_TRUE(area == Save(Areas(), std::string("fourth") + ending)) << ending;
  }
}

TEST_F(PlotFile, HoldsNoByteOfAName) {
  for (const std::size_t inputs : {1U, 4U}) {
    for (const std::size_t categories : {1U, 12U}) {
      for (const double width : {40.0, 84.0, 178.0}) {
        const std::string svg = Save(Bars(inputs, categories), "bars.svg", width);
        EXPECT_THAT(svg, Not(HasSubstr("script")));
        EXPECT_THAT(svg, HasSubstr("</svg>"));
      }
    }
  }
}

TEST_F(PlotFile, NothingToDrawIsAPageToo) {
  EXPECT_THAT(Save(BarChart{}, "none.svg"), HasSubstr("</svg>"));
  EXPECT_THAT(Save(AreaChart{}, "none.png"), StartsWith("\x89PNG"));
  BarChart zero{.panels = {{.title = "axis", .bars = {{.segments = {{"a", 0}}}}}}};
  EXPECT_THAT(Save(zero, "zero.svg"), HasSubstr("</svg>"));
}

TEST_F(PlotFile, HugeSizesDoNotWrap) {
  BarChart chart{.panels = {{.bars = {{.segments = {{"a", INT64_MAX}, {"b", INT64_MAX}}},
                                      {.segments = {{"a", INT64_MIN}}}}}}};
  EXPECT_THAT(Save(chart, "huge.svg"), HasSubstr("</svg>"));
}

TEST_F(PlotFile, OtherEndingsAreUsageErrors) {
  for (const char* name : {"a.gif", "a", "a.svg.gz", "svg"}) {
    const auto saved = SavePlot(Bars(1, 1), Path(name), {}, streams_);
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().code, ErrorCode::kUsage);
    EXPECT_THAT(saved.error().message, HasSubstr(".svg, .png or .pdf"));
  }
  EXPECT_EQ(FileCount(), 0U);
}

TEST_F(PlotFile, IsNoInput) {
  Save(Bars(1, 1), "input.svg");
  const std::string before = Read("input.svg");
  streams_.inputs.Add(Path("input.svg"));
  const auto saved = SavePlot(Bars(2, 2), Path("input.svg"), {}, streams_);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kUsage);
  EXPECT_EQ(Read("input.svg"), before);
}

TEST_F(PlotFile, NothingIsLeftOfAFailure) {
  const auto saved = SavePlot(Bars(1, 1), Path("nowhere/a.svg"), {}, streams_);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kOutput);
  EXPECT_EQ(FileCount(), 0U);
}

TEST(PlotWidth, IsReadInThreeUnits) {
  EXPECT_DOUBLE_EQ(ParsePlotWidth("84mm")->width_mm, 84);
  EXPECT_DOUBLE_EQ(ParsePlotWidth("84")->width_mm, 84);
  EXPECT_DOUBLE_EQ(ParsePlotWidth("8.4cm")->width_mm, 84);
  EXPECT_DOUBLE_EQ(ParsePlotWidth("7in")->width_mm, 177.8);
  for (const char* wrong : {"", "mm", "84px", "39", "1001", "-84", "nan", "inf", "1e300"}) {
    EXPECT_FALSE(ParsePlotWidth(wrong)) << wrong;
  }
}

TEST(Spread, KeepsOrderDistanceAndBounds) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> any(0, 100);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> wanted(1 + random() % 10);
    for (double& centre : wanted) {
      centre = any(random);
    }
    std::sort(wanted.begin(), wanted.end());
    const auto placed = Spread(wanted, 10, 0, 100);
    EXPECT_GE(placed.front(), 0);
    EXPECT_LE(placed.back(), 100 + 1e-9);
    for (std::size_t i = 1; i < placed.size(); ++i) {
      EXPECT_GE(placed[i] - placed[i - 1], 10 - 1e-9);
    }
  }
}

TEST(Spread, LeavesAloneWhatDoesNotConflict) {
  EXPECT_EQ(Spread({5, 20, 80}, 10, 0, 100), (std::vector<double>{5, 20, 80}));
  EXPECT_EQ(Spread({50, 50}, 10, 0, 100), (std::vector<double>{45, 55}));
}

TEST(SizeAxis, ReachesTheHighestInRoundSteps) {
  for (const std::int64_t highest :
       {std::int64_t{1}, std::int64_t{999}, 3 * kGiB + 7, 23 * kGiB, std::int64_t{INT64_MAX}}) {
    const SizeAxis axis = MakeSizeAxis(static_cast<double>(highest), SizeUnit::kAuto, 5);
    EXPECT_GE(axis.top() * (1 + 1e-6), static_cast<double>(highest));
    EXPECT_LE(axis.count, 5);
    EXPECT_GE(axis.count, 1);
  }
  const SizeAxis axis = MakeSizeAxis(static_cast<double>(22 * kGiB), SizeUnit::kAuto, 5);
  EXPECT_EQ(axis.Label(axis.count), "25");
  EXPECT_EQ(axis.UnitName(), "GiB");
}

TEST(Fills, NeighboursDifferWithoutColour) {
  for (const std::size_t count : {2U, 3U, 8U, 12U, 24U}) {
    for (std::size_t i = 1; i < count; ++i) {
      const Paint a = GetFill(i - 1, count);
      const Paint b = GetFill(i, count);
      EXPECT_NE(a.hatch, b.hatch);
      EXPECT_GT(Lightness(b.color), Lightness(a.color));
    }
  }
}

TEST(TextPlotTest, NoLineIsWiderThanAskedAndNoControlBytes) {
  for (const std::size_t width : {20U, 80U, 200U}) {
    std::istringstream lines(TextPlot(Areas(), {.width = width}).str());
    std::string line;
    while (std::getline(lines, line)) {
      EXPECT_LE(DisplayWidth(line), width) << line;
      EXPECT_EQ(line, EscapeText(line));
    }
  }
}

// A device with little memory stays readable next to one with much.
TEST(TextPlotTest, EachDeviceHasItsOwnScale) {
  AreaChart chart;
  for (const std::int64_t bytes : {std::int64_t{3} << 30, std::int64_t{3} << 20}) {
    AreaPanel panel{.title = "device", .x = {0}, .x_end = 9};
    panel.layers = {{.name = "live", .bytes = {bytes}}};
    chart.panels.push_back(panel);
  }
  const std::string own = TextPlot(chart, {.width = 60}).str();
  EXPECT_THAT(own, HasSubstr("3 GiB ┤"));
  EXPECT_THAT(own, HasSubstr("3 MiB ┤"));
  EXPECT_THAT(own, HasSubstr("each device has its own scale (--same-scale)"));
  chart.same_scale = true;
  const std::string same = TextPlot(chart, {.width = 60}).str();
  EXPECT_THAT(same, testing::Not(HasSubstr("MiB")));
  EXPECT_THAT(same, testing::Not(HasSubstr("own scale")));
}

TEST(TextPlotTest, HighestPointOfAColumnIsShown) {
  AreaChart chart;
  AreaPanel panel{.x_end = 999};
  AreaLayer live{.name = "live"};
  for (std::int64_t i = 0; i < 1000; ++i) {
    panel.x.push_back(i);
    live.bytes.push_back(i == 501 ? 1000 : 10);
  }
  panel.layers = {live};
  chart.panels = {panel};
  const std::string text = TextPlot(chart, {.width = 60}).str();
  const std::string top = text.substr(0, text.find('\n'));
  EXPECT_THAT(top, HasSubstr("1000 B"));
  EXPECT_THAT(top, HasSubstr("█"));
}

}  // namespace
}  // namespace memtool::commands
