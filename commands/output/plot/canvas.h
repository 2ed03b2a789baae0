// A page to draw on: what the charts need from Cairo, in points (1/72 inch) from the upper left.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "output/plot/plot.h"

namespace memtool::commands {

inline constexpr double kPointsPerMm = 72.0 / 25.4;

struct Point {
  double x = 0;
  double y = 0;
};
struct Rect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};
struct Color {
  double red = 0;
  double green = 0;
  double blue = 0;
};
inline constexpr Color kInk{0.13, 0.13, 0.15};
inline constexpr Color kGrey{0.42, 0.42, 0.45};
inline constexpr Color kFaint{0.87, 0.87, 0.89};
inline constexpr Color kPaper{1, 1, 1};
inline constexpr Color kAlarm{0.75, 0.1, 0.1};

// How light a colour looks: 0 black, 1 white.
double Lightness(const Color& color);

enum class Hatch : std::uint8_t { kNone, kRising, kDots, kFalling, kLevel, kCross, kUpright };
struct Paint {
  Color color;
  Hatch hatch = Hatch::kNone;
  Color lines = kInk;  // of the hatch
};

struct Stroke {
  double width = 0.5;
  Color color = kInk;
  double dash = 0;  // length of dashes and gaps; 0 = solid
};

enum class Align : std::uint8_t { kLeft, kCenter, kRight };
struct TextStyle {
  double size = 7;
  bool bold = false;
  Color color = kInk;
  Align align = Align::kLeft;
};

class Canvas {
 public:
  // Before the first canvas; any number of times. Errors: kUnsupported where this program, or this
  // machine, has nothing to draw with.
  static Result<void> Prepare();
  // A page that only measures: nothing drawn on it is kept.
  static Canvas Measuring();
  Canvas(PlotFormat format, Point size);
  ~Canvas();
  Canvas(Canvas&&) noexcept;
  Canvas& operator=(Canvas&&) = delete;

  void Fill(const Rect& rect, const Paint& paint);
  // A closed polygon.
  void Fill(const std::vector<Point>& outline, const Paint& paint);
  void Outline(const Rect& rect, const Stroke& stroke);
  void Lines(const std::vector<Point>& points, const Stroke& stroke);
  // `at` is on the base line. The text must be UTF-8 that went through an escaper.
  void Text(const Point& at, std::string_view text, const TextStyle& style);
  [[nodiscard]] double Width(std::string_view text, const TextStyle& style) const;
  // The text, cut in the middle when it is wider than `width`.
  [[nodiscard]] std::string Elide(std::string_view text, double width,
                                  const TextStyle& style) const;
  // The finished file's bytes. Errors: kOutput when Cairo failed. Without any font
  // installed Cairo draws plain strokes of its own.
  Result<std::string> Finish();

 private:
  struct State;
  explicit Canvas(std::unique_ptr<State> state);
  void PaintPath(const Rect& bounds, const Paint& paint);

  std::unique_ptr<State> state_;
};

}  // namespace memtool::commands
