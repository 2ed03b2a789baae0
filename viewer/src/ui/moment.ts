// Moments of the command line as events, where the page itself has to draw them.
import { asNumber, asText } from "../core/answers";
import type { DeviceFacts } from "../core/inputs";
import { parseEvent } from "../core/state";
import type { Context } from "./context";
import type { Column } from "./grid";

// For moments that the page can resolve itself; others, such as time:S, only the core can.
export function chosenEvent(context: Context, device: DeviceFacts): number | undefined {
  const { at } = context.state;
  return at === "start" ? -1
    : at === "end" ? device.events - 1
    : at === "" ? device.oomEvents.at(-1) ?? device.peakEvent
    : at === "peak" ? device.peakEvent
    : parseEvent(at);
}

// The first with a history, of those that are shown.
export function firstDevice(context: Context): DeviceFacts | undefined {
  const { device } = context.state;
  return context.first.devices.find((one) => one.events > 0 && (device === "" || String(one.device) === device || one.name === device));
}

export function deviceColumn({ first }: Context): Column {
  return { key: "device", title: "Device", kind: "text",
    text: (row) => first.devices.find((one) => one.device === asNumber(row["device"]))?.name ?? asText(row["device"]) };
}

// So that a line speaks of one device alone, where there are several.
export function deviceWords(context: Context, device: DeviceFacts): string[] {
  return context.first.devices.length > 1 ? ["--device", device.name] : [];
}
