// The page in Firefox, if it is installed: every view, a saved page and a live report.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import test, { after, before } from "node:test";
import puppeteer from "puppeteer-core";
import { reachesAll, violations } from "./reader.mjs";
import { drawn, serve } from "./serve.mjs";

const FIREFOX = [process.env.FIREFOX, "/usr/bin/firefox-esr", "/usr/bin/firefox"].find(
  (path) => path && existsSync(path),
);
const skip = FIREFOX ? false : "Firefox is missing; on Debian: sudo apt-get install firefox-esr";
const root = fileURLToPath(new URL("../../target/", import.meta.url));
const PYTHON = process.env.PYTHON ?? `${root}venv/bin/python`;
let server, browser;

before(async () => {
  server = await serve();
  if (FIREFOX) browser = await puppeteer.launch({ browser: "firefox", executablePath: FIREFOX });
});
after(async () => {
  await browser?.close();
  server.stop();
});

/** A tab with the page, and its errors. */
async function open(address) {
  const tab = await browser.newPage();
  const faults = [];
  tab.on("pageerror", (error) => faults.push(String(error)));
  await tab.goto(address);
  return { tab, faults };
}

test("every view in Firefox", { skip, timeout: 240_000 }, async () => {
  for (const view of ["explore", "draw", "write", "learn"]) {
    const { tab, faults } = await open(`${server.address}#${view}`);
    await drawn(tab);
    assert.match(await tab.$eval(".verdict", (one) => one.textContent), /fell from \d+ to/, view);
    assert.deepEqual(faults, []);
    await tab.close();
  }
});

test("a saved page and a live report in Firefox", { skip, timeout: 240_000 }, async () => {
  const folder = mkdtempSync(`${tmpdir()}/sojourn-page-`);
  const sojourn = (...args) => execFileSync(PYTHON, ["-m", "sojourn", ...args], { cwd: `${root}..` });
  try {
    sojourn("run", "scenarios/capacity-drop.toml", "--control", "cubic,ideal", "--out", `${folder}/run`);
    sojourn("report", `${folder}/run`, "--live");
    sojourn("view", `${folder}/run`, "--save", `${folder}/run.html`);
    for (const name of ["run.html", "run/report.html"]) {
      const { tab, faults } = await open(`file://${folder}/${name}`);
      if (name !== "run.html") {
        assert.deepEqual(await violations(tab), []);
        await reachesAll(tab, name);
      }
      let frame = tab;
      if (name !== "run.html") {
        await tab.click("#live summary");
        frame = await (await tab.waitForSelector("#live iframe")).contentFrame();
      }
      await frame.waitForSelector(".results[data-drawn-ms]", { timeout: 60_000 });
      assert.match(await frame.$eval(".verdict", (one) => one.textContent), /fell from 60 to/);
      assert.deepEqual(faults, []);
      await tab.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
