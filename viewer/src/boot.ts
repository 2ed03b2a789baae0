// The only script that the page holds as such: unpacks the other one, whose hash the policy knows.
import { unarmoured } from "./core/armour";
import { inflated, taken } from "./core/packed";

async function boot(): Promise<void> {
  const script = document.createElement("script");
  script.textContent = await (await inflated(unarmoured(taken("memtool-main")))).text();
  document.body.append(script);
}

boot().catch((error: unknown) => {
  document.body.append(`This browser cannot unpack the page (Chromium 103 and Firefox 113 can): ${String(error)}`);
  document.body.dataset["state"] = "failed";
});
