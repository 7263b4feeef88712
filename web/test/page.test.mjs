// The page in Chromium: every view, the time to a drawn result, memory, and hostile input.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import test, { after, before } from "node:test";
import { STORIES } from "../../target/page-modules/stories.js";
import { scenarios } from "../../target/page-modules/shipped.js";
import { CHROMIUM, drawn, launch, open, serve } from "./serve.mjs";

const root = fileURLToPath(new URL("../../target/", import.meta.url));
const PYTHON = process.env.PYTHON ?? `${root}venv/bin/python`;
const shots = `${root}page-shots`;
const skip = CHROMIUM ? false : "Chromium is missing; on Debian: sudo apt-get install chromium";
// `CHANGES=1000` looks for slow growth of the memory.
const CHANGES = Number(process.env.CHANGES ?? 20);
let server, browser;

before(async () => {
  mkdirSync(shots, { recursive: true });
  server = await serve();
  if (CHROMIUM) browser = await launch();
});
after(async () => {
  await browser?.close();
  server.stop();
});

/** Text of the first problem or of the status, once there is one. */
async function faultOf(tab) {
  const selector = ".status.fault, .problems li";
  await tab.waitForSelector(selector, { timeout: 20_000 });
  return tab.$eval(selector, (one) => one.textContent);
}

/** Replaces the text of the editor. */
async function write(tab, text) {
  await tab.click(">>> .cm-content");
  await tab.keyboard.down("Control");
  await tab.keyboard.press("KeyA");
  await tab.keyboard.up("Control");
  await tab.evaluate(async (content) => {
    const editor = document.querySelector(".editor").shadowRoot.querySelector(".cm-content");
    const data = new DataTransfer();
    data.setData("text/plain", content);
    editor.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
  }, text);
}

test("the first load is small", () => {
  const bytes = readdirSync(`${root}page`)
    .filter((name) => !name.endsWith(".txt"))
    .reduce((sum, name) => sum + gzipSync(readFileSync(`${root}page/${name}`)).length, 0);
  console.log(`first load: ${(bytes / 1e6).toFixed(2)} MB compressed`);
  assert.ok(bytes < 1.5e6, `${bytes} bytes`);
});

/** Sets a field of Explore; returns the time from then to the drawn result in ms. */
async function set(tab, name, value) {
  await tab.$eval(
    `#explore-${name}`,
    (field, given) => {
      field.value = given;
      field.dispatchEvent(new Event("change"));
    },
    value,
  );
  return drawn(tab);
}

test("Explore answers a slider, and keeps its memory", { skip, timeout: 900_000 }, async () => {
  const { tab, faults } = await open(browser, server.address);
  await drawn(tab);
  assert.match(await tab.$eval(".verdict", (one) => one.textContent), /bottleneck fell from 60 to/);
  const times = [];
  const memories = [];
  for (let change = 0; change < CHANGES; change++) {
    times.push(await set(tab, "rate", 30 + (change % 60)));
    const { JSHeapUsedSize } = await tab.metrics();
    const modules = Number(await tab.$eval(".results", (one) => one.dataset.memory));
    memories.push(modules + JSHeapUsedSize);
  }
  times.sort((a, b) => a - b);
  const [half, last] = [Math.floor(CHANGES / 2), CHANGES - 1];
  console.log(`change to drawn: median ${times[half]} ms, greatest ${times[last]} ms`);
  const [before, end] = [memories.slice(0, half), memories.slice(half)].map((one) => Math.max(...one));
  console.log(`memory: ${(before / 1e6).toFixed(0)} MB in the first half, then ${(end / 1e6).toFixed(0)} MB`);
  assert.ok(end <= 1.5 * before, "memory grew");
  await set(tab, "rate", 60);
  console.log(`50 flows: change to drawn ${await set(tab, "flows", 50)} ms`);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("Explore drops stale runs while a slider moves", { skip }, async () => {
  const { tab, faults } = await open(browser, server.address);
  await drawn(tab);
  const rates = await tab.evaluate(async () => {
    const slider = document.querySelector("input[type=range]");
    for (let step = 0; step < 40; step++) {
      slider.value = 3 + step / 20;
      slider.dispatchEvent(new Event("input"));
      await new Promise(requestAnimationFrame);
    }
    slider.dispatchEvent(new Event("change"));
    return document.querySelector("#explore-rate").value;
  });
  await drawn(tab);
  const verdict = await tab.$eval(".verdict", (one) => one.textContent);
  assert.match(verdict, new RegExp(`fell from ${rates} to`));
  assert.deepEqual(faults, []);
  await tab.close();
});

test("Explore works by keyboard, and its address restores it", { skip }, async () => {
  const { tab } = await open(browser, `${server.address}#explore:rate=20&drop=50&controls=cubic`);
  await drawn(tab);
  assert.match(await tab.$eval(".verdict", (one) => one.textContent), /fell from 20 to 10\sMbit/);
  await tab.focus("figure");
  for (const key of ["+", "ArrowLeft", "ArrowLeft"]) await tab.keyboard.press(key);
  const caption = await tab.$eval(".readout caption", (one) => one.textContent);
  assert.match(caption, /Values at 2\d\.\d+ s/);
  await tab.close();
});

test("Write runs every shipped scenario of the menu", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#write`);
  for (const path of Object.keys(scenarios)) {
    await tab.select("select", path);
    await drawn(tab);
    const status = await tab.$eval(".status", (one) => one.textContent);
    assert.match(status, /Done in/, path);
  }
  assert.deepEqual(faults, []);
  await tab.close();
});

test("Write shows errors at their place, and its link holds the scenario", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#write`);
  await drawn(tab);
  const text = scenarios["bursts.toml"].replace("What offload's", "<img src=x onerror=alert(1)>");
  await write(tab, text.replace("100Mbit", "100Mbitt"));
  assert.match(await faultOf(tab), /line \d+, column \d+.*100Mbitt/);
  await write(tab, text);
  await tab.waitForFunction(() => !document.querySelector(".problems li"));
  await tab.evaluate(() =>
    [...document.querySelectorAll("button")].find((one) => /Link/.test(one.textContent)).click(),
  );
  await tab.waitForSelector(".side input:not([hidden])");
  const link = await tab.$eval(".side input", (one) => one.value);
  const again = await open(browser, link);
  await drawn(again.tab);
  const held = await again.tab.$eval(".editor", (one) => one.shadowRoot.textContent);
  assert.ok(held.includes("<img src=x onerror=alert(1)>"));
  assert.deepEqual([...faults, ...again.faults], []);
  await tab.close();
  await again.tab.close();
});

test("Draw shows the unavoidable delay of a drawing and of a trace", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#draw`);
  await drawn(tab);
  const box = await (await tab.$("canvas")).boundingBox();
  await tab.mouse.move(box.x + 0.3 * box.width, box.y + 0.8 * box.height);
  await tab.mouse.down();
  await tab.mouse.move(box.x + 0.7 * box.width, box.y + 0.9 * box.height, { steps: 10 });
  await tab.mouse.up();
  await drawn(tab);
  const text = () => tab.$eval(".side .scroll", (one) => one.textContent);
  assert.match(await text(), /Unavoidable: [\d.]+ m?s.*cubic/s);
  await tab.evaluate(() =>
    [...document.querySelectorAll("button")].find((one) => /Cellular/.test(one.textContent)).click(),
  );
  await drawn(tab);
  assert.match(await tab.$eval(".verdict", (one) => one.textContent), /follows a trace/);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("Learn: every story has its answer", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#learn`);
  for (const [place, story] of STORIES.entries()) {
    await tab.waitForSelector(".stories button");
    const tabs = await tab.$$(".stories button");
    await tabs[place].click();
    await drawn(tab);
    const options = await tab.$$(".question > button");
    await options[(story.right + 1) % options.length].click();
    assert.match(await tab.$eval(".answer", (one) => one.textContent), /^No/);
    await options[story.right].click();
    await (await tab.waitForSelector(".answer button.main")).click();
    await drawn(tab);
    assert.match(await tab.$eval(".status", (one) => one.textContent), /Done/, story.key);
  }
  assert.deepEqual(faults, []);
  await tab.close();
});

test("`sojourn view` shows recorded runs", { skip }, async () => {
  const runs = mkdtempSync(`${tmpdir()}/sojourn-page-`);
  const sojourn = (...args) => [PYTHON, ["-m", "sojourn", ...args]];
  execFileSync(...sojourn("run", `${root}../scenarios/cellular.toml`, "--out", `${runs}/cellular`));
  const child = spawn(...sojourn("view", runs), { cwd: `${root}..` });
  try {
    const said = await new Promise((resolve) => child.stdout.once("data", resolve));
    const { tab, faults } = await open(browser, /http:\S+/.exec(String(said))[0]);
    await drawn(tab);
    assert.match(await tab.$eval(".verdict", (one) => one.textContent), /follows a trace/);
    await (await tab.waitForSelector(".side > button")).click();
    await tab.waitForSelector(".editor");
    await drawn(tab);
    assert.match(await tab.$eval(".verdict", (one) => one.textContent), /follows a trace/);
    assert.deepEqual(faults, []);
    await tab.close();
  } finally {
    child.kill();
    rmSync(runs, { recursive: true });
  }
});

test("runs of minutes or gigabytes are refused or cancelled", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#write`);
  await drawn(tab);
  const large = scenarios["capacity-drop.toml"].replace('"60s"', '"1000000s"');
  await write(tab, large.replace('title ', 'record.interval = "100s"\ntitle '));
  await tab.click("button.main");
  const cancel = await tab.waitForSelector(".top button:not([hidden])", { timeout: 10_000 });
  await cancel.click();
  assert.match(await faultOf(tab), /Stopped at/);
  await write(tab, scenarios["capacity-drop.toml"].replace("60Mbit", "60000Gbit"));
  await tab.click("button.main");
  assert.match(await faultOf(tab), /Refused: a run may need .* GiB/);
  // The page still answers.
  await write(tab, scenarios["bursts.toml"]);
  await tab.click("button.main");
  await drawn(tab);
  assert.deepEqual(faults, []);
  await tab.close();
});

for (const width of [420, 1400, 2560]) {
  for (const dark of [false, true]) {
    test(`looks at ${width} px, ${dark ? "dark" : "light"}`, { skip }, async () => {
      for (const view of ["explore", "draw", "write", "learn"]) {
        const { tab } = await open(browser, `${server.address}#${view}`, { width, dark });
        await drawn(tab);
        const path = `${shots}/${view}-${width}-${dark ? "dark" : "light"}.png`;
        await tab.screenshot({ path, fullPage: true });
        const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${view} is ${overflow} px too wide`);
        await tab.close();
      }
    });
  }
}
