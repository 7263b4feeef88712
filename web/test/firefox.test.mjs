// The page in Firefox, if it is installed: Explore and Write draw their results.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import test from "node:test";
import puppeteer from "puppeteer-core";
import { drawn, serve } from "./serve.mjs";

const FIREFOX = [process.env.FIREFOX, "/usr/bin/firefox-esr", "/usr/bin/firefox"].find(
  (path) => path && existsSync(path),
);
const skip = FIREFOX ? false : "Firefox is missing; on Debian: sudo apt-get install firefox-esr";

test("Explore and Write in Firefox", { skip, timeout: 120_000 }, async () => {
  const server = await serve();
  const browser = await puppeteer.launch({ browser: "firefox", executablePath: FIREFOX });
  try {
    for (const view of ["explore", "write"]) {
      const tab = await browser.newPage();
      const faults = [];
      tab.on("pageerror", (error) => faults.push(String(error)));
      await tab.goto(`${server.address}#${view}`);
      await drawn(tab);
      assert.match(await tab.$eval(".verdict", (one) => one.textContent), /fell from 60 to/);
      assert.deepEqual(faults, []);
      await tab.close();
    }
  } finally {
    await browser.close();
    server.stop();
  }
});
