// What the names of several inputs say of how they differ, such as batch8.pickle and batch16.pickle.

const kParameters = /^(?:batch|batchsize|bs|mbs|seq|seqlen|length|len|ctx|context|tokens|size|layers|heads|hidden|dim|width)$/i;
const kParts = /^(?:rank|gpu|device|node|host|worker|local|step|iteration|epoch|run|attempt)$/i; // of one job

// NAME=A,B of the one place where their numbers differ; empty where there is none.
export function guessParameter(names: string[]): string {
  const parts = names.map((name) => name.split("/").at(-1)!.split(/(\d+)/));
  const first = parts[0] ?? [];
  if (names.length < 2 || parts.some((one) => one.length !== first.length)) {
    return "";
  }
  const differ = first.map((_part, i) => i).filter((i) => parts.some((one) => one[i] !== first[i]));
  const at = differ[0];
  if (differ.length !== 1 || at === undefined || at % 2 === 0 || new Set(parts.map((one) => Number(one[at]))).size < names.length) {
    return "";
  }
  const [, word = "", apart = ""] = /([A-Za-z]+)([^A-Za-z]*)$/.exec(first[at - 1]!) ?? [];
  if (kParts.test(word)) {
    return "";
  }
  const name = word !== "" && (apart === "" || apart === "=" || kParameters.test(word)) ? word : "x";
  return `${name}=${parts.map((one) => String(Number(one[at]))).join(",")}`;
}

// NAME=A,B@N: what they differ in, its values, and the value to predict.
export interface Parameter {
  name: string;
  values: string[];
  at: string;
}

export function readParameter(text: string): Parameter {
  const [left = "", at = ""] = text.split("@");
  const cut = left.indexOf("=");
  return { name: left.slice(0, Math.max(0, cut)), values: left.slice(cut + 1).split(",").map((one) => one.trim()), at };
}

export function writeParameter({ name, values, at }: Parameter): string {
  return `${name}=${values.join(",")}${at === "" ? "" : `@${at}`}`;
}
