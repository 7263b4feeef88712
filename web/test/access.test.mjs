// The page for readers with a keyboard, a screen reader, a dark ground or little motion: axe-core
// checks names, roles, contrasts and structure (WCAG 2.1 AA) in every view.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { reachesAll, violations } from "./reader.mjs";
import { CHROMIUM, drawn, launch, open, serve } from "./serve.mjs";

const VIEWS = ["gallery", "explore", "draw", "write", "learn", "explain", "files"];
/** Waits for what a view draws. */
const PLACES = { gallery: ".hero svg", explain: "input[type=file]", files: "input[type=file]" };
const shown = (tab, view) => (PLACES[view] ? tab.waitForSelector(PLACES[view]) : drawn(tab));
const skip = CHROMIUM ? false : "Chromium is missing; on Debian: sudo apt-get install chromium";
let server, browser;

before(async () => {
  server = await serve();
  if (CHROMIUM) browser = await launch();
});
after(async () => {
  await browser?.close();
  server.stop();
});

for (const dark of [false, true]) {
  for (const width of [420, 1400]) {
    test(`axe finds no fault at ${width} px, ${dark ? "dark" : "light"}`, { skip }, async () => {
      for (const view of VIEWS) {
        const { tab } = await open(browser, `${server.address}#${view}`, { width, dark });
        await shown(tab, view);
        assert.deepEqual(await violations(tab), [], view);
        await tab.close();
      }
    });
  }
}

test("axe finds no fault in a heat map, an answer and an error", { skip }, async () => {
  const { tab } = await open(browser, `${server.address}#explore:duration=5&controls=ideal`);
  await drawn(tab);
  await tab.click(".heat summary");
  await tab.click(".heat button");
  await tab.waitForFunction(() => document.querySelectorAll(".map button").length === 36);
  assert.deepEqual(await violations(tab), []);
  await tab.goto(`${server.address}#learn:bound`);
  await drawn(tab);
  await (await tab.waitForSelector(".question > button")).click();
  await tab.waitForSelector(".answer-text p");
  assert.deepEqual(await violations(tab), []);
  await tab.goto(`${server.address}#write:AAAA`);
  await tab.waitForSelector(".problems li");
  assert.deepEqual(await violations(tab), []);
  await tab.close();
});

test("the keyboard reaches every control, and leaves the editor", { skip }, async () => {
  for (const view of VIEWS) {
    const { tab } = await open(browser, `${server.address}#${view}`);
    await shown(tab, view);
    await reachesAll(tab, view);
    await tab.close();
  }
});

test("the views change by keyboard, and state which is shown", { skip }, async () => {
  const { tab } = await open(browser, `${server.address}#explore`);
  await drawn(tab);
  const current = () => tab.$$eval("[aria-current=page]", (all) => all.map((one) => one.textContent));
  assert.deepEqual(await current(), ["Explore"]);
  for (let press = 0; press < 4; press++) await tab.keyboard.press("Tab");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector(".pad svg");
  assert.deepEqual(await current(), ["Draw"]);
  await drawn(tab);
  await tab.close();
});

test("with reduced motion nothing moves", { skip }, async () => {
  const { tab } = await open(browser, `${server.address}#explore`);
  await tab.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
  await drawn(tab);
  const moving = () =>
    tab.$$eval("*", (all) => all.filter((one) => parseFloat(getComputedStyle(one).transitionDuration) > 0).length);
  // While results are old, the others of the page would fade.
  await tab.$eval(".results", (one) => one.classList.add("old"));
  assert.equal(await moving(), 0);
  await tab.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "no-preference" }]);
  assert.ok((await moving()) > 0);
  await tab.close();
});

test("the page follows a change to a dark ground", { skip }, async () => {
  const { tab } = await open(browser, `${server.address}#explore`);
  await drawn(tab);
  const paint = () => tab.$eval(".keys .swatch", (one) => one.style.background);
  const light = await paint();
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await tab.waitForFunction((before) => document.querySelector(".keys .swatch").style.background !== before, {}, light);
  await tab.close();
});
