// Bundles the script and the style of a report into a folder: node report.mjs FOLDER. Git tracks them, so that
// a clone draws reports without node.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

await build({
  absWorkingDir: `${root}web`,
  entryPoints: ["src/report.ts", "src/report.css"],
  outdir: process.argv[2] ?? `${root}python/sojourn/picture`,
  bundle: true,
  format: "iife",
  target: "es2022",
  minify: true,
  legalComments: "none",
  logLevel: "warning",
});
