// Colours are read on the backgrounds that they are for, and no two are taken for each other.
#include "output/text/palette.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace memtool::commands {
namespace {

using Vector = std::array<double, 3>;

// Of xterm's 256: a cube of 216 and 24 greys, as fractions.
Vector Rgb(int color) {
  if (color >= 232) {
    const double grey = (8 + 10.0 * (color - 232)) / 255;
    return {grey, grey, grey};
  }
  constexpr std::array<int, 6> kSteps{0, 95, 135, 175, 215, 255};
  const auto at = static_cast<std::size_t>(color - 16);
  return {kSteps[at / 36] / 255.0, kSteps[at / 6 % 6] / 255.0, kSteps[at % 6] / 255.0};
}

Vector Linear(int color) {
  Vector rgb = Rgb(color);
  for (double& part : rgb) {
    part = part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  }
  return rgb;
}

// WCAG 2.1: relative luminance and contrast ratio.
double Luminance(int color) {
  const Vector rgb = Linear(color);
  return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
}

double Contrast(int color, double background) {
  const double here = Luminance(color);
  return (std::max(here, background) + 0.05) / (std::min(here, background) + 0.05);
}

using Matrix = std::array<Vector, 3>;
constexpr Matrix kNormal{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
// Machado, Oliveira and Fernandes 2009: dichromats.
constexpr Matrix kWithoutGreen{
    {{0.367, 0.861, -0.228}, {0.280, 0.673, 0.047}, {-0.012, 0.043, 0.969}}};
constexpr Matrix kWithoutRed{
    {{0.152, 1.053, -0.205}, {0.115, 0.786, 0.099}, {-0.004, -0.048, 1.052}}};

// CIELAB for D65, of what such eyes see.
Vector Lab(int color, const Matrix& eyes) {
  const Vector rgb = Linear(color);
  Vector seen{};
  for (std::size_t i = 0; i < 3; ++i) {
    seen[i] = eyes[i][0] * rgb[0] + eyes[i][1] * rgb[1] + eyes[i][2] * rgb[2];
  }
  const auto root = [](double part) {
    part = std::max(part, 0.0);
    return part > 0.008856 ? std::cbrt(part) : 7.787 * part + 16.0 / 116;
  };
  const double x = root((0.4124 * seen[0] + 0.3576 * seen[1] + 0.1805 * seen[2]) / 0.9505);
  const double y = root(0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]);
  const double z = root((0.0193 * seen[0] + 0.1192 * seen[1] + 0.9505 * seen[2]) / 1.089);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double Distance(int one, int other, const Matrix& eyes) {
  const Vector a = Lab(one, eyes);
  const Vector b = Lab(other, eyes);
  return std::sqrt(std::pow(a[0] - b[0], 2) + std::pow(a[1] - b[1], 2) + std::pow(a[2] - b[2], 2));
}

std::vector<Ink> Inks() {
  std::vector<Ink> inks{Ink::kGrew, Ink::kShrank, Ink::kBefore, Ink::kRest};
  for (std::size_t i = 0; i < kSeriesInks; ++i) {
    inks.push_back(SeriesInk(i));
  }
  return inks;
}

constexpr double kWhite = 1;
constexpr double kBlack = 0;
const double kDarkGrey = Luminance(234);  // #1c1c1c, as editors have it

TEST(Palette, IsReadOnItsBackgrounds) {
  for (const Ink ink : Inks()) {
    const int any = Palette(Theme::kAny)[ink];
    EXPECT_GE(Contrast(any, kWhite), 3) << any;
    EXPECT_GE(Contrast(any, kBlack), 3) << any;
    const int dark = Palette(Theme::kDark)[ink];
    EXPECT_GE(Contrast(dark, kDarkGrey), 4.5) << dark;
    const int light = Palette(Theme::kLight)[ink];
    EXPECT_GE(Contrast(light, kWhite), 4.5) << light;
  }
}

TEST(Palette, ColorsAreToldApart) {
  for (const Theme theme : {Theme::kAny, Theme::kDark, Theme::kLight}) {
    const Palette palette(theme);
    for (std::size_t i = 0; i < kSeriesInks; ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        const int one = palette[SeriesInk(i)];
        const int other = palette[SeriesInk(k)];
        EXPECT_GE(Distance(one, other, kNormal), 20) << one << " and " << other;
      }
    }
    for (const Matrix& eyes : {kNormal, kWithoutGreen, kWithoutRed}) {
      EXPECT_GE(Distance(palette[Ink::kGrew], palette[Ink::kShrank], eyes), 20);
    }
  }
}

TEST(Palette, HasNoColorsUnlessItIsOfATheme) {
  EXPECT_FALSE(Palette());
  for (const Ink ink : Inks()) {
    EXPECT_EQ(Palette()[ink], kNoColor);
  }
  EXPECT_EQ(Palette(Theme::kDark)[Ink::kNone], kNoColor);
  EXPECT_EQ(SeriesInk(kSeriesInks), SeriesInk(0));
}

}  // namespace
}  // namespace memtool::commands
