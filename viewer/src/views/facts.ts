// Facts: everything that info says, and what reading noted.
import { asText } from "../core/answers";
import { clear, h } from "../core/dom";
import type { View } from "../ui/context";
import { grid } from "../ui/grid";

export const facts: View = {
  id: "facts",
  title: "Facts",
  shows: () => true,
  async draw(context, into) {
    const answer = await context.json(["info", ...context.names]);
    clear(into,
      grid({
        columns: [
          { key: "property", title: "Property", kind: "text" },
          { key: "value", title: "Value", kind: "text" },
        ],
        rows: answer.rows,
        most: 1000,
      }),
      ...answer.diagnostics.map((note) => h("p", { class: "note" }, `${asText(note.severity)}: ${asText(note.message)}`)));
  },
};
