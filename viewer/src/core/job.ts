// The files that are open: dropped, chosen, or carried by a report; those that are looked at, in order, and those that they
// are compared with.
import { inflated } from "./packed";
import type { Mounted } from "./protocol";

export interface Job {
  inputs: Mounted[];
  bases: Mounted[];
  leftOut?: Mounted[]; // of several inputs, those that cannot be read
}

function decodeData(element: Element): Uint8Array {
  const text = atob((element.textContent ?? "").trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) {
    bytes[i] = text.charCodeAt(i);
  }
  return bytes;
}

export async function carried(): Promise<Job> {
  const job: Job = { inputs: [], bases: [] };
  for (const element of document.querySelectorAll("script.memtool-data")) {
    const bytes = decodeData(element);
    const data = element.getAttribute("data-encoding") === "deflate-raw"
      ? await inflated(bytes) : new Blob([bytes as BlobPart]);
    const input = { name: element.getAttribute("data-name") ?? "input", data };
    (element.getAttribute("data-role") === "base" ? job.bases : job.inputs).push(input);
    element.remove();
  }
  return job;
}

// Of two inputs of one name the second is in a folder, 2; a name is never taken for an option.
export function named(job: Job): Job {
  const taken = new Set<string>();
  const give = (input: Mounted): Mounted => {
    const bare = input.name.replace(/^-/, "./-");
    const plain = taken.has(bare) ? bare.replace(/^(?:\d+\/)?/, "") : bare;
    let name = plain;
    for (let folder = 2; taken.has(name); ++folder) {
      name = `${folder}/${plain}`;
    }
    taken.add(name);
    return { name, data: input.data };
  };
  return { inputs: job.inputs.map(give), bases: job.bases.map(give), leftOut: (job.leftOut ?? []).map(give) };
}

export function allOf(job: Job): Mounted[] {
  return [...job.inputs, ...job.bases, ...(job.leftOut ?? [])];
}

export type Arrangement = "up" | "down" | "remove" | "base" | "input" | "swap";

// The same files in another order, or with other parts; the last input stays one.
export function arranged(job: Job, what: Arrangement, name: string): Job {
  return { ...job, ...arrangedParts(job, what, name) };
}

function arrangedParts({ inputs, bases }: Job, what: Arrangement, name: string): Pick<Job, "inputs" | "bases"> {
  const without = (list: Mounted[]): Mounted[] => list.filter((one) => one.name !== name);
  const chosen = [...inputs, ...bases].filter((one) => one.name === name);
  switch (what) {
    case "remove":
      return { inputs: inputs.length > 1 || bases.some((one) => one.name === name) ? without(inputs) : inputs, bases: without(bases) };
    case "base":
      return inputs.length > 1 ? { inputs: without(inputs), bases: chosen }
        : { inputs: bases, bases: inputs }; // the only one changes places with what it was compared with
    case "input":
      return { inputs: [...without(inputs), ...chosen], bases: without(bases) };
    case "swap":
      return { inputs: bases, bases: inputs };
    default: {
      const at = inputs.findIndex((one) => one.name === name);
      const to = Math.max(0, Math.min(inputs.length - 1, at + (what === "up" ? -1 : 1)));
      const order = without(inputs);
      order.splice(to, 0, ...chosen.filter(() => at >= 0));
      return { inputs: order, bases };
    }
  }
}

// Whether both have the same files under the same names, in any order and part.
export function sameFiles(a: Job, b: Job): boolean {
    return allOf(a).length === allOf(b).length &&
    allOf(a).every((one) => allOf(b).some((other) => other.name === one.name && other.data === one.data));
}

export function mounted(files: FileList | null): Mounted[] {
  return [...(files ?? [])].map((file) => ({ name: file.name, data: file }));
}
