"""A small SVG for load.py: per kind of input one panel of time and one of memory, a line per command."""
import math
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 250, 66, 118, 40, 36
# Legible on white and on black; the same for a command in all panels.
COLORS = {"info": "#2a78d6", "top": "#c8641e", "buckets": "#2f9e63", "oom": "#2f9e63"}
ANOTHER = "#9a5bd0"
SAME = 3  # points whose labels would be this near to each other have one
STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #444 }
.title { font-weight: 600; fill: #222 }
.grid { stroke: #ddd; stroke-width: 1 }
.back { fill: #fff }
polyline { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #bbb } .title { fill: #eee } .grid { stroke: #383838 } .back { fill: #16181c }
}
</style>"""


def ticks(top):
    """Round numbers from 0 to at least `top`, four to six of them."""
    power = 10.0 ** math.floor(math.log10(top / 4))
    step = next(power * f for f in (1, 2, 2.5, 5, 10) if top / (power * f) <= 5)
    return [step * i for i in range(math.ceil(top / step - 1e-9) + 1)]


def spread(wanted, room, low, high):
    """Heights near the wanted ones, at least `room` apart, in the same order."""
    placed = []
    for y in sorted(wanted):
        placed.append(max(y, placed[-1] + room if placed else low))
    over = max(0, placed[-1] - high)
    placed = [y - over for y in placed]
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    return {index: placed[i] for i, index in enumerate(order)}


def labels(ends):
    """[(name, height)] -> [(names, height)]: those that end at the same height are one."""
    joined = []
    for name, y in sorted(ends, key=lambda end: end[1]):
        if joined and y - joined[-1][1] < SAME:
            joined[-1][0].append(name)
        else:
            joined.append(([name], y))
    return joined


def label(value):
    return f"{value:,.10g}"


def panel(x0, y0, title, unit, lines, x_unit):
    xs = ticks(max(x for points in lines.values() for x, _ in points))
    ys = ticks(max(y for points in lines.values() for _, y in points))
    at_x = lambda x: x0 + LEFT + x / xs[-1] * (WIDTH - LEFT - RIGHT)
    at_y = lambda y: y0 + HEIGHT - BOTTOM - y / ys[-1] * (HEIGHT - TOP - BOTTOM)
    yield f'<text class="title" x="{x0 + 8}" y="{y0 + 20}">{escape(title)}</text>'
    for y in ys:
        yield f'<line class="grid" x1="{at_x(0):.1f}" x2="{at_x(xs[-1]):.1f}" y1="{at_y(y):.1f}" y2="{at_y(y):.1f}"/>'
        more = " " + unit if y == ys[-1] else ""
        yield f'<text x="{at_x(0) - 6:.1f}" y="{at_y(y) + 4:.1f}" text-anchor="end">{label(y)}{more}</text>'
    for x in xs:
        more = x_unit if x == xs[-1] else ""
        yield f'<text x="{at_x(x):.1f}" y="{y0 + HEIGHT - BOTTOM + 18}" text-anchor="middle">{label(x)}{more}</text>'
    for name, points in lines.items():
        color = COLORS.get(name, ANOTHER)
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in points)
        yield f'<polyline stroke="{color}" points="{path}"/>'
        for x, y in points:
            yield f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="3" fill="{color}"/>'
    ends = labels([(name, at_y(points[-1][1])) for name, points in lines.items()])
    heights = spread([y for _, y in ends], 14, y0 + TOP, y0 + HEIGHT - BOTTOM)
    x = max(at_x(points[-1][0]) for points in lines.values()) + 8
    for i, (names, _) in enumerate(ends):
        said = names[0] if len(names) == 1 else "all" if len(names) == len(lines) else ", ".join(names)
        color = f"fill: {COLORS.get(names[0], ANOTHER)}" if len(names) == 1 else ""
        yield f'<text x="{x:.1f}" y="{heights[i] + 4:.1f}" style="{color}">{escape(said)}</text>'


def draw(kinds):
    """kinds: [(what a row is, rows per unit of the axis, {command: [(rows, cpu, rss)]})] -> SVG"""
    out = []
    for row, (what, per, commands) in enumerate(kinds):
        commands = {name: points for name, points in commands.items() if len(points) > 1}
        for column, (unit, said) in enumerate((("s", "CPU time"), ("MiB", "Peak memory"))):
            lines = {name: [(p[0] / per, p[column + 1]) for p in points] for name, points in commands.items()}
            out += panel(column * WIDTH, row * HEIGHT, f"{said}: {what}", unit, lines, " M" if per > 1 else "")
    width, height = 2 * WIDTH, len(kinds) * HEIGHT + 8
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}">\n{STYLE}\n<rect class="back" width="{width}" height="{height}"/>\n'
            + "\n".join(out) + "\n</svg>\n")
