// The distribution's browsers, as playwright-core drives them: Chromium over its own protocol, a
// stock Firefox over WebDriver BiDi.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const viewer = join(dirname(fileURLToPath(import.meta.url)), "../../viewer/");
const { chromium, firefox } = createRequire(viewer)("playwright-core");

export function launch(executablePath, isFirefox) {
  return isFirefox
    ? firefox.launch({ channel: "moz-firefox", executablePath })
    : chromium.launch({ executablePath, args: ["--no-sandbox"] });
}
