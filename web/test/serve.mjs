// Serves the built page on loopback, and starts Chromium.
import { createServer } from "node:http";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import puppeteer from "puppeteer-core";

const PAGE = fileURLToPath(new URL("../../target/page/", import.meta.url));
const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".svg": "image/svg+xml",
};

/** A server of the page's files, with other types for some; `stop` ends it. */
export async function serve(types = {}) {
  const server = createServer(async (request, response) => {
    const name = new URL(request.url, "http://page").pathname.slice(1) || "index.html";
    try {
      if (!/^[\w.-]+$/.test(name)) throw new Error(name);
      const content = await readFile(PAGE + name);
      response.writeHead(200, { "content-type": { ...TYPES, ...types }[extname(name)] ?? "text/plain" }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  // Also the connections that a browser keeps.
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { address: `http://127.0.0.1:${server.address().port}/`, stop };
}

/** Path of Chromium; undefined without it. */
export const CHROMIUM = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"].find(
  (path) => path && existsSync(path),
);

/** Chromium without a window. As root it has no sandbox. */
export function launch(given = []) {
  const args = process.getuid() === 0 ? ["--no-sandbox", ...given] : given;
  return puppeteer.launch({ executablePath: CHROMIUM, args });
}

/** A tab with the page. Errors and refused requests of the page are collected in `faults`. */
export async function open(browser, address, { width = 1400, height = 900, dark = false, hasTouch = false } = {}) {
  // What a tab keeps in the browser is its own.
  const tab = await (await browser.createBrowserContext()).newPage();
  const faults = [];
  tab.on("pageerror", (error) => faults.push(String(error)));
  tab.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  tab.on("request", (request) => {
    const url = request.url();
    const own = address.startsWith("file:") ? address : new URL(address).origin;
    if (!url.startsWith(own) && !/^(data|blob):/.test(url)) faults.push(url);
  });
  await tab.setViewport({ width, height, hasTouch });
  await tab.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: dark ? "dark" : "light" },
  ]);
  await tab.goto(address);
  return { tab, faults };
}

/** Waits until the results of the view are drawn; returns the time that it took in ms. */
export async function drawn(tab, timeout = 60_000) {
  try {
    await tab.waitForSelector(".results[data-drawn-ms]", { timeout });
  } catch (error) {
    const status = await tab.$eval("body", (body) => body.innerText.slice(0, 2000));
    throw new Error(`nothing was drawn; the page shows: ${status}`, { cause: error });
  }
  return Number(await tab.$eval(".results[data-drawn-ms]", (one) => one.dataset.drawnMs));
}
