// The page in Chromium: its Content-Security-Policy, names that are markup, and long runs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { deflateRawSync, gunzipSync, gzipSync } from "node:zlib";
import test, { after, before } from "node:test";
import { scenarios } from "../../target/page-modules/shipped.js";
import { CHROMIUM, drawn, launch, open, serve } from "./serve.mjs";

const root = fileURLToPath(new URL("../../target/", import.meta.url));
const PYTHON = process.env.PYTHON ?? `${root}venv/bin/python`;
const skip = CHROMIUM ? false : "Chromium is missing; on Debian: sudo apt-get install chromium";
const EVIL = "<img src=x onerror=window.evil=1>";
let server, browser;

before(async () => {
  server = await serve();
  if (CHROMIUM) browser = await launch();
});
after(async () => {
  await browser?.close();
  server.stop();
});

/** A link that holds a scenario, as Write makes it. */
async function linkOf(text) {
  const { fragmentOf } = await import("../../target/page-modules/permalink.js");
  return `${server.address}#write:${await fragmentOf({ text, files: {} })}`;
}

test("the policies allow WebAssembly alone", () => {
  const served = readFileSync(`${root}page/index.html`, "utf8");
  const single = gunzipSync(readFileSync(`${root}page/live.html.gz`)).toString();
  for (const html of [served, single]) {
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(html)[1];
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /script-src [^;]*'wasm-unsafe-eval'/);
    assert.ok(!/[ ;]'unsafe-(eval|inline)'|https?:|\*/.test(policy), policy);
  }
});

test("the policy holds: no eval, no script of another place, no other host", { skip }, async () => {
  const { tab } = await open(browser, `${server.address}#explore`);
  await drawn(tab);
  const refused = await tab.evaluate(async () => {
    const names = [];
    document.addEventListener("securitypolicyviolation", (event) => names.push(event.effectiveDirective));
    const add = (name, given) => document.body.append(Object.assign(document.createElement(name), given));
    // By a script of the page: the debugger's own code may use eval.
    add("script", { textContent: "window.evil = 1" });
    add("script", { src: "https://example.com/evil.js" });
    add("img", { src: "https://example.com/evil.png" });
    await fetch("https://example.com/").catch(() => names.push("fetch"));
    setTimeout("window.evil = 2");
    await new Promise((resolve) => setTimeout(resolve, 300));
    return { names, evil: window.evil };
  });
  assert.equal(refused.evil, undefined);
  for (const name of ["script-src-elem", "img-src", "connect-src", "fetch", "script-src"]) {
    assert.ok(refused.names.includes(name), `${name}: ${refused.names}`);
  }
  await tab.close();
});

test("names and titles are text", { skip }, async () => {
  const text = scenarios["capacity-drop.toml"]
    .replace("A capacity drop", EVIL)
    .replaceAll("upload", `"${EVIL}"`)
    .replaceAll("bottleneck]", `"${EVIL}"]`)
    .replaceAll('"bottleneck"', `"${EVIL}"`);
  const { tab, faults } = await open(browser, await linkOf(text));
  // The checker refuses such names of links and flows, and shows them.
  await tab.waitForSelector(".problems li");
  assert.ok((await tab.$eval(".problems", (one) => one.textContent)).includes("<img"));
  await tab.goto("about:blank");
  await tab.goto(await linkOf(scenarios["capacity-drop.toml"].replace("A capacity drop", EVIL)));
  await drawn(tab);
  await tab.waitForSelector(".editor");
  assert.equal(await tab.evaluate(() => window.evil), undefined);
  assert.equal(await tab.$$eval("img", (all) => all.length), 0);
  assert.deepEqual(faults, []);
  await tab.close();
});

test("a recorded title that is markup stays text, in the page and in the report", { skip }, async () => {
  const folder = mkdtempSync(`${tmpdir()}/sojourn-page-`);
  const sojourn = (...args) => execFileSync(PYTHON, ["-m", "sojourn", ...args], { cwd: `${root}..` });
  try {
    const set = ["--set", `title=${EVIL}</script>`, "--set", "duration=40s", "--control", "cubic"];
    sojourn("run", "scenarios/capacity-drop.toml", ...set, "--out", `${folder}/run`);
    sojourn("report", `${folder}/run`, "--live");
    sojourn("view", `${folder}/run`, "--save", `${folder}/run.html`);
    for (const name of ["run.html", "run/report.html"]) {
      const { tab, faults } = await open(browser, `file://${folder}/${name}`);
      let frame = tab;
      if (name !== "run.html") {
        await tab.click("#live summary");
        frame = await (await tab.$("#live iframe")).contentFrame();
      }
      await frame.waitForSelector(".results[data-drawn-ms]", { timeout: 60_000 });
      for (const one of [tab, frame]) {
        assert.equal(await one.evaluate(() => window.evil), undefined);
        assert.equal(await one.$$eval("img", (all) => all.length), 0);
      }
      assert.deepEqual(faults, []);
      await tab.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the page answers while runs go on", { skip }, async () => {
  const text = scenarios["capacity-drop.toml"].replace('"60s"', '"9000s"');
  const { tab, faults } = await open(browser, await linkOf(text));
  await tab.waitForSelector(".top > button:not([hidden])", { timeout: 30_000 });
  const [frames, longest] = await tab.evaluate(async () => {
    let [count, most, last] = [0, 0, performance.now()];
    const end = last + 2000;
    while (last < end) {
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      [count, most, last] = [count + 1, Math.max(most, now - last), now];
    }
    return [count, most];
  });
  console.log(`frames in 2 s of long runs: ${frames}, longest ${longest.toFixed(0)} ms`);
  assert.ok(frames > 4 && longest < 3000, `${frames} frames, longest ${longest} ms`);
  await (await tab.waitForSelector(".top > button:not([hidden])")).click();
  await tab.waitForSelector(".status.fault");
  assert.deepEqual(faults, []);
  await tab.close();
});

const LINK = 'duration = "5s"\n[link.a]\nrate = "10Mbit"\ndelay = "10ms"\nbuffer = "100kB"\n[link.b]\ndelay = "10ms"\n';
const flow = (name, more = "") => `[flow.${name}]\npath = ["a"]\nback = ["b"]\ncontrol = "cubic"\n${more}`;
const HUGE = {
  "a million flows": LINK + flow("f", "count = 1000000\n"),
  "20,000 tables of flows": LINK + Array.from({ length: 20_000 }, (_, k) => flow(`f${k}`)).join(""),
  "a deep array": `x = ${"[".repeat(100_000)}`,
  "a name of 100,000 letters": LINK + flow("x".repeat(100_000)),
  "a title of 100,000 letters": `title = "${"\u202ex".repeat(50_000)}"\n${LINK}${flow("f")}`,
  "100,000 changes": `${LINK.replace('"10Mbit"', `{ start = "10Mbit", steps = [${Array.from({ length: 100_000 }, (_, k) => `{ at = "${k + 1}us", rate = "1Mbit" }`).join(", ")}] }`)}${flow("f")}`,
};

for (const [name, text] of Object.entries(HUGE)) {
  test(`a scenario with ${name} has results or a reason, and the page answers`, { skip }, async () => {
    const { tab, faults } = await open(browser, await linkOf(text));
    await tab.waitForSelector(".problems li, .status.fault, .results[data-drawn-ms]", { timeout: 60_000 });
    const [page, screen] = await tab.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(page <= screen, `${page} of ${screen} pixels`);
    await tab.goto(`${server.address}#explore`);
    await drawn(tab);
    assert.deepEqual(faults, []);
    await tab.close();
  });
}

const FRAGMENTS = [
  "write:" + "A".repeat(1_900_000),
  "write:%00%ff",
  "__proto__:constructor",
  "explore:rate=1e999;t=NaN-Infinity",
  ";t=5-1",
  "learn:../../x",
  `explore:${"queue=x&".repeat(10_000)}`,
];

test("a hostile fragment opens a view", { skip }, async () => {
  for (const fragment of FRAGMENTS) {
    const { tab, faults } = await open(browser, `${server.address}#${fragment}`);
    await tab.waitForSelector("main > *", { timeout: 30_000 });
    assert.deepEqual(faults, [], fragment.slice(0, 80));
    await tab.close();
  }
});

const report = (record) => `<!doctype html><script type="text/plain" id="live-record">${gzipSync(record).toString("base64")}</script>`;

/** A zip archive whose entries of these names share one content, of which the directory tells this size. */
function zipOf(names, content, size = content.length) {
  const packed = deflateRawSync(content);
  const record = (bytes, fields) => {
    const out = Buffer.alloc(bytes);
    for (const [at, value, width] of fields) out.writeUIntLE(value, at, width);
    return out;
  };
  const head = record(30, [[0, 0x04034b50, 4], [8, 8, 2], [18, packed.length, 4], [22, size, 4]]);
  const entries = names.map((name) => {
    const text = Buffer.from(name);
    const sizes = [[20, packed.length, 4], [24, size, 4], [28, text.length, 2]];
    return Buffer.concat([record(46, [[0, 0x02014b50, 4], [10, 8, 2], ...sizes]), text]);
  });
  const directory = Buffer.concat(entries);
  const end = record(22, [[0, 0x06054b50, 4], [12, directory.length, 4], [16, 30 + packed.length, 4]]);
  return Buffer.concat([head, packed, directory, end]);
}

const DROPPED = {
  "bomb.pcap.gz": [gzipSync(Buffer.concat([Buffer.from("d4c3b2a1020004000000000000000000ffff000065000000", "hex"), Buffer.alloc(100_000_000)])), "Unsure"],
  "deep.json": [`{"results":${"[".repeat(1_000_000)}`, "recursion limit"],
  "cut.zip": [Buffer.concat([Buffer.from("PK\u0003\u0004"), Buffer.alloc(1_000_000)]), "no directory"],
  "bomb.zip": [zipOf(["scenario.toml"], Buffer.alloc(100_000_000)), "more than 64 MiB"],
  "liar.zip": [zipOf(["scenario.toml"], Buffer.alloc(100_000_000), 1000), "longer than its directory says"],
  "shared.zip": [zipOf(["scenario.toml", ...Array.from({ length: 5000 }, (_, k) => `x${k}`)], Buffer.alloc(1_000_000)), "more than 64 MiB"],
  "bomb.html": [report(Buffer.alloc(300_000_000, " ")), "more than 256 MiB"],
  "empty.html": [report("{}"), ""],
  "wrong.html": [report('{"runs": [{}], "flows": 1, "links": null, "scenario": 7}'), ""],
  "rows.parquet": [Buffer.concat([Buffer.from("PAR1"), Buffer.alloc(1_000_000, 0xff), Buffer.from("PAR1")]), "not pcap"],
  [`${EVIL}.txt`]: ["hello", "not pcap"],
  "names.json": [JSON.stringify({ run: {}, flows: { flow: [EVIL, EVIL, EVIL], t_s: [0, 1, 2], delivered_bytes: [0, 1e6, 2e6], rtt_s: [1, 1, 1] } }), ""],
};

test("dropped files have results or a reason, and the page answers", { skip }, async () => {
  const folder = mkdtempSync(`${tmpdir()}/sojourn-page-`);
  const { tab, faults } = await open(browser, server.address);
  try {
    for (const [name, [content, reason]] of Object.entries(DROPPED)) {
      // A file's name may have all signs but a slash.
      const file = `${folder}/${name.replaceAll("/", "")}`;
      writeFileSync(file, content);
      await tab.goto("about:blank");
      await tab.goto(`${server.address}#files`);
      const input = await tab.waitForSelector("input[type=file]");
      await input.uploadFile(file);
      await tab.waitForFunction(
        () => {
          const said = document.querySelector("main [role=status]").textContent;
          const isOver = said !== "" || document.querySelector("main .results p");
          return isOver && !said.startsWith("Reading") && !said.startsWith("Trying");
        },
        { timeout: 60_000 },
      );
      const said = await tab.$eval("main", (one) => one.innerText);
      assert.ok(said.includes(reason), `${name}: ${said.slice(0, 500)}`);
      assert.equal(await tab.evaluate(() => window.evil), undefined);
      assert.equal(await tab.$$eval("main img[src='x']", (all) => all.length), 0);
      assert.deepEqual(faults.splice(0), [], name);
    }
  } finally {
    rmSync(folder, { recursive: true });
    await tab.close();
  }
});
