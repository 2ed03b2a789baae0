#!/usr/bin/env python3
"""Writes raw.json and coalesced.json: one made-up run in both forms of export_memory_timeline.

The coalesced one is summed up here from the raw one, by the rules of torch/profiler/_memory_profiler.py as README.md
states them."""
import json
import random
from pathlib import Path

PREEXISTING, CREATE, INCREMENT_VERSION, DESTROY = 1, 2, 3, 4
PARAMETER, OPTIMIZER, INPUT, TEMPORARY, ACTIVATION, GRADIENT, DETAIL, UNKNOWN = range(8)


def raw_events():
    random.seed(7)
    events, time = [], 1_700_000_000_000_000_000
    events += [(-1, PREEXISTING, 4096 * (i + 1), PARAMETER) for i in range(5)]
    for step in range(3):
        live = []
        for _ in range(12):
            time += random.randrange(200, 4000)
            kind = random.choice([INPUT, TEMPORARY, ACTIVATION, ACTIVATION, UNKNOWN])
            live.append((random.choice([512, 1024, 65536, 1 << 20]), kind))
            events.append((time, CREATE, *live[-1]))
        if step == 0:
            events += [(time, CREATE, 8192 * (i + 1), OPTIMIZER) for i in range(5)]
        for size, kind in live:
            time += random.randrange(200, 4000)
            if kind == ACTIVATION and random.random() < 0.3:
                # A tensor written to in place becomes something else: a row out, a row in.
                events += [(time, INCREMENT_VERSION, -size, kind), (time, INCREMENT_VERSION, size, GRADIENT)]
                kind = GRADIENT
            events.append((time, DESTROY, -size, kind))
    return events[:-4]  # the profiler stopped before the last ones


def coalesce(events):
    times, sizes, now = [], [], [0] * 9
    for time, _, size, kind in events:
        micros = time if time < 0 else time // 1000
        if not times or times[-1] != micros:
            times.append(micros)
            sizes.append(None)
        now[kind + 1] += size
        sizes[-1] = list(now)
    first = min((t for t in times if t >= 0), default=0)
    return [[first if t < 0 else t for t in times], sizes]


folder = Path(__file__).parent
(folder / "raw.json").write_text(json.dumps(raw_events()))
(folder / "coalesced.json").write_text(json.dumps(coalesce(raw_events())))
