// What `info` says of each input: what it can answer, its devices and its labels.
import { asNumber, asText, type Answer } from "./answers";

const kDefaultBy = "filefunction";

export interface DeviceFacts {
  device: number;
  name: string; // for --device
  events: number;
  peakEvent: number;
  peakBytes: number;
  oomEvents: number[];
}

export interface InputFacts {
  name: string;
  format: string;
  can: (command: string) => boolean; // whether the command has an answer for it
  hasHistory: boolean;
  nests: boolean; // there is more than one function, so that one calls another
  labels: string[];
  defaultBy: string; // what rows stand for where nobody chooses
  devices: DeviceFacts[];
  only?: string; // the one command that reads it, of what is no recording
}

// Text with a failure's message, and digests of a job's ranks, are no recordings: one command each reads them.
export function readBy(command: string, names: string[]): InputFacts[] {
  return names.map((name) => ({ name, format: "", can: (one) => one === command, hasHistory: false, nests: false, labels: [], defaultBy: kDefaultBy, devices: [], only: command }));
}

export function readInputs(info: Answer): InputFacts[] {
  return info.inputs.map((note): InputFacts => {
    const devices = ((note["devices"] as Record<string, unknown>[] | undefined) ?? []).map((device): DeviceFacts => ({
      device: asNumber(device["device"]),
      name: asText(device["name"]),
      events: asNumber(device["events"]),
      peakEvent: asNumber(device["peak_event"]),
      peakBytes: asNumber(device["peak_bytes"]),
      oomEvents: ((device["oom_events"] as number[] | undefined) ?? []).map(asNumber),
    }));
    const answers = note["answers"] as string[] | undefined;
    return {
      name: note.path,
      format: note.format,
      // Where the core does not list them, every view is offered and shows why it has nothing.
      can: (command) => answers === undefined || answers.includes(command),
      hasHistory: devices.some((device) => device.events > 0),
      nests: asNumber(note["functions"]) !== 1,
      labels: ((note["labels"] as unknown[] | undefined) ?? []).map(asText),
      defaultBy: asText(note["default_by"]) || kDefaultBy,
      devices,
    };
  });
}
