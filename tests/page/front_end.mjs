// Modules of the front end, bundled for node.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const viewer = join(dirname(fileURLToPath(import.meta.url)), "../../viewer/");
export const sources = join(viewer, "src");

export async function load(path) {
  const { buildSync } = createRequire(viewer)("esbuild");
  const { outputFiles } = buildSync({ entryPoints: [join(sources, path)], bundle: true, write: false, format: "esm" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
