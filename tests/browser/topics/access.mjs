// For people who cannot see, or cannot use a mouse: axe's rules (WCAG 2.2 AA and best practices) in every view,
// light and dark, wide and narrow.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const viewer = join(dirname(fileURLToPath(import.meta.url)), "../../../viewer/");
const axe = readFileSync(createRequire(viewer).resolve("axe-core/axe.min.js"), "utf8");

// A page's policy stops scripts of others: axe comes in through the debugger.
async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations
    .map((one) => `${one.id} (${one.impact}): ${one.nodes.slice(0, 3).map((node) => `${node.target.join(" ")} ${node.any[0]?.message ?? node.all[0]?.message ?? ""}`).join("; ")}`));
  return found;
}

export default async function access(it, { testdata }) {
  const { check, start, open, show, shown } = it;
  for (const options of [{}, { colorScheme: "dark" }, { viewport: { width: 390, height: 844 } }]) {
    const name = options.colorScheme ?? (options.viewport === undefined ? "light" : "a phone");
    const page = await start("", options);
    check(`nothing is open yet, ${name}`, (await violations(page)).length === 0, (await violations(page)).join("\n  "));
    await open(page, join(testdata, "torch/small/native.pickle"));
    for (const view of await shown(page)) {
      await show(page, view);
      const found = await violations(page);
      check(`${view}, ${name}`, found.length === 0, `\n  ${found.join("\n  ")}`);
    }
    await page.close();
  }
}
