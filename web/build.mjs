// Bundles the page into a folder: node build.mjs FOLDER. The module of the simulator must be built.
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { licences } from "./licences.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = process.argv[2] ?? `${root}target/page`;

/** Every shipped scenario and the files that they name, by their paths below `scenarios`. */
async function scenarios() {
  const found = { scenarios: {}, files: {} };
  const names = await readdir(`${root}scenarios`, { recursive: true });
  for (const path of names.sort()) {
    if (!/\.(toml|trace|txt)$/.test(path)) continue;
    const text = await readFile(`${root}scenarios/${path}`, "utf8");
    if (path.endsWith(".toml")) found.scenarios[path] = text;
    // A scenario names a file beside it without the folder.
    else found.files[path.startsWith("traces/") ? path : basename(path)] = text;
  }
  return found;
}

/** Sections of tiles of docs/gallery.md: name, text and command, and whether it is a scenario. */
async function gallery() {
  const text = await readFile(`${root}docs/gallery.md`, "utf8");
  return text.split(/^## /m).slice(1).map((section) => {
    const tiles = section.matchAll(/!\[[^\]]*\]\(pictures\/([\w-]+)\.svg\)<br>(.*?)<br>`(sojourn (\w+) run|sojourn run) ([^`]+)`/g);
    return {
      title: section.split("\n", 1)[0],
      tiles: [...tiles].map(([, picture, words, command, kind, name]) => {
        return { name, picture, text: words, command: `${command} ${name}`, opens: kind === undefined };
      }),
    };
  });
}

/** The results of Explore's start, by the simulator itself; samples have five digits. */
async function first() {
  const load = (name) => import(pathToFileURL(`${out}-modules/${name}.js`));
  const [{ Simulator }, { START, STORED_SAMPLES, documentOf }] = await Promise.all([load("simulator"), load("explore-state")]);
  const simulator = new Simulator(await WebAssembly.compile(await readFile(`${root}target/wasm/sojourn.wasm`)));
  const described = simulator.load(documentOf(START, STORED_SAMPLES));
  const record = { title: described.title, scenario: described.toml, files: {}, runs: [], flows: [], links: [] };
  for (const control of described.controls.keys()) {
    simulator.start(control);
    while (!simulator.advance(1 << 20));
    record.flows.push(rounded(simulator.samples("flows", 0, ["t_s", "goodput_bps", "cwnd_bytes", "rtt_s"])));
    const links = simulator.samples("links", 0, ["t_s", "capacity_bps", "carried_bps", "queue_delay_s"]);
    record.links.push(rounded(ofLink(links, "bottleneck")));
    record.runs.push(JSON.parse(simulator.finish()));
  }
  return { described, record, judgement: simulator.judge("bottleneck", record.runs, 1000) };
}

/** The samples of one link. */
function ofLink({ names, columns }, name) {
  const place = names.indexOf(name);
  const own = (values) => values.filter((_, row) => row % names.length === place);
  return { names: [name], columns: Object.fromEntries(Object.entries(columns).map(([key, values]) => [key, own(values)])) };
}

function rounded({ names, columns }) {
  const short = (value) => (Number.isFinite(value) ? Number(value.toPrecision(5)) : null);
  return { names, columns: Object.fromEntries(Object.entries(columns).map(([key, values]) => [key, Array.from(values, short)])) };
}

/** Makes data importable: `shipped`, `gallery` and, once the simulator can be imported, `first`. */
const data = (content) => ({
  name: "data",
  setup(plugins) {
    const names = Object.keys(content).join("|");
    plugins.onResolve({ filter: new RegExp(`^(${names})$`) }, ({ path }) => ({ path, namespace: "data" }));
    plugins.onLoad({ filter: /.*/, namespace: "data" }, ({ path }) => ({ contents: JSON.stringify(content[path]), loader: "json" }));
  },
});

/** A quoted source of the Content-Security-Policy that allows this text. */
const hashOf = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Data in an element, which no text in it can end. */
const element = (id, text) => `<script type="text/plain" id="${id}">${text.replaceAll("<", "\\u003c")}</script>`;

/** The page that loads the parts of its script at once, and not one after the other. */
async function startPage(outputs) {
  const of = (name) => Object.entries(outputs).find(([path]) => path.endsWith(`/${name}`))?.[1];
  const needed = of("page.js").imports.filter(({ kind }) => kind === "import-statement");
  const links = needed.map(({ path }) => `<link rel="modulepreload" href="${path.replace(/.*\//, "")}">\n`);
  const html = await readFile(`${root}web/src/index.html`, "utf8");
  return html.replace("</head>", () => `${links.join("")}</head>`);
}

/** The page's script without parts that are loaded later. */
async function bundled() {
  const { outputFiles } = await build({ ...shared, entryPoints: ["src/main.ts"], write: false });
  return outputFiles[0].text;
}

/** The page in one file, which needs no server. `sojourn view --save` puts a record into it. */
async function oneFile() {
  const read = (name) => readFile(`${out}/${name}`, "utf8");
  const html = await readFile(`${root}web/src/index.html`, "utf8");
  const [style, worker] = await Promise.all(["style.css", "worker.js"].map(read));
  // "</script" occurs in strings only, in which the escape has no effect.
  const script = (await bundled()).replaceAll("</script", "<\\/script");
  const packed = gzipSync(await readFile(`${out}/sojourn.wasm`), { level: 9 }).toString("base64");
  const policy =
    `default-src 'none'; script-src ${hashOf(script)} 'wasm-unsafe-eval'; worker-src blob:; ` +
    `style-src ${hashOf(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'`;
  const parts = [
    element("sojourn-wasm", packed),
    element("sojourn-worker", JSON.stringify(worker)),
    element("sojourn-record", ""),
    `<script type="text/plain" id="sojourn-licences">${await read("licences.txt")}</script>`,
    `<script type="module">${script}</script>`,
  ];
  return html
    .replace(/(Content-Security-Policy" content=")[^"]*/, (_, head) => head + policy)
    .replace(/<link rel="preload"[^>]*>\n/, "")
    .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`)
    .replace(/<script type="module"[^>]*><\/script>\n/, "")
    .replace("</body>", () => `${parts.join("\n")}\n</body>`);
}

/** Modules that tests in node import. */
const TESTED = [
  ...["capacity", "colours", "completion", "explore-state", "parquet", "permalink", "pool"],
  ...["shipped", "simulator", "stories", "figure/panel", "figure/scale", "figure/verdict"],
];

/** Large files that few readers need: the service worker keeps them once they were used. */
const ON_DEMAND = ["live.html.gz", "logs.wasm"];

const { version } = /^version = "(?<version>.*)"/m.exec(await readFile(`${root}Cargo.toml`, "utf8")).groups;

const plain = {
  absWorkingDir: `${root}web`,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  define: { SOJOURN_VERSION: JSON.stringify(version) },
  logLevel: "warning",
};
const tiles = await gallery();
const contained = { shipped: await scenarios(), gallery: tiles, first: null };

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
// The same code for tests in node, and for the results that the page contains.
await build({
  ...plain,
  plugins: [data(contained)],
  minify: false,
  entryPoints: TESTED.map((name) => `src/${name}.ts`),
  outdir: `${out}-modules`,
  platform: "neutral",
});
await writeFile(`${out}-modules/package.json`, '{ "type": "module" }\n');
const shared = { ...plain, plugins: [data({ ...contained, first: await first() })] };
const { metafile } = await build({
  ...shared,
  metafile: true,
  entryPoints: { page: "src/main.ts", style: "src/style.css" },
  outdir: out,
  splitting: true,
  chunkNames: "part-[hash]",
});
// A plain script, since a page that was opened as a file may start no worker that is a module.
await build({ ...shared, format: "iife", entryPoints: ["src/worker.ts"], outdir: out });
await writeFile(`${out}/licences.txt`, await licences(Object.keys(metafile.inputs)));
await writeFile(`${out}/index.html`, await startPage(metafile.outputs));
for (const name of ["sojourn", "logs"]) await copyFile(`${root}target/wasm/${name}.wasm`, `${out}/${name}.wasm`);
for (const { picture } of tiles.flatMap(({ tiles: own }) => own)) {
  await copyFile(`${root}docs/pictures/${picture}.svg`, `${out}/picture-${picture}.svg`);
}
await writeFile(`${out}/live.html.gz`, gzipSync(await oneFile(), { level: 9 }));
await offline();

/** The service worker, which keeps the files so far. Its version follows from their content. */
async function offline() {
  const names = (await readdir(out)).sort();
  const hash = createHash("sha256");
  for (const name of names) hash.update(name).update(await readFile(`${out}/${name}`));
  const first = names.filter((name) => !ON_DEMAND.includes(name));
  const define = { FILES: JSON.stringify(first), LATER: JSON.stringify(ON_DEMAND), VERSION: JSON.stringify(hash.digest("hex").slice(0, 16)) };
  await build({ ...shared, define, format: "iife", entryPoints: ["src/offline.ts"], outdir: out });
}
