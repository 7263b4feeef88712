// The page in Chromium: every view, the time to a drawn result, memory, and hostile input.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
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
const CHANGES = Number(process.env.CHANGES ?? 30);
const MOST_GROWTH_KB = 20;
const OPERATED = ["button", "checkbox", "combobox", "link", "slider", "spinbutton", "textbox"];
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

/** Presses the button with this text. */
async function press(tab, text) {
  await (await tab.waitForSelector(`::-p-xpath(//button[normalize-space()="${text}"])`)).click();
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

test("the first load is small, without the parts that views load later", () => {
  const html = readFileSync(`${root}page/index.html`, "utf8");
  const linked = [...html.matchAll(/(?:href|src)="([\w.-]+)"/g)].map(([, name]) => name);
  const names = new Set([...linked, "index.html", "worker.js"]);
  const bytes = [...names].reduce((sum, name) => sum + gzipSync(readFileSync(`${root}page/${name}`)).length, 0);
  console.log(`first load: ${mb(bytes)} MB compressed in ${names.size} files`);
  assert.ok(names.has("sojourn.wasm") && names.has("page.js"));
  assert.ok(bytes < 1e6, `${bytes} bytes`);
});

test("the licences are those of the packages, the crates and Rust", () => {
  const text = readFileSync(`${root}page/licences.txt`, "utf8");
  for (const name of ["@codemirror/view", "serde_json", "rand_xoshiro", "hashbrown", "standard library of Rust"]) {
    assert.ok(text.includes(name), name);
  }
  assert.ok(!text.includes("serde_derive"));
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

/** Changes the rate some times; returns the memory of the modules and of the page. */
async function changes(tab, debug, count) {
  for (let change = 0; change < count; change++) await set(tab, "rate", 89 - (change % 60));
  // The second round frees what finalizers released.
  for (let round = 0; round < 2; round++) await debug.send("HeapProfiler.collectGarbage");
  const { JSHeapUsedSize } = await tab.metrics();
  return JSHeapUsedSize + Number(await tab.$eval(".results", (one) => one.dataset.memory));
}

/** The slope of equidistant values by least squares, in their unit per step. */
function slopeOf(values) {
  const middle = (values.length - 1) / 2;
  const weights = values.map((_, place) => place - middle);
  const sum = (all) => all.reduce((one, other) => one + other, 0);
  return sum(values.map((value, place) => weights[place] * value)) / sum(weights.map((one) => one * one));
}

const mb = (bytes) => (bytes / 1e6).toFixed(1);

test("the first results come soon", { skip }, async () => {
  const { tab } = await open(browser, `${server.address}#explore`);
  await drawn(tab);
  const [ready, results] = await tab.evaluate(() => [
    performance.getEntriesByName("ready")[0].startTime,
    performance.now(),
  ]);
  console.log(`page ready after ${ready.toFixed(0)} ms, first results after ${results.toFixed(0)} ms`);
  await tab.close();
});

test("a server may not know the type of the module", { skip }, async () => {
  const other = await serve({ ".wasm": "application/octet-stream" });
  const { tab, faults } = await open(browser, `${other.address}#explore`);
  await drawn(tab);
  assert.deepEqual(faults, []);
  await tab.close();
  other.stop();
});

test("everything that can be operated has a name", { skip }, async () => {
  for (const view of ["explore", "draw", "write", "learn"]) {
    const { tab } = await open(browser, `${server.address}#${view}`);
    await drawn(tab);
    const nameless = (node) => [
      ...(OPERATED.includes(node.role) && !node.name ? [node] : []),
      ...(node.children ?? []).flatMap(nameless),
    ];
    assert.deepEqual(nameless(await tab.accessibility.snapshot()), [], view);
    await tab.close();
  }
});

test("Explore answers a slider, and keeps its memory", { skip, timeout: 900_000 }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#explore`);
  await drawn(tab);
  assert.match(await tab.$eval(".verdict", (one) => one.textContent), /bottleneck fell from 60 to/);
  const times = [];
  for (let change = 0; change < 15; change++) times.push(await set(tab, "rate", 55 + (change % 10)));
  times.sort((a, b) => a - b);
  console.log(`change to drawn: median ${times[7]} ms, greatest ${times[14]} ms`);
  await set(tab, "rate", 60);
  console.log(`50 flows: change to drawn ${await set(tab, "flows", 50)} ms`);
  await set(tab, "duration", 5);
  const debug = await tab.createCDPSession();
  // The greatest rates of all come in the warm-up, so that the modules have their final size.
  await changes(tab, debug, 10);
  const step = Math.ceil(CHANGES / 6);
  const used = [];
  for (let part = 0; part < 6; part++) used.push(await changes(tab, debug, step));
  const growth = slopeOf(used) / step / 1000;
  console.log(`memory after ${6 * step} changes ${mb(used[5])} MB, growing by ${growth.toFixed(1)} kB a change`);
  assert.ok(growth <= MOST_GROWTH_KB, `memory grew by ${growth} kB a change: ${used.map(mb)} MB`);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("Explore drops stale runs while a slider moves", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#explore`);
  await drawn(tab);
  // A steady drag draws results before it ends.
  await tab.evaluate(() => {
    window.drawings = 0;
    const note = () => (window.drawings += 1);
    new MutationObserver(note).observe(document.querySelector("figure .plot"), { childList: true });
  });
  const rates = await tab.evaluate(async () => {
    const slider = document.querySelector("input[type=range]");
    for (let step = 0; step < 120; step++) {
      slider.value = 3 + step / 100;
      slider.dispatchEvent(new Event("input"));
      await new Promise(requestAnimationFrame);
    }
    window.during = window.drawings;
    slider.dispatchEvent(new Event("change"));
    return document.querySelector("#explore-rate").value;
  });
  await drawn(tab);
  const verdict = await tab.$eval(".verdict", (one) => one.textContent);
  assert.match(verdict, new RegExp(`fell from ${rates} to`));
  const drawings = await tab.evaluate(() => window.during);
  console.log(`drawings in a drag of two seconds: ${drawings}`);
  assert.ok(drawings > 0);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("Explore works by keyboard, and its address restores it", { skip }, async () => {
  const { tab } = await open(browser, `${server.address}#explore:rate=20&to=10&controls=cubic`);
  await drawn(tab);
  assert.match(await tab.$eval(".verdict", (one) => one.textContent), /fell from 20 to 10\sMbit/);
  await tab.focus("figure");
  for (const key of ["+", "ArrowLeft", "ArrowLeft"]) await tab.keyboard.press(key);
  assert.match(await tab.$eval(".cursor-time", (one) => one.textContent), /at 3\d\.\d+ s/);
  assert.match(await tab.$eval("[data-line=cubic] .value", (one) => one.textContent), /^[\d.]+$/);
  await tab.close();
});

test("results are saved as files", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#explore`);
  await drawn(tab);
  await tab.evaluate(() => {
    window.saved = {};
    window.names = [];
    HTMLAnchorElement.prototype.click = function () {
      window.names.push(this.download);
    };
    const make = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
      window.saved[blob.type] = blob.text();
      return make.call(URL, blob);
    };
  });
  await tab.click(".share summary");
  for (const name of ["TOML", "CSV", "Parquet", "JSON", "PNG", "SVG"]) await press(tab, name);
  await tab.waitForFunction(() => Object.keys(window.saved).length === 6);
  const saved = await tab.evaluate(async () =>
    Object.fromEntries(await Promise.all(Object.entries(window.saved).map(async ([k, v]) => [k, await v]))),
  );
  assert.match(saved["application/toml"], /^\[link.bottleneck/m);
  assert.ok(saved["text/csv"].split("\n").length > 5 * 2900);
  assert.match(saved["application/vnd.apache.parquet"], /^PAR1.*queue_delay_s.*PAR1$/s);
  assert.equal(JSON.parse(saved["application/json"]).length, 5);
  assert.match(saved["image/png"], /PNG/);
  assert.match(saved["image/svg+xml"], /<title>A link of 60 Mbit\/s falls to 20.*reno.*Queueing delay, ms.*bound 100 ms.*time \(s\).*Sojourn \d/s);
  assert.deepEqual(await tab.evaluate(() => window.names), ["toml", "csv", "parquet", "json", "png", "svg"].map((one) => `a-link-of-60-mbit-s-falls-to-20.${one}`));
  assert.ok(!/NaN|undefined/.test(saved["image/svg+xml"]));
  writeFileSync(`${shots}/explore.svg`, saved["image/svg+xml"]);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("Explore draws a heat map, whose cells open their experiment", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#explore:duration=10&controls=ideal`);
  await drawn(tab);
  await tab.click(".heat summary");
  await tab.select("[aria-label='Figure of the map']", "1");
  await tab.click(".heat button");
  const cells = () => tab.$$eval(".map button", (all) => all.map((one) => one.textContent));
  await tab.waitForFunction(
    () => document.querySelector(".map") && !/…/.test(document.querySelector(".map").textContent),
    { timeout: 60_000 },
  );
  const spikes = (await cells()).map(Number);
  assert.equal(spikes.length, 36);
  // Down the map, round trips are longer, and so are the spikes of an oracle.
  assert.ok(spikes[30] > spikes[18] && spikes[18] > spikes[6], spikes.join(" "));
  await (await tab.$$(".map button"))[30].click();
  await drawn(tab);
  assert.match(tab.url(), /to=3&.*rtt=300/);
  await tab.screenshot({ path: `${shots}/map.png`, fullPage: true });
  assert.deepEqual(faults, []);
  await tab.close();
});

test("Write runs every shipped scenario of the menu", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#write`);
  // The view loads after the page's first run has begun.
  await tab.waitForSelector("select");
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
  await tab.click(".share summary");
  await tab.waitForFunction(() => document.querySelector(".share input").value.length > 300);
  const link = await tab.$eval(".share input", (one) => one.value);
  const again = await open(browser, link);
  await drawn(again.tab);
  const held = await again.tab.$eval(".editor", (one) => one.shadowRoot.textContent);
  assert.ok(held.includes("<img src=x onerror=alert(1)>"));
  assert.deepEqual([...faults, ...again.faults], []);
  await tab.close();
  await again.tab.close();
});

test("an address names a shipped scenario", { skip }, async () => {
  for (const name of ["cellular", "rmcat/long-tcp", "web.toml"]) {
    const { tab, faults } = await open(browser, `${server.address}#write:${name}`);
    await tab.waitForSelector(".editor");
    await drawn(tab);
    const title = /^title\s*=\s*"(.*)"$/m.exec(scenarios[`${name.replace(".toml", "")}.toml`])[1];
    assert.ok((await tab.$eval(".editor", (one) => one.shadowRoot.textContent)).includes(title), name);
    assert.ok(tab.url().endsWith(`#write:${name}`));
    assert.deepEqual(faults, []);
    await tab.close();
  }
});

test("Write compares two scenarios", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#write`);
  await drawn(tab);
  const rows = () => tab.$$eval(".tables tbody th", (all) => all.map((one) => one.textContent));
  assert.equal((await rows()).length, 5);
  await press(tab, "Compare with these results");
  await write(tab, scenarios["capacity-drop.toml"].replace("20Mbit", "30Mbit"));
  await tab.click("button.main");
  await tab.waitForFunction(() => /cubic \(before\)/.test(document.querySelector(".tables").textContent));
  await drawn(tab);
  assert.deepEqual((await rows()).slice(4, 7), ["ideal", "reno (before)", "cubic (before)"]);
  await tab.screenshot({ path: `${shots}/compare.png`, fullPage: true });
  await press(tab, "Compare with these results");
  await tab.waitForFunction(() => document.querySelectorAll(".tables tbody th").length === 5);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("the address keeps the shown part of the time", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#explore:controls=cubic`);
  await drawn(tab);
  await tab.focus("figure");
  for (const key of "++") await tab.keyboard.press(key);
  await tab.waitForFunction(() => /;t=30\.78-32\.22$/.test(location.hash));
  const zoomed = tab.url();
  await set(tab, "rate", 50);
  assert.match(tab.url(), /rate=50.*;t=30\.78-32\.22$/);
  const again = await open(browser, zoomed);
  await drawn(again.tab);
  const ticks = () => again.tab.$eval("figure svg", (one) => one.textContent);
  const shown = await ticks();
  assert.equal(again.tab.url(), zoomed);
  await again.tab.focus("figure");
  await again.tab.keyboard.press("0");
  await again.tab.waitForFunction(() => location.hash.endsWith(";t=all"));
  assert.notEqual(await ticks(), shown);
  // Times that no run has are left out.
  for (const time of ["40-20", "10-9999", "x-y"]) {
    const other = await open(browser, `${server.address}#explore:controls=cubic;t=${time}`);
    await drawn(other.tab);
    assert.deepEqual(other.faults, []);
    await other.tab.close();
  }
  assert.deepEqual([...faults, ...again.faults], []);
  await tab.close();
  await again.tab.close();
});

test("Draw shows the unavoidable delay of a drawing and of a trace, and its address restores it", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#draw`);
  await drawn(tab);
  const box = await (await tab.$(".pad")).boundingBox();
  await tab.mouse.move(box.x + 0.3 * box.width, box.y + 0.5 * box.height);
  await tab.mouse.down();
  await tab.mouse.move(box.x + 0.7 * box.width, box.y + 0.7 * box.height, { steps: 10 });
  await tab.mouse.up();
  await drawn(tab);
  // A slow page may show the run of an earlier point of the drag before that of the last one.
  const shows = (selector, pattern, where = tab) =>
    where.waitForFunction(
      (at, words) => new RegExp(words, "s").test(document.querySelector(at)?.textContent ?? ""),
      {},
      selector,
      pattern.source,
    );
  await shows(".caption", /Unavoidable: [\d.]+ m?s.*at most/);
  await tab.waitForFunction(() => location.hash.length > 100);
  const said = await tab.$eval(".caption", (one) => one.textContent);
  const again = await open(browser, tab.url());
  await drawn(again.tab);
  await shows(".caption", /Unavoidable/, again.tab);
  assert.equal(await again.tab.$eval(".caption", (one) => one.textContent), said);
  const outline = (where) => where.$eval(".pad path[opacity]", (one) => one.getAttribute("d").match(/[\d.]+/g).map(Number));
  const [drawing, restored] = await Promise.all([outline(tab), outline(again.tab)]);
  assert.equal(drawing.length, restored.length);
  // The address has five digits of each rate.
  assert.ok(drawing.every((value, place) => Math.abs(value - restored[place]) < 0.2));
  await again.tab.close();
  // A line along the top is a constant capacity.
  await tab.mouse.move(box.x + 0.5 * box.width, box.y + 0.5 * box.height);
  await tab.mouse.down();
  for (const share of [0.5, 0, 1]) await tab.mouse.move(box.x + share * box.width, box.y - 9, { steps: 9 });
  await tab.mouse.up();
  await drawn(tab);
  await shows(".caption", /The capacity does not change/);
  await press(tab, "Cellular trace");
  await shows(".verdict", /follows a trace/);
  await tab.waitForFunction(() => document.querySelector(".pad path[opacity]").getAttribute("d").length > 2000);
  assert.deepEqual([...faults, ...again.faults], []);
  await tab.close();
});

test("Learn: the picture answers every option, and the address restores the answer", { skip, timeout: 240_000 }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#learn`);
  for (const [place, story] of STORIES.entries()) {
    await tab.waitForSelector(".stories button");
    await (await tab.$$(".stories button"))[place].click();
    await drawn(tab);
    // Each figure of the text is there, and none is left empty.
    const figures = await tab.$$eval(".figure-value", (all) => all.map((one) => one.textContent));
    assert.ok(figures.every((text) => /\d/.test(text)), `${story.key}: ${figures}`);
    for (const option of story.options.keys()) {
      await (await tab.$$(".question > button"))[option].click();
      await drawn(tab);
      const pattern = option === story.right ? /^Yes/ : /^No/;
      assert.match(await tab.$eval(".answer-text", (one) => one.textContent), pattern);
      assert.match(await tab.$eval(".status", (one) => one.textContent), /Done/, story.key);
    }
  }
  const { tab: other, faults: others } = await open(browser, `${server.address}#learn:bound?to=15&answer=2`);
  await drawn(other);
  assert.match(await other.$eval(".answer-text", (one) => one.textContent), /^No/);
  assert.match(await other.$eval("figure svg", (one) => one.textContent), /your answer/);
  assert.equal(await other.title(), "The bound · Learn · Sojourn");
  assert.deepEqual([...faults, ...others], []);
  await tab.close();
  await other.close();
});

test("a slider in a sentence changes its figures and its picture", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#learn:bound`);
  await drawn(tab);
  await tab.$eval("[aria-label='Rate after the drop']", (one) => {
    one.value = "30";
    one.dispatchEvent(new Event("change"));
  });
  await tab.waitForFunction(() => /falls to 30 Mbit/.test(document.querySelector("article").textContent));
  await drawn(tab);
  const text = (await tab.$eval("article", (one) => one.textContent)).replaceAll("\u00a0", " ");
  assert.match(text, /\(60 \/ 30 - 1\) × 50 ms = 50 ms/);
  assert.match(tab.url(), /#learn:bound\?to=30$/);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("`sojourn view` shows recorded runs and captures", { skip }, async () => {
  const runs = mkdtempSync(`${tmpdir()}/sojourn-page-`);
  const sojourn = (...args) => [PYTHON, ["-m", "sojourn", ...args]];
  execFileSync(...sojourn("run", `${root}../scenarios/cellular.toml`, "--out", `${runs}/cellular`));
  const axes = ["link.bottleneck.queue=droptail,codel", "link.back.delay=5ms,50ms"];
  const vary = axes.flatMap((axis) => ["--vary", axis]);
  const drop = `${root}../scenarios/capacity-drop.toml`;
  execFileSync(...sojourn("sweep", drop, "--control", "cubic", ...vary, "--out", `${runs}/queues`));
  copyFileSync(`${root}../tests/captures/timestamps.pcapng`, `${runs}/upload.pcapng`);
  const child = spawn(...sojourn("view", runs), { cwd: `${root}..` });
  try {
    const said = await new Promise((resolve) => child.stdout.once("data", resolve));
    const { tab, faults } = await open(browser, /http:\S+/.exec(String(said))[0]);
    await drawn(tab);
    assert.match(await tab.$eval(".verdict", (one) => one.textContent), /follows a trace/);
    await press(tab, "upload.pcapng");
    await tab.waitForSelector("[aria-label=Capture] .plot svg");
    assert.match(await tab.$eval("[aria-label=Capture]", (one) => one.textContent), /p99 ms/);
    await tab.screenshot({ path: `${shots}/capture.png`, fullPage: true });
    await press(tab, "cellular");
    await tab.waitForSelector("[aria-label=Results]");
    await drawn(tab);
    await press(tab, "Edit its scenario");
    await tab.waitForSelector(".editor");
    await drawn(tab);
    assert.match(await tab.$eval(".verdict", (one) => one.textContent), /follows a trace/);
    // A cell of a sweep runs its point, and a changed value is drawn beside it.
    await press(tab, "Runs");
    await press(tab, "queues");
    await tab.waitForSelector(".sweep .map button");
    assert.match(await tab.$eval(".sweep caption", (one) => one.textContent), /queue p99/);
    const cells = await tab.$$(".sweep .map button");
    assert.equal(cells.length, 4);
    assert.ok(Number(await cells[0].evaluate((one) => one.textContent)) > 0);
    await cells[1].click();
    await drawn(tab);
    assert.match(await tab.$eval("h2 ~ h2, .sweep + h2", (one) => one.textContent), /queue codel/);
    await tab.waitForSelector(".values label");
    await tab.$$eval(".values label", (labels) => {
      const input = labels.find((one) => one.textContent === "link.bottleneck.delay").querySelector("input");
      input.value = "5ms";
      input.dispatchEvent(new Event("change"));
    });
    await tab.waitForFunction(() => /cubic \(before\)/.test(document.querySelector(".tables").textContent));
    await drawn(tab);
    await tab.screenshot({ path: `${shots}/sweep.png`, fullPage: true });
    await press(tab, "cellular");
    await tab.waitForSelector("[aria-label=Results]");
    await drawn(tab);
    // A reply that comes after a change of the view leaves the runs of the new one alone.
    await press(tab, "Runs");
    await drawn(tab);
    await tab.evaluate(() => {
      const real = window.fetch;
      const late = (reply) => new Promise((resolve) => setTimeout(() => resolve(reply), 60));
      window.fetch = (...given) => real(...given).then(late);
    });
    await press(tab, "cellular");
    await press(tab, "Explore");
    await drawn(tab);
    assert.match(await tab.$eval(".verdict", (one) => one.textContent), /bottleneck fell/);
    assert.deepEqual(faults, []);
    await tab.close();
  } finally {
    child.kill();
    rmSync(runs, { recursive: true });
  }
});

test("a change keeps the zoom, and a changed unit the figures and the focus", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#explore:rate=900&duration=5`);
  await drawn(tab);
  // Three steps in, and to the end: from 4.35 to 5 s, with the cursor in the middle.
  const cursor = async () => {
    await tab.focus("figure");
    await tab.keyboard.press("ArrowRight");
    return Number(/[\d.]+/.exec(await tab.$eval(".cursor-time", (one) => one.textContent))[0]);
  };
  await tab.focus("figure");
  for (const key of [..."+++", ...Array(9).fill("PageDown")]) await tab.keyboard.press(key);
  const isZoomed = async () => Math.abs((await cursor()) - 4.68) < 0.1;
  assert.ok(await isZoomed());
  await tab.$eval("figure", (one) => (one.dataset.kept = "yes"));
  await tab.focus(".keys button");
  // That of the congestion window.
  const unit = () => tab.$eval(".panels figure:nth-of-type(2) .unit", (one) => one.textContent);
  const before = await unit();
  await set(tab, "rate", 1);
  assert.notEqual(await unit(), before);
  assert.equal(await tab.$eval("figure", (one) => one.dataset.kept), "yes");
  assert.ok(await tab.evaluate(() => document.activeElement.matches(".keys button")));
  assert.ok(await isZoomed());
  // Other lines need new figures.
  await tab.click(".boxes input[value=vegas]");
  await tab.waitForFunction(() => !document.querySelector("figure").dataset.kept);
  assert.ok(await isZoomed());
  assert.deepEqual(faults, []);
  await tab.close();
});

/** A report with the page shows the same run in it. */
async function inReport(folder, sojourn, recorded) {
  sojourn("report", `${folder}/demo`, "--live");
  const { size } = statSync(`${folder}/demo/report.html`);
  console.log(`live report of the demo: ${mb(size)} MB`);
  assert.ok(size < 4e6);
  const { tab, faults } = await open(browser, `file://${folder}/demo/report.html`);
  await tab.click("#live summary");
  const frame = await (await tab.$("#live iframe")).contentFrame();
  await frame.waitForSelector(".results[data-drawn-ms]", { timeout: 30_000 });
  assert.equal(await frame.$eval(".verdict", (one) => one.textContent), recorded);
  await tab.screenshot({ path: `${shots}/report.png`, fullPage: true });
  assert.deepEqual(faults, []);
  await tab.close();
}

test("a saved page shows its run and simulates changes, from a file", { skip }, async () => {
  const folder = mkdtempSync(`${tmpdir()}/sojourn-page-`);
  const sojourn = (...args) => execFileSync(PYTHON, ["-m", "sojourn", ...args], { cwd: `${root}..` });
  try {
    sojourn("run", "scenarios/capacity-drop.toml", "--out", `${folder}/demo`);
    sojourn("view", `${folder}/demo`, "--save", `${folder}/demo.html`);
    const { size } = statSync(`${folder}/demo.html`);
    console.log(`saved page of the demo: ${mb(size)} MB`);
    assert.ok(size < 4e6);
    const { tab, faults } = await open(browser, `file://${folder}/demo.html`);
    await drawn(tab);
    const recorded = await tab.$eval(".verdict", (one) => one.textContent);
    const offered = await tab.$$eval(".values label", (all) => all.map((one) => one.textContent));
    for (const path of ["link.bottleneck.rate.start", "link.back.delay"]) assert.ok(offered.includes(path));
    assert.ok(!offered.some((path) => /title|controls|path/.test(path)));
    // A changed value has the recorded runs beside it.
    await tab.$$eval(".values label", (labels) => {
      const input = labels.find((one) => one.textContent === "link.bottleneck.delay").querySelector("input");
      input.value = "5ms";
      input.dispatchEvent(new Event("change"));
    });
    await drawn(tab);
    const lines = await tab.$$eval(".tables tbody th", (all) => all.map((one) => one.textContent));
    assert.ok(lines.includes("cubic") && lines.includes("cubic (recorded)"), lines.join());
    await tab.screenshot({ path: `${shots}/beside.png`, fullPage: true });
    await press(tab, "Edit its scenario");
    await tab.waitForSelector(".editor");
    await drawn(tab);
    assert.equal(await tab.$eval(".verdict", (one) => one.textContent), recorded);
    assert.deepEqual(faults, []);
    await tab.close();
    await inReport(folder, sojourn, recorded);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("runs of minutes or gigabytes are refused or cancelled", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#write`);
  await drawn(tab);
  const large = scenarios["capacity-drop.toml"].replace('"60s"', '"1000000s"');
  await write(tab, large.replace('title ', 'record.interval = "100s"\ntitle '));
  await tab.click("button.main");
  const cancel = await tab.waitForSelector(".top > button:not([hidden])", { timeout: 10_000 });
  await cancel.click();
  assert.match(await faultOf(tab), /Stopped at/);
  await write(tab, scenarios["capacity-drop.toml"].replace("title ", 'record.interval = "1us"\ntitle '));
  await tab.click("button.main");
  assert.match(await faultOf(tab), /Refused: a run may need .* GiB/);
  // The results of the scenario before are gone.
  assert.equal(await tab.$eval(".picture", (one) => one.hidden), true);
  assert.equal(await tab.$eval(".verdict", (one) => one.textContent), "");
  assert.ok(await tab.$$eval(".share .row:last-of-type button", (all) => all.every((one) => one.disabled)));
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
