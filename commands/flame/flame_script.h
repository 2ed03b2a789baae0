// What every SVG of a flame graph carries: its colours, and the script behind hover, zoom and
// search. Nothing of an input is in here, and the script makes text nodes only.
#pragma once

#include <string_view>

namespace memtool::commands {

// Quiet tints for files; in a comparison blue for what shrank and orange for what grew, reddish
// purple for search results; distinguishable with colour vision deficiencies. Names stay readable
// on all of them, light and dark.
inline constexpr std::string_view kFlameStyle = R"css(
svg[data-up]{background:#fff}
.paper{fill:#fff}text{fill:#212126}.dim{fill:#6b6b73}.first{font-size:12px;font-weight:bold}
#frames g{cursor:pointer}#frames rect{stroke:#fff;stroke-width:.6}#frames text{pointer-events:none}
.root rect,.g0 rect{fill:#e6e6ea}
.c0 rect{fill:#f5d9a8}.c1 rect{fill:#f3c9a5}.c2 rect{fill:#f2e3b0}
.c3 rect{fill:#e8cdb8}.c4 rect{fill:#dfd8b4}.c5 rect{fill:#f0bfae}
.g1 rect{fill:#f9e3d4}.g2 rect{fill:#f3c5a6}.g3 rect{fill:#eba573}.g4 rect{fill:#e0874a}
.s1 rect{fill:#dbe7f3}.s2 rect{fill:#b6d0e8}.s3 rect{fill:#89b4da}.s4 rect{fill:#5c98cb}
#frames g:hover rect,#frames g.at rect{stroke:#212126;stroke-width:1}
#frames g.hit rect{fill:#d79bc0}#frames g.up{opacity:.55}
@media (prefers-color-scheme:dark){
svg[data-up]{background:#17171a}#frames rect{stroke:#17171a}
.paper{fill:#17171a}text{fill:#e8e8ec}.dim{fill:#9a9aa4}
.root rect,.g0 rect{fill:#34343a}
.c0 rect{fill:#5f4a22}.c1 rect{fill:#643f24}.c2 rect{fill:#57502a}
.c3 rect{fill:#553d30}.c4 rect{fill:#474628}.c5 rect{fill:#66372b}
.g1 rect{fill:#43342c}.g2 rect{fill:#5f3d28}.g3 rect{fill:#7d4622}.g4 rect{fill:#9c4d17}
.s1 rect{fill:#2b3743}.s2 rect{fill:#28465f}.s3 rect{fill:#23567f}.s4 rect{fill:#1a669f}
#frames g:hover rect,#frames g.at rect{stroke:#fff}#frames g.hit rect{fill:#8a3f70}}
)css";

inline constexpr std::string_view kFlameScript = R"js(
"use strict";
(() => {
  const svg = document.documentElement, box = document.getElementById("frames");
  const note = document.getElementById("note"), help = note.textContent;
  const up = svg.dataset.up === "1";
  const all = Array.from(box.children, (g) => {
    const [title, rect, text] = g.children;
    const where = title.textContent.split("\n").slice(0, Number(g.dataset.w)).join("\n");
    return {g, title, rect, text, where, name: g.dataset.n, d: Number(g.dataset.d),
      x: parseFloat(rect.getAttribute("x")), w: parseFloat(rect.getAttribute("width"))};
  });
  let zoomed = all[0], at = -1, typing = false, wanted = "";
  const eps = 1e-3;
  const inside = (a, b) => a.x >= b.x - eps && a.x + a.w <= b.x + b.w + eps;
  const label = (f, share) => {
    const room = Math.floor((share / 100 * box.getBoundingClientRect().width - 6) / 6.3);
    const name = Array.from(f.name);
    f.text.textContent = room < 3 ? "" : name.length <= room ? f.name
      : name.slice(0, room - 1).join("") + "…";
  };
  const draw = () => {
    for (const f of all) {
      const above = f.d < zoomed.d && inside(zoomed, f);
      const below = f.d >= zoomed.d && inside(f, zoomed);
      f.g.style.display = above || below ? "" : "none";
      f.g.classList.toggle("up", above);
      if (!above && !below) continue;
      const x = above ? 0 : (f.x - zoomed.x) / zoomed.w * 100;
      const w = above ? 100 : f.w / zoomed.w * 100;
      f.rect.setAttribute("x", x + "%");
      f.rect.setAttribute("width", w + "%");
      f.text.setAttribute("x", x + "%");
      label(f, w);
    }
  };
  const say = (text) => { note.textContent = text; };
  const about = (f) => say(f.title.textContent.split("\n").join(" · "));
  const rest = () => { if (wanted || typing) search(); else say(help); };
  const search = () => {
    let found = null, wrong = false;
    try { found = wanted === "" ? null : new RegExp(wanted, "imu"); } catch { wrong = true; }
    let sum = 0, end = -1, hits = 0;
    for (const f of all) {
      const hit = found !== null && found.test(f.where);
      f.g.classList.toggle("hit", hit);
      if (!hit) continue;
      ++hits;
      if (f.x >= end - eps) { sum += f.w; end = f.x + f.w; }
    }
    const share = Math.min(100, sum / all[0].w * 100).toFixed(1);
    say("search: " + wanted + (typing ? "▏" : "") +
      (wrong ? " · not a regular expression yet"
        : found === null ? "" : " · " + hits + " frames, " + share + "% of the width"));
  };
  const mark = (i) => {
    if (at >= 0) all[at].g.classList.remove("at");
    at = i;
    if (at >= 0) { all[at].g.classList.add("at"); about(all[at]); }
  };
  const shown = (f) => f.g.style.display !== "none";
  const move = (key) => {
    if (at < 0 || !shown(all[at])) return mark(all.indexOf(zoomed));
    const here = all[at], deeper = key === (up ? "ArrowUp" : "ArrowDown");
    let best = -1;
    all.forEach((f, i) => {
      if (!shown(f)) return;
      if (key === "ArrowLeft" || key === "ArrowRight") {
        const right = key === "ArrowRight";
        if (f.d !== here.d || f === here || (f.x > here.x) !== right) return;
        if (best < 0 || (right ? f.x < all[best].x : f.x > all[best].x)) best = i;
      } else if (deeper ? f.d === here.d + 1 && inside(f, here) && best < 0
                        : f.d === here.d - 1 && inside(here, f)) best = i;
    });
    if (best >= 0) mark(best);
  };
  const zoom = (f) => { if (f.w > 0) { zoomed = f; draw(); } };
  const reset = () => { typing = false; wanted = ""; mark(-1); search(); zoom(all[0]); say(help); };
  all.forEach((f, i) => {
    f.g.addEventListener("click", () => { mark(i); zoom(f); });
    f.g.addEventListener("mouseenter", () => about(f));
    f.g.addEventListener("mouseleave", rest);
  });
  addEventListener("keydown", (e) => {
    const find = e.key === "/" || ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "f");
    if (e.key === "Escape") reset();
    else if (find && !(typing && e.key === "/")) { typing = true; wanted = ""; search(); }
    else if (e.ctrlKey || e.metaKey || e.altKey) return;
    else if (typing && e.key === "Enter") { typing = false; search(); }
    else if (typing && e.key === "Backspace") {
      wanted = Array.from(wanted).slice(0, -1).join("");
      search();
    } else if (typing && Array.from(e.key).length === 1) { wanted += e.key; search(); }
    else if (e.key.startsWith("Arrow")) move(e.key);
    else if (e.key === "Enter" && at >= 0) zoom(all[at]);
    else return;
    e.preventDefault();
  });
  addEventListener("resize", draw);
  draw();
})();
)js";

}  // namespace memtool::commands
