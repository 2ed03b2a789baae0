// Moments of the command line as events, where the page itself has to draw them.
import type { DeviceFacts } from "../core/inputs";
import { parseEvent } from "../core/state";
import type { Context } from "./context";

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

// So that a line speaks of one device alone, where there are several.
export function deviceWords(context: Context, device: DeviceFacts): string[] {
  return context.first.devices.length > 1 ? ["--device", device.name] : [];
}
