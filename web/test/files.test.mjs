// Files of a reader's own, chosen or dropped: run directories, reports, qlogs, traces, scenarios.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import test, { after, before } from "node:test";
import { files, scenarios } from "../../target/page-modules/shipped.js";
import { CHROMIUM, drawn, launch, open, serve } from "./serve.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const PYTHON = process.env.PYTHON ?? `${root}target/venv/bin/python`;
const skip = CHROMIUM ? false : "Chromium is missing; on Debian: sudo apt-get install chromium";
let server, browser, folder;

before(async () => {
  folder = mkdtempSync(`${tmpdir()}/sojourn-page-`);
  server = await serve();
  if (CHROMIUM) browser = await launch();
});
after(async () => {
  await browser?.close();
  server.stop();
  rmSync(folder, { recursive: true });
});

/** Chooses a file in the view of files. */
async function choose(tab, path) {
  const input = await tab.waitForSelector("input[type=file]");
  await tab.$$eval(".results", (all) => all.forEach((one) => one.removeAttribute("data-drawn-ms")));
  await input.uploadFile(path);
}

/** Drops a text as a file on the page. */
const drop = (tab, name, text) =>
  tab.evaluate(
    (title, content) => {
      const data = new DataTransfer();
      data.items.add(new File([content], title));
      document.querySelector("main").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    },
    name,
    text,
  );

/** A qlog (NDJSON) of a connection that sends a packet each millisecond and has a round trip of 40 ms. */
function qlog(packets) {
  const head = { qlog_format: "NDJSON", qlog_version: "0.3", trace: { vantage_point: { type: "client" }, common_fields: { time_format: "relative" } } };
  const lines = [JSON.stringify(head)];
  for (let number = 0; number < packets; number++) {
    const frames = [{ frame_type: "stream", stream_id: 0, offset: 1200 * number, length: 1200 }];
    const header = { packet_type: "1RTT", packet_number: number };
    lines.push(JSON.stringify({ time: number, name: "transport:packet_sent", data: { header, raw: { length: 1240 }, frames } }));
    const acked = number - 40;
    if (acked < 0) continue;
    const ack = [{ frame_type: "ack", acked_ranges: [[0, acked]] }];
    lines.push(JSON.stringify({ time: number, name: "transport:packet_received", data: { header, raw: { length: 40 }, frames: ack } }));
    lines.push(JSON.stringify({ time: number, name: "recovery:metrics_updated", data: { latest_rtt: 40, congestion_window: 50000 } }));
  }
  return `${lines.join("\n")}\n`;
}

test("a run directory as a zip shows its recorded runs, or simulates its scenario", { skip }, async () => {
  const sojourn = (...args) => execFileSync(PYTHON, ["-m", "sojourn", ...args], { cwd: root });
  sojourn("run", "scenarios/cellular.toml", "--control", "cubic,ideal", "--out", `${folder}/demo`);
  const pack = (name) => execFileSync(PYTHON, ["-m", "zipfile", "-c", `${folder}/${name}`, `${folder}/demo`]);
  pack("plain.zip");
  sojourn("report", `${folder}/demo`, "--live");
  pack("report.zip");
  const { tab, faults } = await open(browser, `${server.address}#files`);
  for (const name of ["plain.zip", "report.zip", "demo/report.html"]) {
    await choose(tab, `${folder}/${name}`);
    await drawn(tab);
    assert.match(await tab.$eval(".verdict", (one) => one.textContent), /follows a trace/, name);
    assert.match(await tab.title(), new RegExp(`^${name.split("/").at(-1)} · Files`));
  }
  assert.deepEqual(faults, []);
  await tab.close();
});

test("a qlog has its charts, and a damaged one those of its part", { skip }, async () => {
  writeFileSync(`${folder}/client.qlog`, qlog(3000));
  writeFileSync(`${folder}/cut.qlog`, qlog(3000).slice(0, 300_000));
  const { tab, faults } = await open(browser, `${server.address}#files`);
  await choose(tab, `${folder}/client.qlog`);
  await drawn(tab);
  const titles = await tab.$$eval("figcaption", (all) => all.map((one) => one.textContent).filter(Boolean));
  assert.deepEqual(titles.filter((one) => !/Peak/.test(one)), ["Round-trip timems", "GoodputMbit/s", "Congestion windowkB"]);
  // 40 ms, by packets and their acknowledgements.
  await tab.focus(".stage figure");
  await tab.keyboard.press("ArrowRight");
  assert.equal(Number(await tab.$eval(".stage .value", (one) => one.textContent)), 40);
  await choose(tab, `${folder}/cut.qlog`);
  await drawn(tab);
  assert.match(await tab.$eval(".side [role=status]", (one) => one.textContent), /read up to an error.*byte/);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("a large qlog does not freeze the page", { skip, timeout: 240_000 }, async () => {
  // Some 100 MB: the reader is in a worker.
  writeFileSync(`${folder}/large.qlog`, qlog(230_000));
  const size = readFileSync(`${folder}/large.qlog`).length;
  const { tab, faults } = await open(browser, `${server.address}#files`);
  await tab.waitForSelector("input[type=file]");
  await tab.evaluate(() => {
    [window.longest, window.last] = [0, performance.now()];
    const step = () => {
      const now = performance.now();
      window.longest = Math.max(window.longest, now - window.last);
      window.last = now;
      if (!document.querySelector(".results[data-drawn-ms]")) requestAnimationFrame(step);
    };
    step();
  });
  const began = performance.now();
  await choose(tab, `${folder}/large.qlog`);
  await drawn(tab, 120_000);
  const [longest, taken] = [await tab.evaluate(() => window.longest), performance.now() - began];
  console.log(`qlog of ${(size / 1e6).toFixed(0)} MB: ${taken.toFixed(0)} ms, longest frame ${longest.toFixed(0)} ms`);
  assert.ok(size > 90e6);
  // As long as that of long runs (security.test.mjs): other work of the machine counts too.
  assert.ok(longest < 3000, `${longest} ms`);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("a trace that is dropped anywhere is drawn, and a scenario edited", { skip }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#explore`);
  await drawn(tab);
  await drop(tab, "lte.trace", files["traces/cellular.trace"]);
  await tab.waitForSelector(".pad svg");
  await tab.waitForFunction(() => /follows a trace/.test(document.querySelector(".verdict")?.textContent ?? ""));
  await drop(tab, "mine.toml", scenarios["web.toml"]);
  await tab.waitForSelector(".editor");
  await drawn(tab);
  assert.match(await tab.title(), /^Browsing beside a download · Write/);
  // Other files are explained, or refused with their names and the kinds that are read.
  await drop(tab, "picture.png", "\u0089PNG");
  await tab.waitForFunction(() => /picture\.png: not pcap or pcapng, qlog/.test(document.body.textContent));
  await drop(tab, "cut.zip", "PK\u0003\u0004cut");
  await tab.waitForFunction(() => /cut\.zip: it has no directory/.test(document.body.textContent));
  assert.deepEqual(faults, []);
  await tab.close();
});

test("a capture is explained, on a phone too", { skip, timeout: 180_000 }, async () => {
  const { tab, faults } = await open(browser, `${server.address}#files`, { width: 420, height: 860 });
  await choose(tab, `${root}tests/captures/timestamps.pcapng`);
  await tab.waitForSelector(".results .plot svg", { timeout: 120_000 });
  assert.match(await tab.title(), /Explain/);
  assert.ok(await tab.$eval(".results .plot svg", (one) => one.clientWidth > 300));
  assert.deepEqual(faults, []);
  await tab.close();
});
