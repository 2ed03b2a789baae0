#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "flame/flame_picture.h"
#include "flame/flame_script.h"
#include "memtool/profile/base/arithmetic.h"
#include "output/escape.h"
#include "output/grid.h"
#include "output/text/cpp_names.h"

namespace memtool::commands {

namespace {

constexpr std::int64_t kRowHeight = 17;
constexpr std::int64_t kHeadLine = 16;
constexpr double kDrawnWidth = 1180;  // what labels are cut for until the script has measured
constexpr double kCharWidth = 6.3;
constexpr std::size_t kMaxNameLength = 600;  // more than any sane one, in what the pointer shows
constexpr std::uint64_t kTints = 6;

// The same file has the same tint on every run.
std::uint64_t GetTint(std::string_view file) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : file) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return (hash ^ hash >> 32U) % kTints;
}

// "c3"; of a comparison "g0" (unchanged) to "g4" (doubled or new) and "s1" to "s4" (gone).
std::string GetClass(const FlameRow& row) {
  const auto change = row.change();
  if (!row.parent && !change) {
    return "root";
  }
  if (!change) {
    return fmt::format("c{}", GetTint(row.file.empty() ? row.name : row.file));
  }
  if (*change == 0) {
    return "g0";
  }
  const std::int64_t larger = std::max(Magnitude(row.bytes), Magnitude(*row.base_bytes));
  const double share = larger == 0 ? 1.0 : std::fabs(Ratio(*change, larger));
  const int step = share > 0.5 ? 4 : share > 0.2 ? 3 : share > 0.05 ? 2 : 1;
  return fmt::format("{}{}", *change > 0 ? 'g' : 's', step);
}

std::string MakeTitle(const FlameAnswer& answer, const FlameRow& row, const FlameStyle& style) {
  std::string title = EscapeXml(Shorten(EscapeText(row.name), kMaxNameLength));
  if (!row.file.empty()) {
    title +=
        "\n" + EscapeXml(Shorten(EscapeText(row.line > 0 ? fmt::format("{}:{}", row.file, row.line)
                                                         : std::string(row.file)),
                                 kMaxNameLength));
  }
  title += "\n" + EscapeXml(FlameFigures(answer, row, style));
  if (row.base_bytes) {
    title += "\nbase " + EscapeXml(style.amount(*row.base_bytes));
  }
  if (row.self != 0 && row.self != row.bytes) {
    title += "\nself " + EscapeXml(style.amount(row.self));
  }
  if (row.left_out != 0) {
    title += "\nin levels not drawn " + EscapeXml(style.amount(row.left_out));
  }
  return title;
}

std::string MakeLabel(const std::string& name, double share) {
  const auto room = static_cast<std::int64_t>((share * kDrawnWidth - 6) / kCharWidth);
  return room < 3 ? std::string() : EscapeXml(Shorten(name, static_cast<std::size_t>(room)));
}

std::string GetFrame(const FlameAnswer& answer, const FlameRow& row, const FlameStyle& style) {
  const std::int64_t level = style.up ? answer.levels - row.depth : row.depth;
  const double begin = FlameShare(row.begin, answer.width);
  const double share = FlameShare(row.width, answer.width);
  const std::string name = Shorten(FlameName(row), kMaxCellWidth);
  return fmt::format(
      "<g class=\"{}\" data-d=\"{}\" data-n=\"{}\" data-w=\"{}\"><title>{}</title>"
      "<rect x=\"{:.4f}%\" y=\"{}\" width=\"{:.4f}%\" height=\"{}\"/>"
      "<text x=\"{:.4f}%\" dx=\"4\" y=\"{}\">{}</text></g>\n",
      GetClass(row), row.depth, EscapeXml(name), row.file.empty() ? 1 : 2,
      MakeTitle(answer, row, style), 100 * begin, level * kRowHeight, 100 * share, kRowHeight - 1,
      100 * begin, level * kRowHeight + 12, MakeLabel(name, share));
}

std::string Legend(std::int64_t y) {
  std::string text = fmt::format("<g transform=\"translate(10 {})\">", y);
  std::int64_t x = 0;
  const auto word = [&](std::string_view what, std::int64_t width) {
    text += fmt::format(R"(<text class="dim" x="{}" y="11">{}</text>)", x, what);
    x += width;
  };
  word("shrank", 44);
  for (const char* step : {"s4", "s3", "s2", "s1", "g0", "g1", "g2", "g3", "g4"}) {
    text += fmt::format(R"(<g class="{}"><rect x="{}" width="22" height="14"/></g>)", step, x);
    x += 23;
  }
  x += 6;
  word("grew", 50);
  word("steps: 5, 20 and 50% of the larger side", 0);
  return text + "</g>\n";
}

}  // namespace

std::string FlameSvg(const FlameAnswer& answer, const FlameStyle& style) {
  const auto heads = static_cast<std::int64_t>(style.head.size());
  const std::int64_t legend = 10 + heads * kHeadLine;
  const std::int64_t note = legend + (answer.difference ? 20 : 0) + 10;  // seen without scrolling
  const std::int64_t top = note + 8;
  const std::int64_t frames = (answer.levels + 1) * kRowHeight;
  const std::int64_t height = top + frames + 10;
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%\" height=\"{}\" "
      "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"11\" "
      "data-up=\"{}\">\n<style>{}</style>\n"
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
      height, style.up ? 1 : 0, kFlameStyle);
  for (std::int64_t i = 0; i < heads; ++i) {
    svg += fmt::format("<text class=\"{}\" x=\"10\" y=\"{}\">{}</text>\n", i == 0 ? "first" : "dim",
                       20 + i * kHeadLine, EscapeXml(style.head[static_cast<std::size_t>(i)]));
  }
  if (answer.difference) {
    svg += Legend(legend);
  }
  svg += fmt::format(
      "<text id=\"note\" class=\"dim\" x=\"10\" y=\"{}\" aria-live=\"polite\">click or Enter: zoom "
      "· / "
      "or Ctrl-F: search · arrows: move · Escape: back</text>\n"
      "<svg x=\"10\" y=\"{}\" width=\"100%\" height=\"{}\" id=\"clip\"><svg id=\"frames\" "
      "width=\"98.4%\" height=\"{}\">\n",
      note, top, frames, frames);
  for (const FlameRow& row : answer.rows) {
    svg += GetFrame(answer, row, style);
  }
  svg += fmt::format("</svg></svg>\n<script><![CDATA[{}]]></script>\n</svg>\n", kFlameScript);
  return svg;
}

}  // namespace memtool::commands
