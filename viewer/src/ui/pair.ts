// The recorded timeline and that of a change, of one scale.
import { Chart } from "../charts/chart";
import { Colors } from "../charts/series";
import { asNumber, type Answer, type Row } from "../core/answers";
import { h } from "../core/dom";
import { kDefaults } from "../core/state";
import type { Context } from "./context";
import { firstDevice } from "./moment";

// `changed`: the words of the command line that change it, such as --change accumulate=2.
export async function pair(context: Context, title: string, changed: string[]): Promise<HTMLElement> {
  const device = firstDevice(context)!;
  const words = (more: string[]): string[] =>
    ["timeline", "--by", "function", "--top", "7", "--points", "600", ...more, ...context.deviceAndFrames, context.first.name];
  const answers = [await context.json(words([])), await context.json(words(changed))];
  const rowsOf = (answer: Answer): Row[] => answer.rows.filter((row) => asNumber(row["device"]) === device.device);
  const most = (answer: Answer, key: string): number => Math.max(0, ...rowsOf(answer).map((row) => asNumber(row[key])));
  const ceiling = Math.max(...answers.map((answer) => Math.max(most(answer, "allocated"), most(answer, "reserved"))));
  const colors = new Colors();
  return h("div", { class: "pair" }, ...answers.map((answer, i) => {
    const chart = new Chart({
      device: { ...device, events: asNumber(rowsOf(answer).at(-1)?.["event"]) + 1 },
      name: i === 0 ? "as recorded" : `with ${title}`, time: false, firstTime: undefined, colors, whole: answer, height: 240, ceiling,
      state: () => kDefaults, range: () => undefined, choose: () => undefined,
      layer: (layer) => context.change({ view: "table", row: layer.name }),
    });
    chart.refine(undefined, undefined);
    return chart.element;
  }));
}
