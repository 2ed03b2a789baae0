"""A small SVG for bench.py: the CPU ratio of each case as a bar on a log scale, and its goal as a tick."""
import math
from html import escape

from figures import goal_value, times, verdicts
from load_plot import STYLE

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 960, 128, 210, 62, 40
ROW, BAR, HEADING = 20, 12, 28
# Legible on white and on black.
MET, MISSED, NO_GOAL = "#2f9e63", "#c8641e", "#8a94a3"
TITLE = "CPU time as a multiple of the peer's, on a log scale: bars to the left of 1× are faster"
MORE_STYLE = """<style>
.name { text-anchor: end } .value { font-weight: 600 } .one { stroke: #888; stroke-width: 1.5 }
.faint { fill: #777; paint-order: stroke; stroke: #fff; stroke-width: 5px }
.goal { stroke: #111; stroke-width: 2.5 }
@media (prefers-color-scheme: dark) { .faint { fill: #999; stroke: #16181c } .goal { stroke: #fff } }
</style>"""


def decades(low, high):
    """Ticks 1, 2 and 5 of each power of ten that the values touch, one beyond them on each side."""
    steps = [f * 10.0 ** p for p in range(-6, 7) for f in (1, 2, 5)]
    first = max((s for s in steps if s <= low), default=steps[0])
    last = min((s for s in steps if s >= high), default=steps[-1])
    ticks = [s for s in steps if first <= s <= last]
    return ticks if len(ticks) <= 9 else [s for s in ticks if s in (first, last) or round(math.log10(s), 6) % 1 == 0]


def groups(results):
    """-> {peer: [result]}, in the order of the cases; only what has a ratio"""
    found = {}
    for r in results:
        if "error" not in r and r["cpu"]["ratio"]:
            found.setdefault(r["peer"], []).append(r)
    return found


def row(result, y, at):
    ratio, goal = result["cpu"]["ratio"], result.get("goal", {}).get("cpu")
    met = verdicts(result).get("cpu")
    color = {True: MET, False: MISSED, None: NO_GOAL}[met]
    left, right = sorted((at(1), at(ratio)))
    middle = y + BAR / 2 + 4
    yield f'<text class="name" x="{LEFT - 10}" y="{middle:.1f}">{escape(result["case"])}</text>'
    yield (f'<rect x="{left:.1f}" y="{y}" width="{max(1, right - left):.1f}" height="{BAR}" rx="1.5" fill="{color}">'
           f'<title>{escape(result.get("short", ""))}</title></rect>')
    if goal:
        yield f'<line class="goal" x1="{at(goal):.1f}" x2="{at(goal):.1f}" y1="{y - 3}" y2="{y + BAR + 3}"/>'
    x = WIDTH - RIGHT + 72
    yield f'<text class="value" x="{x}" y="{middle:.1f}" text-anchor="end">{times(ratio)}</text>'
    if goal:
        said = f"goal {goal_value('cpu', goal)}, {'met' if met else 'missed'}"
        yield f'<text x="{x + 14}" y="{middle:.1f}" style="fill: {color}">{said}</text>'


def legend(y):
    x = LEFT
    for color, said, room in ((MET, "goal met", 90), (MISSED, "missed", 80), (NO_GOAL, "no goal for the ratio", 150)):
        yield f'<rect x="{x}" y="{y - 10}" width="12" height="12" rx="1.5" fill="{color}"/>'
        yield f'<text x="{x + 18}" y="{y}">{said}</text>'
        x += room
    yield f'<line class="goal" x1="{x + 4}" x2="{x + 4}" y1="{y - 13}" y2="{y + 5}"/>'
    yield f'<text x="{x + 12}" y="{y}">goal</text>'


def draw(results):
    """results: as bench.py's --json has them -> SVG"""
    found = groups(results)
    ratios = [r["cpu"]["ratio"] for of in found.values() for r in of]
    ratios += [g for of in found.values() for r in of if (g := r.get("goal", {}).get("cpu"))]
    ticks = decades(min(ratios + [0.5]), max(ratios + [2]))
    scale = (WIDTH - LEFT - RIGHT) / math.log(ticks[-1] / ticks[0])
    at = lambda ratio: LEFT + math.log(ratio / ticks[0]) * scale
    body, y = [], TOP
    for peer, of in found.items():
        body.append(f'<text class="faint" x="{LEFT}" y="{y + 18}">against {escape(peer)}</text>')
        y += HEADING
        for result in of:
            body += row(result, y, at)
            y += ROW
    height = y + BOTTOM
    grid = []
    for tick in ticks:
        kind = "one" if tick == 1 else "grid"
        grid.append(f'<line class="{kind}" x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="{TOP}" y2="{y + 4}"/>')
        grid.append(f'<text x="{at(tick):.1f}" y="{y + 20}" text-anchor="middle">{tick:g}×</text>')
    title = f'<text class="title" x="8" y="20">{escape(TITLE)}</text>'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}">\n{STYLE}\n{MORE_STYLE}\n'
            f'<rect class="back" width="{WIDTH}" height="{height}"/>\n{title}\n'
            + "\n".join([*legend(44), *grid, *body]) + "\n</svg>\n")
