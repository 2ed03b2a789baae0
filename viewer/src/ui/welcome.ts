// What one sees before a file is open: what can be dropped here, how to record it, two examples.
import { unarmoured } from "../core/armour";
import { h } from "../core/dom";
import type { Job } from "../core/job";

// Files that the page carries (build.mjs), unpacked when they are asked for.
function example(name: string): Job {
  const job: Job = { inputs: [], bases: [] };
  for (const element of document.querySelectorAll<HTMLElement>(`script[data-example="${name}"]`)) {
    const data = new Blob([unarmoured((element.textContent ?? "").trim()) as BlobPart]);
    (element.dataset["role"] === "base" ? job.bases : job.inputs).push({ name: element.dataset["name"]!, data });
  }
  return job;
}

const kExamples: [name: string, title: string, what: string][] = [
  ["oom", "A training step that ran out of memory",
    "A snapshot of PyTorch with its history: a small transformer on a card of 560 MiB. Why the second step failed, and which change makes it fit."],
  ["leak", "A list that keeps growing",
    "Two memory profiles of JAX, eight steps apart: what grew between them, and the line that holds it."],
];

const kRecordings: [what: string, how: string, more: string][] = [
  ["JAX", 'jax.profiler.save_device_memory_profile("memory.prof")', "what is live at that moment; traces of its profiler (.xplane.pb) are read, too"],
  ["PyTorch", "torch.cuda.memory._record_memory_history(max_entries=1000000)", "early, before the model is made"],
  ["", 'torch.cuda.memory._dump_snapshot("snapshot.pickle")', "at the end, or where the error is caught"],
  ["MXNet", "mx.profiler.set_config(profile_memory=True, gpu_memory_profile_filename_prefix='memory')", "then set_state('run') and dump(); logs of TBD and Echo as well"],
  ["Any program", "memtool run -- python train.py", "what it takes from the driver, whoever asks"],
  ["Logs", "python train.py 2>&1 | tee train.log", "of training or of serving (vLLM, SGLang, llama.cpp, DeepSpeed, nvidia-smi): what they say of memory, and the message of one that ran out"],
];

export function welcome(open: (job: Job) => void, choose: () => void): HTMLElement {
  const pasted = h("textarea", { id: "paste", rows: 3, spellcheck: "false", "aria-label": "an out-of-memory message",
    placeholder: "an out-of-memory message, or the part of a log around it" });
  return h("div", { class: "welcome" },
    h("section", {},
      h("h2", {}, "What holds the memory of your GPU or TPU?"),
      h("p", {}, "Drop a file anywhere on this page, or ",
        h("button", { type: "button", class: "link", click: choose }, "choose one"),
        ": a memory profile, a snapshot, a trace or a log. Several at once are shown together."),
      h("p", { class: "note" }, "Nothing leaves this machine: the page is forbidden to use the network, and reads files in place.")),
    h("section", {},
      h("h3", {}, "Or paste a message"), pasted,
      h("p", {}, h("button", { type: "button", id: "why", click: () => open({ inputs: [{ name: "pasted.log", data: new Blob([pasted.value]) }], bases: [] }) },
        "why did it run out?"))),
    h("section", {},
      h("h3", {}, "To look around first"),
      h("div", { class: "examples" }, ...kExamples.map(([name, title, what]) =>
        h("button", { type: "button", id: `example-${name}`, click: () => open(example(name)) }, h("b", {}, title), h("span", {}, what))))),
    h("section", {},
      h("h3", {}, "To record one"),
      h("dl", { class: "facts" }, ...kRecordings.flatMap(([what, how, more]) =>
        [h("dt", {}, what), h("dd", {}, h("code", {}, how), h("span", { class: "note" }, more))]))));
}
