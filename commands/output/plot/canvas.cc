// The only file that draws with Cairo.
#include "output/plot/canvas.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>
#include <vector>

#include "output/escape.h"
#include "output/plot/cairo_library.h"
#include "output/plot/embedded_font.h"

namespace memtool::commands {

namespace {

constexpr double kPngScale = 300.0 / 72.0;  // journals ask for 300 dpi
constexpr double kHatchStep = 3.2;

// Nothing may be thrown through Cairo, which holds locks and calls this from destructors as well.
cairo_status_t Append(void* closure, const unsigned char* data, unsigned length) {
  try {
    static_cast<std::string*>(closure)->append(
        data, data + length);  // chars from unsigned chars, value by value
  } catch (const std::bad_alloc&) {
    return CAIRO_STATUS_NO_MEMORY;
  }
  return CAIRO_STATUS_SUCCESS;
}

void SetColor(cairo_t* cairo, const Color& color) {
  cairo::set_source_rgb(cairo, color.red, color.green, color.blue);
}

void SetStroke(cairo_t* cairo, const Stroke& stroke) {
  SetColor(cairo, stroke.color);
  cairo::set_line_width(cairo, stroke.width);
  if (stroke.dash > 0) {
    cairo::set_dash(cairo, &stroke.dash, 1, 0);
  } else {
    cairo::set_dash(cairo, nullptr, 0, 0);
  }
}

void SetFont(cairo_t* cairo, const TextStyle& style) {
  if (cairo_font_face_t* const face = EmbeddedFont(style.bold); face != nullptr) {
    cairo::set_font_face(cairo, face);
  } else {
    cairo::select_font_face(cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                            style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  }
  cairo::set_font_size(cairo, style.size);
}

// Places `step` apart in [from, to), beginning `offset` after a multiple of it at or before `from`.
std::vector<double> Places(double from, double to, double offset = 0) {
  const double first = std::floor(from / kHatchStep) * kHatchStep + offset;
  const auto count = static_cast<std::size_t>(std::max(0.0, std::ceil((to - first) / kHatchStep)));
  std::vector<double> places(count);
  for (std::size_t i = 0; i < count; ++i) {
    places[i] = first + static_cast<double>(i) * kHatchStep;
  }
  return places;
}

// Lines x + slope * y = constant across `box`; slope 0 gives vertical lines.
void SlantedLines(cairo_t* cairo, const Rect& box, double slope) {
  const double reach = std::abs(slope) * box.height;
  for (const double x : Places(box.x - reach, box.x + box.width + reach)) {
    cairo::move_to(cairo, slope < 0 ? x : x + reach, box.y);
    cairo::line_to(cairo, slope < 0 ? x + reach : x, box.y + box.height);
  }
}

void LevelLines(cairo_t* cairo, const Rect& box) {
  for (const double y : Places(box.y, box.y + box.height)) {
    cairo::move_to(cairo, box.x, y);
    cairo::line_to(cairo, box.x + box.width, y);
  }
}

void Dots(cairo_t* cairo, const Rect& box) {
  bool shifted = false;
  for (const double y : Places(box.y, box.y + box.height + kHatchStep)) {
    for (const double x :
         Places(box.x, box.x + box.width + kHatchStep, shifted ? kHatchStep / 2 : 0)) {
      cairo::move_to(cairo, x + 0.5, y);
      cairo::arc(cairo, x, y, 0.5, 0, 2 * std::numbers::pi);
    }
    shifted = !shifted;
  }
}

// Individual strokes instead of a pattern, which Cairo would turn into pixels in SVG and PDF.
void DrawHatch(cairo_t* cairo, const Rect& box, Hatch hatch, const Color& color) {
  SetStroke(cairo, {.width = 0.5, .color = color});
  switch (hatch) {
    case Hatch::kNone:
      return;
    case Hatch::kDots:
      Dots(cairo, box);
      cairo::fill(cairo);
      return;
    case Hatch::kRising:
      SlantedLines(cairo, box, 1);
      break;
    case Hatch::kFalling:
      SlantedLines(cairo, box, -1);
      break;
    case Hatch::kCross:
      SlantedLines(cairo, box, 1);
      SlantedLines(cairo, box, -1);
      break;
    case Hatch::kUpright:
      SlantedLines(cairo, box, 0);
      break;
    case Hatch::kLevel:
      LevelLines(cairo, box);
      break;
  }
  cairo::stroke(cairo);
}

// Cairo numbers the surfaces of a process, but the same plot must give the same bytes.
void NamePage(std::string& svg) {
  constexpr std::string_view kId = "<g id=\"surface";
  const std::size_t at = svg.find(kId);
  const std::size_t end = at == std::string::npos ? at : svg.find('"', at + kId.size());
  if (end != std::string::npos) {
    svg.replace(at, end - at, "<g id=\"page");
  }
}

cairo_surface_t* MakeSurface(PlotFormat format, const Point& size, std::string* bytes) {
  switch (format) {
    case PlotFormat::kPng:
      return cairo::image_surface_create(CAIRO_FORMAT_RGB24,
                                         static_cast<int>(std::lround(size.x * kPngScale)),
                                         static_cast<int>(std::lround(size.y * kPngScale)));
    case PlotFormat::kPdf: {
      cairo_surface_t* surface =
          cairo::pdf_surface_create_for_stream(Append, bytes, size.x, size.y);
      // Without an explicit date a file would carry the current time.
      cairo::pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE,
                                      "1970-01-01T00:00:00Z");
      return surface;
    }
    case PlotFormat::kSvg:
      break;
  }
  return cairo::svg_surface_create_for_stream(Append, bytes, size.x, size.y);
}

}  // namespace

double Lightness(const Color& color) {
  return 0.299 * color.red + 0.587 * color.green + 0.114 * color.blue;
}

struct Canvas::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    cairo::destroy(cairo);
    cairo::surface_destroy(surface);
  }
  PlotFormat format = PlotFormat::kSvg;
  bool measuring = false;
  std::string bytes;  // Cairo writes here until the surface is finished
  cairo_surface_t* surface = nullptr;
  cairo_t* cairo = nullptr;
};

Canvas::Canvas(std::unique_ptr<State> state) : state_(std::move(state)) {
  state_->cairo = cairo::create(state_->surface);
  // Letters at their true widths: layout must not depend on the resolution.
  cairo_font_options_t* options = cairo::font_options_create();
  cairo::font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo::font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo::font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo::set_font_options(state_->cairo, options);
  cairo::font_options_destroy(options);
}

Result<void> Canvas::Prepare() {
  return LoadCairo();
}

Canvas Canvas::Measuring() {
  auto state = std::make_unique<State>();
  state->measuring = true;
  state->surface = cairo::recording_surface_create(CAIRO_CONTENT_COLOR, nullptr);
  return Canvas(std::move(state));
}

Canvas::Canvas(PlotFormat format, Point size)
    : Canvas([&] {
        auto state = std::make_unique<State>();
        state->format = format;
        state->surface = MakeSurface(format, size, &state->bytes);
        return state;
      }()) {
  if (format == PlotFormat::kPng) {
    cairo::scale(state_->cairo, kPngScale, kPngScale);
  }
  SetColor(state_->cairo, kPaper);
  cairo::paint(state_->cairo);
}

Canvas::~Canvas() = default;
Canvas::Canvas(Canvas&&) noexcept = default;

void Canvas::PaintPath(const Rect& bounds, const Paint& paint) {
  cairo_t* cairo = state_->cairo;
  SetColor(cairo, paint.color);
  if (paint.hatch == Hatch::kNone) {
    cairo::fill(cairo);
    return;
  }
  cairo::fill_preserve(cairo);
  cairo::save(cairo);
  cairo::clip(cairo);
  DrawHatch(cairo, bounds, paint.hatch, paint.lines);
  cairo::restore(cairo);
}

void Canvas::Fill(const Rect& rect, const Paint& paint) {
  if (state_->measuring) {
    return;
  }
  cairo::rectangle(state_->cairo, rect.x, rect.y, rect.width, rect.height);
  PaintPath(rect, paint);
}

void Canvas::Fill(const std::vector<Point>& outline, const Paint& paint) {
  if (outline.empty() || state_->measuring) {
    return;
  }
  Point low = outline[0];
  Point high = outline[0];
  for (const Point& point : outline) {
    cairo::line_to(state_->cairo, point.x, point.y);
    low = {std::min(low.x, point.x), std::min(low.y, point.y)};
    high = {std::max(high.x, point.x), std::max(high.y, point.y)};
  }
  cairo::close_path(state_->cairo);
  PaintPath({low.x, low.y, high.x - low.x, high.y - low.y}, paint);
}

void Canvas::Outline(const Rect& rect, const Stroke& stroke) {
  if (state_->measuring) {
    return;
  }
  SetStroke(state_->cairo, stroke);
  cairo::rectangle(state_->cairo, rect.x, rect.y, rect.width, rect.height);
  cairo::stroke(state_->cairo);
}

void Canvas::Lines(const std::vector<Point>& points, const Stroke& stroke) {
  if (state_->measuring) {
    return;
  }
  SetStroke(state_->cairo, stroke);
  cairo::set_line_join(state_->cairo, CAIRO_LINE_JOIN_ROUND);
  for (const Point& point : points) {
    cairo::line_to(state_->cairo, point.x, point.y);
  }
  cairo::stroke(state_->cairo);
}

void Canvas::Text(const Point& at, std::string_view text, const TextStyle& style) {
  if (state_->measuring) {
    return;
  }
  double x = at.x;
  if (style.align != Align::kLeft) {
    x -= Width(text, style) / (style.align == Align::kCenter ? 2 : 1);
  }
  SetFont(state_->cairo, style);
  SetColor(state_->cairo, style.color);
  cairo::move_to(state_->cairo, x, at.y);
  cairo::show_text(state_->cairo, std::string(text).c_str());
  cairo::new_path(state_->cairo);
}

double Canvas::Width(std::string_view text, const TextStyle& style) const {
  SetFont(state_->cairo, style);
  cairo_text_extents_t extents;
  cairo::text_extents(state_->cairo, std::string(text).c_str(), &extents);
  return extents.x_advance;
}

std::string Canvas::Elide(std::string_view text, double width, const TextStyle& style) const {
  // Hostile names have megabytes: first cut to more than any page could hold.
  std::string whole = Shorten(text, 400);
  if (Width(whole, style) <= width) {
    return whole;
  }
  std::size_t fits = 1;
  std::size_t too_wide = DisplayWidth(whole);
  while (fits + 1 < too_wide) {
    const std::size_t middle = (fits + too_wide) / 2;
    (Width(Shorten(whole, middle), style) <= width ? fits : too_wide) = middle;
  }
  return Shorten(whole, fits);
}

Result<std::string> Canvas::Finish() {
  cairo_status_t status = cairo::status(state_->cairo);
  if (status == CAIRO_STATUS_SUCCESS && state_->format == PlotFormat::kPng) {
    status = cairo::surface_write_to_png_stream(state_->surface, Append, &state_->bytes);
  }
  cairo::surface_finish(state_->surface);
  if (status == CAIRO_STATUS_SUCCESS) {
    status = cairo::surface_status(state_->surface);
  }
  if (status != CAIRO_STATUS_SUCCESS) {
    return Fail(ErrorCode::kOutput,
                std::string("the plot could not be drawn: ") + cairo::status_to_string(status));
  }
  if (state_->format == PlotFormat::kSvg) {
    NamePage(state_->bytes);
  }
  return std::move(state_->bytes);
}

}  // namespace memtool::commands
