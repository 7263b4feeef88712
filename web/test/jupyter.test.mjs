// A run, a scenario, a frame and a figure in JupyterLab, which Chromium shows. JupyterLab belongs to
// the Python of the tests; PICTURES=FOLDER keeps a picture of each output.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import test, { after, before } from "node:test";
import { CHROMIUM, launch } from "./serve.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const PYTHON = process.env.PYTHON ?? `${root}target/venv/bin/python`;
const hasLab = spawnSync(PYTHON, ["-c", "import jupyterlab, sojourn"]).status === 0;
const missing = CHROMIUM ? "JupyterLab is missing: pip install jupyterlab" : "Chromium is missing";
const skip = CHROMIUM && hasLab ? false : missing;
const CELLS = [
  'import sojourn\nrun = sojourn.run("capacity-drop", control=["cubic", "dctcp"])\nrun',
  'sojourn.Scenario.load("capacity-drop")',
  "run.table()",
  "run.plot()",
];
const PICTURES = process.env.PICTURES;
let place, lab, browser, tab;

before(async () => {
  if (skip) return;
  place = mkdtempSync(join(tmpdir(), "sojourn-lab-"));
  const cells = CELLS.map((source, at) => ({
    cell_type: "code",
    id: `cell-${at}`,
    execution_count: null,
    metadata: {},
    outputs: [],
    source,
  }));
  const kernelspec = { name: "python3", display_name: "Python 3", language: "python" };
  const notebook = { cells, metadata: { kernelspec }, nbformat: 4, nbformat_minor: 5 };
  mkdirSync(join(place, "work"));
  writeFileSync(join(place, "work", "shown.ipynb"), JSON.stringify(notebook));
  const address = await start();
  browser = await launch();
  tab = await browser.newPage();
  await tab.setViewport({ width: 1400, height: 5200 });
  await tab.goto(address);
  await tab.waitForSelector(".jp-Notebook .jp-CodeCell", { timeout: 60_000 });
  // Without its kernel, the notebook would ask for one.
  const isIdle = () => {
    const shown = window.jupyterapp.shell.currentWidget;
    return shown?.sessionContext?.session?.kernel?.status === "idle";
  };
  await tab.waitForFunction(isIdle, { timeout: 60_000 });
  await tab.evaluate(() => {
    window.jupyterapp.commands.execute("notebook:run-all-cells");
  });
});
after(async () => {
  await browser?.close();
  if (lab && lab.exitCode === null) {
    // The server ends its kernels before itself.
    const ended = new Promise((resolve) => lab.once("exit", resolve));
    lab.kill("SIGTERM");
    await ended;
  }
  if (place) rmSync(place, { recursive: true, force: true });
});

/** Starts JupyterLab with settings of its own; returns the address of the notebook. */
async function start() {
  const own = ["CONFIG", "DATA", "RUNTIME"].map((one) => [`JUPYTER_${one}_DIR`, join(place, one)]);
  const env = { ...process.env, ...Object.fromEntries(own), HOME: place };
  const options = [
    "--no-browser",
    "--allow-root",
    "--ip=127.0.0.1",
    "--port=0",
    `--ServerApp.root_dir=${join(place, "work")}`,
    "--LabApp.expose_app_in_browser=True",
  ];
  lab = spawn(PYTHON, ["-m", "jupyterlab", ...options], { env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  return new Promise((resolve, reject) => {
    lab.once("exit", () => reject(new Error(`JupyterLab ended: ${said}`)));
    lab.stderr.on("data", (data) => {
      said += data;
      const found = /http:\/\/127\.0\.0\.1:(\d+)\/lab\?token=(\w+)/.exec(said);
      if (found) {
        resolve(`http://127.0.0.1:${found[1]}/lab/tree/shown.ipynb?token=${found[2]}`);
      }
    });
  });
}

/** The output of a cell, once it is there. */
async function output(at) {
  const chosen = `.jp-Notebook .jp-Cell[data-windowed-list-index="${at}"]`;
  await tab.waitForSelector(`${chosen} .jp-OutputArea-executeResult`, { timeout: 60_000 });
  const shown = await tab.$(`${chosen} .jp-OutputArea-executeResult`);
  if (PICTURES) await shown.screenshot({ path: join(PICTURES, `jupyter-${at}.png`) });
  return shown;
}

test("a run shows its table, tooltips and figure", { skip, timeout: 180_000 }, async () => {
  const shown = await output(0);
  const text = await shown.evaluate((one) => one.innerText);
  assert.match(text, /cubic/);
  assert.match(text, /dctcp/);
  const tips = await shown.$$eval("th [title], th[title]", (heads) => heads.map((one) => one.title));
  assert.ok(tips.length > 5 && tips.every((tip) => tip.length > 10), tips.join("; "));
  const frame = await (await shown.waitForSelector("iframe")).contentFrame();
  const chart = await frame.waitForSelector(".plot svg", { timeout: 60_000 });
  assert.ok((await chart.boundingBox()).width > 200);
});

test("a scenario shows its links, its flows and its text", { skip, timeout: 60_000 }, async () => {
  const shown = await output(1);
  assert.deepEqual(await shown.$$eval("caption", (all) => all.map((one) => one.innerText)), [
    "Links",
    "Flows",
  ]);
  await (await shown.$("summary")).click();
  const written = await shown.$eval("pre", (one) => [one.innerText, one.clientHeight]);
  assert.match(written[0], /\[link\.bottleneck\]/);
  assert.ok(written[1] > 100, "unfolded");
});

test("a frame is a table", { skip, timeout: 60_000 }, async () => {
  const shown = await output(2);
  assert.equal(await shown.$$eval("tbody tr", (rows) => rows.length), 2);
});

test("a figure shows values at the pointer", { skip, timeout: 120_000 }, async () => {
  const shown = await output(3);
  const frame = await (await shown.waitForSelector("iframe")).contentFrame();
  const chart = await frame.waitForSelector(".plot svg", { timeout: 60_000 });
  const box = await chart.boundingBox();
  for (let step = 1; step < 20; step += 1) {
    await tab.mouse.move(box.x + (box.width * step) / 20, box.y + 60);
    if (await frame.$(".tip:not([hidden])")) break;
  }
  const tip = await frame.waitForSelector(".tip:not([hidden])", { timeout: 10_000 });
  assert.match(await tip.evaluate((one) => one.innerText), /\d/);
  // The picture with the tooltip.
  await output(3);
});
