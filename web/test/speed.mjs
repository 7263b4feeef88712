// Measures the page in Chromium, on a machine that does nothing else: node test/speed.mjs [CHANGES].
// It prints the size of the first load, and the times to the first picture, from a slider to the first
// picture of its drag, and to the final one, in ms: on this processor, and with the page's thread slowed
// four times, as on a phone.
import { drawn, launch, open, serve } from "./serve.mjs";

const CHANGES = Number(process.argv[2] ?? 15);
const SLOWDOWNS = [1, 4];

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** A tab whose thread, and those of its workers, are slowed. */
async function slowed(browser, address, rate) {
  const { tab } = await open(browser, "about:blank");
  await tab.emulateCPUThrottling(rate);
  tab.on("workercreated", (worker) => {
    // Chromium may refuse it for workers, whose times are then those of this processor.
    worker.client.send("Emulation.setCPUThrottlingRate", { rate }).catch(() => (refused = true));
  });
  await tab.goto(address);
  return tab;
}

/** The time until the mark of the first picture. */
const firstPicture = (tab) =>
  tab.waitForFunction(() => performance.getEntriesByName("drawn")[0]?.startTime).then((one) => one.jsonValue());

/** From a move of the first slider, or its end, to the results. */
function moved(tab, kind, step) {
  return tab.evaluate(
    async (event, place) => {
      const slider = document.querySelector("input[type=range]");
      slider.value = Number(slider.min) + (Number(slider.max) - Number(slider.min)) * (0.58 + 0.01 * place);
      const results = document.querySelector(".results");
      const began = performance.now();
      slider.dispatchEvent(new Event(event));
      while (!results.dataset.drawnMs) await new Promise(requestAnimationFrame);
      return performance.now() - began;
    },
    kind,
    step % 5,
  );
}

let refused = false;
const server = await serve();
const browser = await launch();
for (const rate of SLOWDOWNS) {
  const pictures = [];
  for (const view of ["gallery", "explore"]) {
    const tab = await slowed(browser, `${server.address}#${view}`, rate);
    pictures.push(`${view} ${Math.round(await firstPicture(tab))}`);
    await tab.close();
  }
  const tab = await slowed(browser, `${server.address}#explore`, rate);
  await drawn(tab);
  const times = {};
  for (const kind of ["input", "change"]) {
    times[kind] = [];
    for (let step = 0; step < CHANGES; step++) times[kind].push(await moved(tab, kind, step));
  }
  const text = `drag ${Math.round(median(times.input))}, final ${Math.round(median(times.change))}`;
  console.log(`slowed ${rate} times: first picture ${pictures.join(", ")}; five controllers over 60 s: ${text} ms`);
  await tab.close();
}
if (refused) console.log("Chromium did not slow the workers.");
await browser.close();
server.stop();
