// Stands in for what needs libraries or processes that a page does not have: pictures are drawn by
// the page itself.
#include <sys/xattr.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>

#include "output/graph/browser.h"
#include "output/graph/dot_writer.h"
#include "output/graph/layout.h"
#include "output/plot/canvas.h"

namespace memtool::commands {

namespace {

auto NotInAPage() {
  return Fail(ErrorCode::kOutput, "pictures are not drawn by this build");
}

}  // namespace

std::string OpenInBrowser(const std::string& /*path*/) {
  return {};
}

Result<std::string> WriteDot(const Graph& /*graph*/, const NodeSpace& /*space*/,
                             const DotStyle& /*style*/) {
  return NotInAPage();
}

Result<std::string> LayOut(std::string_view /*dot_text*/, const std::string& /*format*/,
                           std::chrono::milliseconds /*limit*/) {
  return NotInAPage();
}

double Lightness(const Color& color) {
  return 0.299 * color.red + 0.587 * color.green + 0.114 * color.blue;
}

struct Canvas::State {};
Canvas::Canvas(std::unique_ptr<State> state) : state_(std::move(state)) {}
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
  return NotInAPage();
}

}  // namespace memtool::commands

// Of the C library's, those that Emscripten declares and does not have.
extern "C" {

ssize_t getxattr(const char* /*path*/, const char* /*name*/, void* /*value*/, size_t /*size*/) {
  errno = ENOTSUP;
  return -1;
}

int fsetxattr(int /*file*/, const char* /*name*/, const void* /*value*/, size_t /*size*/,
              int /*flags*/) {
  errno = ENOTSUP;
  return -1;
}

int pthread_kill(pthread_t /*thread*/, int /*signal*/) {
  return ESRCH;
}

}  // extern "C"
