"""The page that bench.py writes from its results."""
import textwrap

from figures import goal_words, seconds, significant, times
from load import amount
from scaling import WHAT

NOT_PEERS = ("memtool", "python")
RATIOS = (" A ratio below 1× is less than the peer takes; `≤`: no more than the script that measures holds itself, "
          "which is all that the kernel says then.")
EXPONENTS = ("The exponent is *k* of *a·xᵏ*, fitted by least squares between the logarithms: 1 is in proportion to the "
             "input, and what a program takes in any case makes it smaller. `diff` reads two files of the size.")
AGAIN = "tests/bench/bench.py --results results.json --report docs/performance.md --plot docs/performance.svg"


def machine_words(machine):
    return (f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB of memory, "
            f"load {machine['load']:g} at the start")


def goal_counts(results):
    words = [word for r in results for word in goal_words(r)]
    counts = [(sum(word.endswith(end) for word in words), end) for end in (" met", " missed", " not measured")]
    return f"{len(words)} goals: " + ", ".join(f"{n}{end}" for n, end in counts if n or end != " not measured") + "."


def how(results):
    versions = results["versions"]
    peers = "; ".join([f"Python {versions['python']}"] + [
        text for name, text in versions.items() if text and name not in NOT_PEERS and used(results, name)])
    return (f"Each case runs memtool and a peer in turns on the same input, after one run of each that only warms the "
            f"page cache: {results['runs']} runs each, more of what takes milliseconds. CPU time is user and system "
            f"together, memory the largest resident size, both as the kernel counts them (`wait4`). Of times the "
            f"*least* counts, and ratios are those of least times: other work on a machine only adds to them. Of memory "
            f"the most counts. Output is discarded, or written to a file where MB/s of it are given; MB/s are those of a "
            f"CPU second. A goal is what memtool is meant to reach; nothing fails where it does not. Machine: "
            f"{machine_words(results['machine'])}. {versions['memtool']}; peers: {peers}.")


def used(results, program):
    return any(r["peer"].split()[0] == program for r in results["results"])


def case_rows(results):
    yield "| case | what runs | peer | CPU | peer's CPU | ratio | wall ratio | MiB | MB/s | goal |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|---|"
    for r in results["results"]:
        if "error" in r:
            yield f"| {r['case']} | could not run | {r['peer']} | | | | | | | {', '.join(goal_words(r))} |"
            continue
        floor = "≤ " if r["rss"]["memtool"] <= r["rss_floor"] * 1.05 else ""
        speed = f"{r['mb_s']:,.0f}" if r.get("mb_s") else ""
        cells = [seconds(r["cpu"]["memtool"]), seconds(r["cpu"]["peer"]), times(r["cpu"]["ratio"]),
                 times(r["wall"]["ratio"]), f"{floor}{r['rss']['memtool']:,.0f}", speed]
        yield (f"| {r['case']} | `{r['short'].replace('|', chr(92) + '|')}` | `{r['peer']}` | {' | '.join(cells)} | "
               f"{', '.join(goal_words(r, '**missed**'))} |")


def exponent(value):
    return "–" if value is None else f"{value:.2f}"


def scaling_rows(scaling):
    sizes = sorted({p["rows"] for r in scaling for p in r["points"]})
    larger = " to ".join(amount(rows) for rows in sizes[-2:])
    yield "| input | command | | " + " | ".join(map(amount, sizes)) + f" | exponent, {larger} | of all |"
    yield "|---|---|---|" + "---:|" * (len(sizes) + 2)
    for r in scaling:
        by_rows = {p["rows"]: p for p in r["points"]}
        for measure, said, text in (("cpu", "CPU", seconds), ("rss", "MiB", lambda value: f"{value:,.0f}")):
            cells = [text(by_rows[rows][measure]) if rows in by_rows else "" for rows in sizes]
            yield (f"| {WHAT[r['kind']]} | `{r['command']}` | {said} | {' | '.join(cells)} | "
                   f"{exponent(r[measure]['larger'])} | {exponent(r[measure]['all'])} |")


def input_words(results):
    return ", ".join(f"`{name}` {significant(size / 1e6, 2)} MB" for name, size in results["inputs"].items())


def paragraph(text):
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


def page(results, plot=None):
    """results: what bench.py's --json writes; plot: the path of the picture, beside the page"""
    lines = ["# Time and memory beside other programs", "", paragraph(how(results)), ""]
    if plot:
        lines += [f"![CPU time of each case as a multiple of the peer's]({plot.name})", ""]
    lines += ["## Cases", "", paragraph(goal_counts(results["results"]) + RATIOS), "", *case_rows(results), ""]
    if results["inputs"]:
        lines += [paragraph(f"Inputs, of {results['samples']:,} samples, events or rows where the name says nothing "
                            f"else (`snapshot.json` a twentieth): {input_words(results)}."), ""]
    if results["scaling"]:
        lines += ["## Against the size of the input", "", paragraph(EXPONENTS), "",
                  *scaling_rows(results["scaling"]), ""]
    lines += ["## The commands that made this page", "", f"    {results['command']}", "",
              "and again from its figures, without running anything:", "", f"    {AGAIN}", ""]
    return "\n".join(lines)
