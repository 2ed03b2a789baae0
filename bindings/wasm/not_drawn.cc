// Stands in for what draws with libraries or starts programs: a page draws by itself.
#include <string>
#include <string_view>

#include "output/graph/browser.h"
#include "output/graph/dot_writer.h"
#include "output/graph/layout.h"
#include "output/plot/canvas.h"

namespace memtool::commands {

namespace {

auto NotDrawn() {
  return Fail(ErrorCode::kOutput, "pictures are not drawn by this build");
}

}  // namespace

std::string OpenInBrowser(const std::string& /*path*/) {
  return {};
}

Result<std::string> WriteDot(const Graph& /*graph*/, const NodeSpace& /*space*/,
                             const DotStyle& /*style*/) {
  return NotDrawn();
}

Result<std::string> LayOut(std::string_view /*dot_text*/, const std::string& /*format*/,
                           std::chrono::milliseconds /*limit*/) {
  return NotDrawn();
}

double Lightness(const Color& color) {
  return 0.299 * color.red + 0.587 * color.green + 0.114 * color.blue;
}

struct Canvas::State {};
Canvas::Canvas(std::unique_ptr<State> state) : state_(std::move(state)) {}
Result<void> Canvas::Prepare() {
  return NotDrawn();
}
Canvas Canvas::Measuring() {
  return Canvas(std::make_unique<State>());
}
Canvas::Canvas(PlotFormat /*format*/, Point /*size*/) {}
Canvas::~Canvas() = default;
Canvas::Canvas(Canvas&&) noexcept = default;
void Canvas::Fill(const Rect& /*rect*/, const Paint& /*paint*/) {}
void Canvas::Fill(const std::vector<Point>& /*outline*/, const Paint& /*paint*/) {}
void Canvas::Outline(const Rect& /*rect*/, const Stroke& /*stroke*/) {}
void Canvas::Lines(const std::vector<Point>& /*points*/, const Stroke& /*stroke*/) {}
void Canvas::Text(const Point& /*at*/, std::string_view /*text*/, const TextStyle& /*style*/) {}
double Canvas::Width(std::string_view text, const TextStyle& style) const {
  return static_cast<double>(text.size()) * style.size / 2;
}
std::string Canvas::Elide(std::string_view text, double /*width*/,
                          const TextStyle& /*style*/) const {
  return std::string(text);
}
Result<std::string> Canvas::Finish() {
  return NotDrawn();
}

}  // namespace memtool::commands
