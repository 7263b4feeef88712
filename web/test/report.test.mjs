// A report in Chromium: zoom, legend, pointer, both grounds, a phone, paper, and readers with a keyboard.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import test, { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { reachesAll, violations } from "./reader.mjs";
import { CHROMIUM, launch, open } from "./serve.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const PYTHON = process.env.PYTHON ?? `${root}target/venv/bin/python`;
const skip = CHROMIUM ? false : "Chromium is missing; on Debian: sudo apt-get install chromium";
/** The whole report, so that the mouse reaches all of it. */
const TALL = { height: 2400 };
let browser, folder, address;

before(async () => {
  if (!CHROMIUM) return;
  browser = await launch();
  folder = mkdtempSync(`${tmpdir()}/sojourn-report-`);
  const args = ["run", "scenarios/wifi-outage.toml", "--no-live", "--out", `${folder}/run`];
  execFileSync(PYTHON, ["-m", "sojourn", ...args], { cwd: root });
  address = `file://${folder}/run/report.html`;
});
after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** The texts of the time axis of the first zoomed panel. */
const ticks = (tab) =>
  tab.$$eval(".row:first-child .plot:not(.whole) text[text-anchor=middle]", (all) => all.map((one) => one.textContent));

for (const dark of [false, true]) {
  for (const width of [420, 1400]) {
    test(`a report at ${width} px, ${dark ? "dark" : "light"}`, { skip }, async () => {
      const { tab, faults } = await open(browser, address, { width, dark });
      assert.equal((await tab.$$("#figure .plot svg")).length, 8);
      const wide = await tab.$eval("html", (one) => one.scrollWidth);
      assert.ok(wide <= width, `${wide}`);
      assert.deepEqual(await violations(tab), []);
      assert.deepEqual(faults, []);
      await tab.close();
    });
  }
}

test("a reader zooms by pointer, keyboard and button", { skip }, async () => {
  const { tab, faults } = await open(browser, address, TALL);
  const first = await ticks(tab);
  const { x, y } = await (await tab.$(".plot.whole")).boundingBox();
  await tab.mouse.move(x + 200, y + 60);
  await tab.mouse.down();
  await tab.mouse.move(x + 300, y + 60);
  await tab.mouse.up();
  const dragged = await ticks(tab);
  assert.notDeepEqual(dragged, first);
  await tab.focus(".rows [tabindex='0']");
  await tab.keyboard.press("PageDown");
  const moved = await ticks(tab);
  assert.notDeepEqual(moved, dragged);
  await tab.keyboard.press("0");
  assert.ok((await ticks(tab)).includes("40"));
  await tab.click(".controls button");
  assert.deepEqual(await ticks(tab), first);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("the keyboard reaches every control, and reads values", { skip }, async () => {
  const { tab } = await open(browser, address);
  await reachesAll(tab, "report");
  await tab.focus(".rows [tabindex='0']");
  await tab.keyboard.press("ArrowRight");
  const read = () => tab.$eval(".tip[role=status]:not([hidden])", (one) => one.textContent);
  const first = await read();
  assert.match(first, /^\d+\.\d+ s.*cubic.*Mbit\/s/);
  await tab.keyboard.press("ArrowRight");
  assert.notEqual(await read(), first);
  await tab.close();
});

test("the answer comes first: sentence, bars, charts, table, method", { skip }, async () => {
  const { tab } = await open(browser, address);
  const order = await tab.evaluate(() => {
    const marks = ["h1", "p.about", "#verdict svg", "#figure svg", "table.summary", "#method"];
    return marks.map((mark) => document.querySelector(mark)?.getBoundingClientRect().top);
  });
  assert.deepEqual([...order].sort((a, b) => a - b), order);
  const bars = await tab.$eval("#verdict svg", (one) => ({ bottom: one.getBoundingClientRect().bottom, said: one.getAttribute("aria-label") }));
  assert.ok(bars.bottom < 900, "on the first screen");
  assert.match(bars.said, /cubic .* ms/);
  await tab.close();
});

test("the pointer shows figures, and a name of the legend hides the others", { skip }, async () => {
  const { tab, faults } = await open(browser, address, TALL);
  const { x, y, width } = await (await tab.$(".plot.whole")).boundingBox();
  await tab.mouse.move(x + width / 2, y + 60);
  const tip = await tab.$eval(".tip:not([hidden])", (one) => one.textContent);
  assert.match(tip, /cubic/);
  assert.match(tip, /bbr/);
  // Each figure has its unit, and as many decimals as the others.
  const decimals = [...tip.matchAll(/\d(?:\.(\d+))? Mbit\/s/g)].map(([, digits = ""]) => digits.length);
  assert.ok(decimals.length > 1);
  assert.equal(new Set(decimals).size, 1);
  await tab.click(".legend button");
  assert.equal(await tab.$eval(".legend button", (one) => one.getAttribute("aria-pressed")), "true");
  assert.ok((await tab.$$('.plot g[opacity="0.07"]')).length > 0);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("it prints to A4, on a light ground, without an empty page", { skip }, async () => {
  const { tab } = await open(browser, address, { dark: true });
  const pages = (await tab.pdf({ preferCSSPageSize: true })).toString("latin1");
  assert.ok((pages.match(/\/Type\s*\/Page\b/g) ?? []).length <= 3);
  await tab.emulateMediaType("print");
  const shown = await tab.evaluate(() => {
    const ground = getComputedStyle(document.body).backgroundColor;
    return { ground, bars: document.querySelector("#verdict svg").getBoundingClientRect().top };
  });
  // Under the heading, and not on the next page.
  assert.ok(shown.bars < 400, `${shown.bars}`);
  assert.equal(shown.ground, "rgb(255, 255, 255)");
  await tab.close();
});
