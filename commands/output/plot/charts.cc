#include "output/plot/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "memtool/profile/base/arithmetic.h"
#include "output/escape.h"

namespace memtool::commands {

namespace {

// From dark blue to pale green: even steps of lightness in print and for any kind of sight (after
// ColorBrewer's YlGnBu).
constexpr std::array<Color, 7> kRamp{{{0.075, 0.157, 0.404},
                                      {0.133, 0.290, 0.580},
                                      {0.118, 0.463, 0.710},
                                      {0.196, 0.627, 0.761},
                                      {0.404, 0.769, 0.749},
                                      {0.655, 0.867, 0.718},
                                      {0.890, 0.957, 0.757}}};
constexpr std::array<Hatch, 6> kHatches{Hatch::kRising, Hatch::kDots,    Hatch::kLevel,
                                        Hatch::kCross,  Hatch::kFalling, Hatch::kUpright};

Color Mix(const Color& a, const Color& b, double part) {
  const auto mix = [part](double from, double to) { return from + (to - from) * part; };
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

// 1, 2 or 5 times a power of ten, at least `rough`.
double RoundStep(double rough) {
  double step = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if (step * (1 + 1e-9) >= rough) {
      break;
    }
    step *= factor;
  }
  return step;
}

double GetBytes(SizeUnit unit) {
  return std::pow(1024.0, static_cast<int>(unit) - static_cast<int>(SizeUnit::kB));
}

std::int64_t GetHighest(const AreaPanel& panel) {
  std::int64_t highest = 0;
  for (std::size_t i = 0; i < panel.x.size(); ++i) {
    std::int64_t sum = 0;
    for (const AreaLayer& layer : panel.layers) {
      sum = SaturatingAdd(sum, layer.bytes[i]);
    }
    highest = std::max({highest, sum, panel.reserved.empty() ? 0 : panel.reserved[i]});
  }
  return highest;
}

}  // namespace

Paint GetFill(std::size_t index, std::size_t count) {
  const double place =
      count < 2 ? 0.25
                : static_cast<double>(std::min(index, count - 1)) / static_cast<double>(count - 1);
  const double at = place * (kRamp.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kRamp.size() - 2);
  Paint paint{.color = Mix(kRamp[low], kRamp[low + 1], at - static_cast<double>(low))};
  if (index % 2 == 1) {
    paint.hatch = kHatches[index / 2 % kHatches.size()];
    paint.lines =
        Lightness(paint.color) < 0.5 ? Mix(paint.color, kPaper, 0.6) : Mix(paint.color, kInk, 0.5);
  }
  return paint;
}

Paint FillOfOthers() {
  return {.color = {0.93, 0.93, 0.94}};
}

Paint FillOfUntrackable() {
  return {.color = kPaper, .hatch = Hatch::kRising, .lines = kGrey};
}

double DrawWrapped(std::string_view text, const Rect& area, const TextStyle& style,
                   Canvas& canvas) {
  constexpr std::string_view kBreak = " · ";
  std::string rest = EscapeText(text);
  double y = area.y;
  while (!rest.empty()) {
    std::size_t end = rest.size();
    while (canvas.Width(Shorten(std::string_view(rest).substr(0, end), 400), style) > area.width) {
      const std::size_t earlier = rest.rfind(kBreak, end == 0 ? 0 : end - 1);
      if (earlier == std::string::npos) {
        break;
      }
      end = earlier;
    }
    y += style.size + 1;
    canvas.Text({area.x, y}, canvas.Elide(std::string_view(rest).substr(0, end), area.width, style),
                style);
    rest = end == rest.size() ? std::string() : rest.substr(end + kBreak.size());
  }
  return y + 3;
}

double DrawTitle(std::string_view title, std::string_view subtitle, double width, Canvas& canvas) {
  double y = kMargin;
  const double room = width - 2 * kMargin;
  if (!title.empty()) {
    y += 9;
    canvas.Text({kMargin, y}, canvas.Elide(EscapeText(title), room, kTitle), kTitle);
    y += 3;
  }
  if (!subtitle.empty()) {
    y = DrawWrapped(subtitle, {kMargin, y, room, 0}, kSmall, canvas);
  }
  return y + 2;
}

std::string SizeAxis::Label(int tick) const {
  const double value = step * tick / GetBytes(unit);
  const double part = step / GetBytes(unit);
  int digits = 0;
  double scaled = part;
  while (digits < 3 && std::abs(scaled - std::round(scaled)) > 1e-6) {
    scaled *= 10;
    ++digits;
  }
  return fmt::format("{:.{}f}", value, digits);
}

std::string_view SizeAxis::UnitName() const {
  constexpr std::array<std::string_view, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  return kNames[static_cast<std::size_t>(unit) - static_cast<std::size_t>(SizeUnit::kB)];
}

std::vector<AxisTick> MakeTicks(AreaChart::Axis axis, std::int64_t first, std::int64_t last,
                                int at_most) {
  const double span = std::max(1.0, static_cast<double>(last) - static_cast<double>(first));
  const double step = std::max(1.0, RoundStep(span / at_most));
  const bool time = axis == AreaChart::Axis::kNanoseconds;
  constexpr std::array<std::pair<double, std::string_view>, 4> kUnits{
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end() - 1,
                                  [step](const auto& u) { return u.first <= step * 10; });
  std::vector<AxisTick> ticks;
  const double from = std::ceil(static_cast<double>(first) / step);
  const auto count = static_cast<int>(std::floor(static_cast<double>(last) / step) - from) + 1;
  for (int i = 0; i < count; ++i) {
    const double at = (from + i) * step;
    const auto value = static_cast<std::int64_t>(std::llround(at));
    const int digits = step < unit->first ? 1 : 0;
    ticks.push_back({value, time ? fmt::format("{:.{}f} {}", at / unit->first, digits, unit->second)
                                 : FormatCount(value)});
  }
  return ticks;
}

std::vector<SizeAxis> GetAxes(const AreaChart& chart, int at_most) {
  std::vector<std::int64_t> highest;
  highest.reserve(chart.panels.size());
  for (const AreaPanel& panel : chart.panels) {
    highest.push_back(GetHighest(panel));
  }
  if (chart.same_scale && !highest.empty()) {
    std::fill(highest.begin(), highest.end(), *std::max_element(highest.begin(), highest.end()));
  }
  std::vector<SizeAxis> axes;
  axes.reserve(highest.size());
  for (const std::int64_t most : highest) {
    axes.push_back(MakeSizeAxis(static_cast<double>(most), chart.unit, at_most));
  }
  return axes;
}

bool ScalesDiffer(const std::vector<SizeAxis>& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&axes](const SizeAxis& axis) { return axis.top() != axes.front().top(); });
}

SizeAxis MakeSizeAxis(double highest, SizeUnit unit, int at_most) {
  SizeAxis axis;
  constexpr double kMaxValue = 9e18;
  highest = std::clamp(highest, 1.0, kMaxValue);
  axis.unit = unit == SizeUnit::kAuto ? UnitFor(static_cast<std::int64_t>(highest)) : unit;
  const double scale = GetBytes(axis.unit);
  double step = RoundStep(highest / scale / at_most);
  if (axis.unit == SizeUnit::kB) {
    step = std::max(step, 1.0);
  }
  axis.step = step * scale;
  axis.count = std::max(1, static_cast<int>(std::ceil(highest / axis.step - 1e-9)));
  return axis;
}

double SizeAxisWidth(const SizeAxis& axis, const Canvas& canvas) {
  double widest = canvas.Width(axis.UnitName(), kSmall);
  for (int tick = 0; tick <= axis.count; ++tick) {
    widest = std::max(widest, canvas.Width(axis.Label(tick), kSmall));
  }
  return widest + 4;
}

void DrawSizeAxis(const SizeAxis& axis, const Rect& plot, Canvas& canvas) {
  TextStyle style = kSmall;
  style.align = Align::kRight;
  for (int tick = 0; tick <= axis.count; ++tick) {
    const double y = plot.y + plot.height * (1 - static_cast<double>(tick) / axis.count);
    canvas.Lines({{plot.x, y}, {plot.x + plot.width, y}},
                 {.width = tick == 0 ? 0.7 : 0.4, .color = tick == 0 ? kInk : kFaint});
    canvas.Text({plot.x - 3, y + 2.3}, axis.Label(tick), style);
  }
  canvas.Text({plot.x - 3, plot.y - 7}, axis.UnitName(), style);
}

std::vector<double> Spread(std::vector<double> wanted, double distance, double low, double high) {
  // Apart from the distances it is an isotonic regression: neighbours that conflict share their
  // mean.
  struct Group {
    double sum = 0;
    std::size_t count = 0;
    [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Group> groups;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    groups.push_back({wanted[i] - distance * static_cast<double>(i), 1});
    while (groups.size() > 1 && groups[groups.size() - 2].mean() > groups.back().mean()) {
      const Group last = groups.back();
      groups.pop_back();
      groups.back().sum += last.sum;
      groups.back().count += last.count;
    }
  }
  const double span = wanted.empty() ? 0 : distance * static_cast<double>(wanted.size() - 1);
  std::size_t i = 0;
  for (const Group& group : groups) {
    const double place = std::max(low, std::min(group.mean(), high - span));
    for (std::size_t k = 0; k < group.count; ++k, ++i) {
      wanted[i] = place + distance * static_cast<double>(i);
    }
  }
  return wanted;
}

}  // namespace memtool::commands
