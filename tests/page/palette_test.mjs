// Text is readable on every colour, and no two layers look the same to anybody: their colours are
// apart, or their patterns differ. usage: node palette_test.mjs
import assert from "node:assert/strict";
import { contrast, distance, kEyes } from "./colors.mjs";
import { load } from "./front_end.mjs";

const { kBefore, kLayers, kOnColor, kRest, roleFill, textOn, theme, tile, toFill } = await load("charts/palette.ts");

// The measures themselves.
assert.ok(Math.abs(contrast("#000", "#fff") - 21) < 1e-9 && Math.abs(contrast("#767676", "#ffffff") - 4.54) < 0.01);
assert.ok(distance("#d00000", "#6b6b00", "usual") > 50 && distance("#8c6d00", "#6d7a00", "deuteranopia") < 15 && distance("#fff", "#000", "usual") > 99);

const kText = 4.5; // WCAG AA
const kEdge = 3; // of what is no text
const kApart = 12; // Lab: next to each other, easily told
let least = Infinity;
for (const palette of ["", "safe", "contrast"]) {
  for (const dark of [false, true]) {
    const where = `${palette || "usual"}, ${dark ? "dark" : "light"}`;
    const colors = theme(dark, palette);
    for (const ground of ["paper", "shade"]) {
      for (const text of ["ink", "soft", "accent", "alarm", "mark"]) {
        const found = contrast(colors[text], colors[ground]);
        assert.ok(found >= (palette === "contrast" && text !== "mark" ? 7 : kText), `${where}: ${text} on ${ground}: ${found.toFixed(2)}`);
      }
    }
    assert.ok(contrast(colors.live, colors.paper) >= kEdge, `${where}: live: ${contrast(colors.live, colors.paper)}`);
    const layers = kLayers.map((color) => toFill(color, dark, palette));
    layers.forEach((fill, i) => assert.ok(contrast(kOnColor, fill.color) >= kText, `${where}: text on layer ${i}: ${contrast(kOnColor, fill.color)}`));
    const roles = ["live", "pools", "pending", "cached", "outside", "others", "unknown", "free"].map((role) => [role, roleFill(role, dark, palette)]);
    for (const [role, fill] of roles) {
      assert.ok(contrast(textOn(fill.color), fill.color) >= kText, `${where}: text on ${role}: ${contrast(textOn(fill.color), fill.color)}`);
    }
    for (const gray of [kRest, kBefore]) {
      const { color } = toFill(gray, dark, palette);
      assert.ok(contrast(textOn(color), color) >= kText, `${where}: text on ${color}: ${contrast(textOn(color), color)}`);
    }
    const drawn = [...layers.map((fill, i) => [`layer ${i}`, fill]), ["rest", toFill(kRest, dark, palette)], ["before", toFill(kBefore, dark, palette)]];
    for (const set of [drawn, roles]) {
      for (const [i, [name, fill]] of set.entries()) {
        for (const [other, against] of set.slice(i + 1)) {
          for (const eyes of Object.keys(kEyes)) {
            const apart = distance(fill.color, against.color, eyes);
            least = Math.min(least, fill.hatch === against.hatch ? apart : Infinity);
            assert.ok(fill.hatch !== against.hatch || apart >= kApart, `${where}, ${eyes}: ${name} and ${other}: ${apart.toFixed(1)}`);
          }
        }
      }
    }
    // A pattern is seen at all.
    for (const [name, fill] of [...drawn, ...roles]) {
      assert.equal(fill.hatch === "", tile(fill.hatch) === "", name);
    }
  }
}
console.log(`palettes: text is readable, what has one pattern is ${least.toFixed(1)} apart at least`);
