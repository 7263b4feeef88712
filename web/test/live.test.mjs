// The page of `live --page` in Chromium, against hostile names, a million samples and other sites.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import test, { after, before } from "node:test";
import { CHROMIUM, drawn, launch, open } from "./serve.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const PYTHON = process.env.PYTHON ?? `${root}target/venv/bin/python`;
const skip = CHROMIUM ? false : "Chromium is missing; on Debian: sudo apt-get install chromium";
let server, browser, address, other;

before(async () => {
  if (!CHROMIUM) return;
  server = spawn(PYTHON, [`${root}web/test/live.py`], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).split("\n"))));
  ({ address, other } = JSON.parse(line));
  browser = await launch();
});
after(async () => {
  await browser?.close();
  server?.stdin.end();
});

test("hostile names are text, and do not widen the page", { skip }, async () => {
  const { tab, faults } = await open(browser, address);
  await drawn(tab);
  assert.ok((await tab.$eval("h2", (one) => one.textContent)).includes("<img src=x"));
  const rows = await tab.$$eval("tbody th", (all) => all.map((one) => one.textContent.length));
  assert.equal(rows.length, 10);
  assert.equal(await tab.evaluate(() => window.evil), undefined);
  assert.equal(await tab.$$eval("img, body > script:not([src])", (all) => all.length), 0);
  const [page, screen] = await tab.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(page <= screen, `${page} of ${screen} pixels`);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("a million samples are a few hundred columns", { skip }, async () => {
  const { tab } = await open(browser, address);
  await drawn(tab);
  const [bytes, columns, ms] = await tab.evaluate(async () => {
    const begun = performance.now();
    const text = await (await fetch("now.json")).text();
    return [text.length, JSON.parse(text).past.rate_bps.length, performance.now() - begun];
  });
  console.log(`the charts of a million samples: ${(bytes / 1e3).toFixed(0)} kB in ${ms.toFixed(0)} ms`);
  assert.equal(columns, 300);
  assert.ok(bytes < 300_000, `${bytes} bytes`);
  await tab.close();
});

test("another site reads nothing, frames nothing and runs nothing", { skip }, async () => {
  const { tab } = await open(browser, other);
  const found = await tab.evaluate(async (target) => {
    const got = [];
    const add = (name, given) =>
      new Promise((resolve) => {
        const one = Object.assign(document.createElement(name), given, {
          onload: () => resolve(one),
          onerror: () => resolve(undefined),
        });
        document.body.append(one);
      });
    for (const name of ["", "now.json", "page.js", "sojourn.wasm"]) {
      for (const mode of ["cors", "no-cors", "navigate"]) {
        await fetch(target + name, { mode }).then(() => got.push(`${mode} ${name}`), () => undefined);
      }
    }
    if (await add("script", { src: `${target}page.js` })) got.push("script");
    if (await add("link", { rel: "stylesheet", href: `${target}style.css` })) got.push("style");
    // A refused frame holds an error page, which is of another origin too.
    const frame = await add("iframe", { src: target });
    try {
      if (frame?.contentDocument?.body.childElementCount) got.push("iframe");
    } catch {
      // It is not readable.
    }
    return got;
  }, address);
  assert.deepEqual(found, []);
  const frames = tab.frames().filter((frame) => frame.url().startsWith(address));
  for (const frame of frames) assert.equal(await frame.$("main"), null, "a frame of the page");
  await tab.close();
});

test("messages of its opener change nothing, and its window is not readable", { skip }, async () => {
  const { tab } = await open(browser, other);
  const opened = new Promise((resolve) => tab.once("popup", resolve));
  await tab.evaluate((target) => void (window.victim = open(target)), address);
  const victim = await opened;
  await drawn(victim);
  const before = await victim.$eval("h2", (one) => one.textContent);
  const read = await tab.evaluate(async () => {
    for (const data of ["{}", { module: null }, { id: 1, result: {} }, { oldest: 1e9 }]) {
      window.victim.postMessage(data, "*");
    }
    await new Promise((resolve) => setTimeout(resolve, 700));
    try {
      return String(window.victim.document.body.innerText);
    } catch (error) {
      return error.name;
    }
  });
  assert.equal(read, "SecurityError");
  assert.equal(await victim.$eval("h2", (one) => one.textContent), before);
  await tab.close();
  await victim.close();
});

test("a name that is resolved to loopback gets nothing", { skip }, async () => {
  const rebound = await launch(["--host-resolver-rules=MAP evil.example 127.0.0.1"]);
  const tab = await rebound.newPage();
  for (const name of ["", "now.json", "page.js"]) {
    const answer = await tab.goto(address.replace("127.0.0.1", "evil.example") + name);
    assert.equal(answer.status(), 403, name);
    assert.equal(await answer.text(), "unknown host");
  }
  await rebound.close();
});
