// What readers rely on: the picture stays in view, nothing is lost, and everything can be shared.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import test, { after, before } from "node:test";
import { scenarios } from "../../target/page-modules/shipped.js";
import { CHROMIUM, drawn, launch, open, serve } from "./serve.mjs";

const skip = CHROMIUM ? false : "Chromium is missing; on Debian: sudo apt-get install chromium";
const PHONE = { width: 420, height: 860 };
let server, browser;

before(async () => {
  server = await serve();
  if (CHROMIUM) browser = await launch();
});
after(async () => {
  await browser?.close();
  server.stop();
});

const at = (view) => `${server.address}#${view}`;
const box = (tab, selector) => tab.$eval(selector, (one) => one.getBoundingClientRect().toJSON());

/** Gives a field of Explore another value, as its user does. */
function change(tab, name, value) {
  return tab.$eval(
    `#explore-${name}`,
    (field, given) => {
      field.value = given;
      field.dispatchEvent(new Event("change"));
    },
    value,
  );
}

/** The texts of the next saved file; a download would leave the page. */
async function saved(tab, name) {
  await tab.evaluate(() => {
    HTMLAnchorElement.prototype.click = () => {};
    const make = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
      window.saved = blob.text();
      return make.call(URL, blob);
    };
  });
  await tab.click(".share summary");
  await (await tab.waitForSelector(`::-p-xpath(//button[normalize-space()="${name}"])`)).click();
  await tab.waitForFunction(() => window.saved);
  return tab.evaluate(() => window.saved);
}

test("the default's picture is there before the simulator is", { skip }, async () => {
  const { tab } = await open(browser, "about:blank");
  await tab.setRequestInterception(true);
  tab.on("request", (request) => (request.url().endsWith(".wasm") ? undefined : request.continue()));
  await tab.goto(at("explore"), { waitUntil: "domcontentloaded" });
  await tab.waitForSelector("figure svg path");
  const text = await tab.$eval(".results", (one) => one.textContent);
  assert.match(text, /bound 100 ms/);
  assert.match(text, /fell from 60 to 20/);
  await tab.close();
});

test("Explore's start has the figures of capacity-drop", { skip }, async () => {
  const figures = async (view) => {
    const { tab } = await open(browser, at(view));
    await drawn(tab);
    const text = await tab.$eval(".verdict", (one) => one.textContent);
    await tab.close();
    return text;
  };
  assert.equal(await figures("explore"), await figures("write:capacity-drop"));
});

test("on a phone the first result and the chart are visible, and the chart stays while the controls scroll", { skip }, async () => {
  for (const view of ["explore", "learn", "draw", "write"]) {
    const { tab } = await open(browser, at(view), PHONE);
    await drawn(tab);
    const [answer, plot] = [await box(tab, ".answer"), await box(tab, ".stage figure .plot")];
    // The pen of Draw must not lose its pad when the answer changes.
    assert.ok(view === "draw" || answer.top < 200);
    assert.ok(plot.bottom <= PHONE.height, `${view}: ${plot.bottom}`);
    await tab.$eval(".side", (one) => one.lastElementChild.scrollIntoView({ block: "center" }));
    const scrolled = await box(tab, ".stage figure .plot");
    assert.ok(scrolled.top >= 0 && scrolled.bottom < PHONE.height * 0.6, `${view}: ${scrolled.top} to ${scrolled.bottom}`);
    await tab.close();
  }
});

test("a tap shows the values of all lines", { skip }, async () => {
  const { tab } = await open(browser, at("explore"), { ...PHONE, hasTouch: true });
  await drawn(tab);
  const plot = await box(tab, ".stage figure .plot");
  await tab.touchscreen.tap(plot.left + plot.width / 2, plot.top + 50);
  const values = () => tab.$$eval(".stage .value", (all) => all.map((one) => one.textContent));
  assert.equal((await values()).filter((text) => /\d/.test(text)).length, 5);
  await tab.close();
});

test("presets show the drop, the first second and all; old results stay until the new ones are whole", { skip }, async () => {
  const { tab, faults } = await open(browser, at("explore"));
  await drawn(tab);
  const ticks = () => tab.$$eval(".stage figure svg text[text-anchor=middle]", (all) => all.map((one) => one.textContent));
  assert.ok((await ticks()).includes("30"));
  const press = (name) => tab.$$eval(".presets button", (all, own) => all.find((one) => one.textContent === own).click(), name);
  await press("The first second");
  assert.equal((await ticks()).at(-1), "1");
  await press("All");
  assert.equal((await ticks()).at(-1), "60");
  await tab.waitForFunction(() => location.hash.endsWith(";t=all"));
  await press("The drop");
  // Every drawing until the results are whole has all five lines to the end.
  const least = await tab.evaluate(async () => {
    const plot = document.querySelector(".stage figure .plot");
    const counts = [];
    new MutationObserver(() => counts.push(plot.querySelectorAll("g > path[fill=none]").length)).observe(plot, { childList: true });
    const field = document.querySelector("#explore-rate");
    field.value = "70";
    field.dispatchEvent(new Event("change"));
    counts.push(plot.querySelectorAll("g > path[fill=none]").length);
    while (!document.querySelector(".results[data-drawn-ms]")) await new Promise(requestAnimationFrame);
    return Math.min(...counts);
  });
  assert.ok(least >= 5, `${least} lines`);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("the axes stay while the values fit them", { skip }, async () => {
  const { tab } = await open(browser, at("explore"));
  await drawn(tab);
  const top = () => tab.$eval(".stage figure svg text[text-anchor=end]:last-of-type", () =>
    Math.max(...[...document.querySelectorAll(".stage figure svg text[text-anchor=end]:not(.label)")].map((one) => Number(one.textContent))));
  const before = await top();
  for (const rate of [58, 56, 52]) {
    await change(tab, "rate", rate);
    await drawn(tab);
    assert.equal(await top(), before, `at ${rate} Mbit/s`);
  }
  await change(tab, "rate", 22);
  await drawn(tab);
  assert.notEqual(await top(), before);
  await tab.close();
});

test("views and stories are entries of the history, and name the page", { skip }, async () => {
  const { tab } = await open(browser, server.address);
  const shows = (pattern) => tab.waitForFunction((words) => new RegExp(words).test(document.title), {}, pattern.source);
  await shows(/^Gallery · Sojourn$/);
  for (const [name, pattern] of [["Explore", /^Explore/], ["Learn", /^The bound · Learn/]]) {
    await tab.$$eval("nav button", (all, own) => all.find((one) => one.textContent === own).click(), name);
    await shows(pattern);
  }
  await drawn(tab);
  await tab.$$eval(".stories button", (all) => all[1].click());
  await shows(/^Bufferbloat/);
  for (const pattern of [/^The bound/, /^Explore/, /^Gallery/]) {
    await tab.goBack();
    await shows(pattern);
  }
  await tab.goForward();
  await shows(/^Explore/);
  await tab.close();
});

test("an edited scenario survives a reload, and can be discarded", { skip }, async () => {
  const { tab, faults } = await open(browser, at("write:capacity-drop"));
  await drawn(tab);
  await tab.click(">>> .cm-content");
  await tab.keyboard.down("Control");
  await tab.keyboard.press("Home");
  await tab.keyboard.up("Control");
  await tab.keyboard.type("# mine ");
  await tab.waitForFunction(() => /# mine/.test(localStorage.getItem("sojourn draft")));
  await tab.reload();
  await drawn(tab);
  const text = () => tab.$eval(".editor", (one) => one.shadowRoot.textContent);
  assert.match(await text(), /# mine # A bulk upload/);
  await (await tab.waitForSelector("::-p-xpath(//button[normalize-space()='Discard my changes'])")).click();
  assert.ok(!(await text()).includes("# mine"));
  assert.equal(await tab.evaluate(() => localStorage.getItem("sojourn draft")), null);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("results saved as one file open without a server, in every view", { skip }, async () => {
  const folder = mkdtempSync(`${tmpdir()}/sojourn-page-`);
  try {
    for (const view of ["explore:controls=cubic,ideal", "learn:l4s", "write:bufferbloat"]) {
      const { tab, faults } = await open(browser, at(view));
      await drawn(tab);
      const verdict = await tab.$eval(".verdict", (one) => one.textContent);
      writeFileSync(`${folder}/saved.html`, await saved(tab, "Page in one file"));
      const other = await open(browser, `file://${folder}/saved.html`);
      await drawn(other.tab);
      assert.equal(await other.tab.$eval(".verdict", (one) => one.textContent), verdict, view);
      const lines = (where) => where.$$eval(".keys [data-line]", (all) => [...new Set(all.map((one) => one.dataset.line))].sort());
      assert.deepEqual(await lines(other.tab), await lines(tab));
      // A saved page can be saved again.
      writeFileSync(`${folder}/again.html`, await saved(other.tab, "Page in one file"));
      const third = await open(browser, `file://${folder}/again.html`);
      await drawn(third.tab);
      assert.equal(await third.tab.$eval(".verdict", (one) => one.textContent), verdict, view);
      assert.deepEqual([...faults, ...other.faults, ...third.faults], []);
      for (const one of [tab, other.tab, third.tab]) await one.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("an embedded page shows the results alone, with a way to the whole", { skip }, async () => {
  const { tab } = await open(browser, `${server.address}?embed#explore:controls=cubic`, { width: 640, height: 480 });
  await drawn(tab);
  assert.equal(await tab.$("header"), null);
  const isShown = (selector) => tab.$eval(selector, (one) => one.checkVisibility());
  assert.equal(await isShown(".side"), false);
  assert.equal(await isShown(".stage figure svg"), true);
  assert.match(await tab.$eval("footer a", (one) => one.href), /\/#explore:.*controls=cubic/);
  await tab.close();
});

test("after the first visit the page opens without its server, in every view", { skip }, async () => {
  const own = await serve();
  const { tab, faults } = await open(browser, own.address);
  await tab.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  own.stop();
  for (const view of ["explore", "draw", "write:web", "learn:bbr"]) {
    await tab.goto("about:blank");
    await tab.goto(`${own.address}#${view}`);
    await drawn(tab);
  }
  await tab.goto(`${own.address}#gallery`);
  await tab.waitForFunction(() => [...document.querySelectorAll(".tile img")].slice(0, 3).every((one) => one.naturalWidth > 0));
  assert.deepEqual(faults, []);
  await tab.close();
});

test("the gallery has every shipped scenario and opens it", { skip }, async () => {
  const { tab, faults } = await open(browser, server.address);
  const names = await tab.$$eval("a.tile", (all) => all.map((one) => one.hash.replace("#write:", "")));
  assert.deepEqual(names.toSorted(), Object.keys(scenarios).map((path) => path.replace(".toml", "")).toSorted());
  await tab.$$eval("a.tile", (all) => all.find((one) => one.hash === "#write:web").click());
  await drawn(tab);
  assert.match(await tab.title(), /^Browsing beside a download · Write/);
  assert.deepEqual(faults, []);
  await tab.close();
});
