// The scenarios that ship with Sojourn, and the files that they name.

import shipped from "shipped";

/** The texts of the scenarios, by their paths. */
export const scenarios: Record<string, string> = shipped.scenarios;

/** The texts of the files that they name. */
export const files: Record<string, string> = shipped.files;

/** The path of a scenario with this name or path, such as `rmcat/long-tcp`; undefined if there is none. */
export function pathOf(name: string): string | undefined {
  return [name, `${name}.toml`].find((path) => Object.hasOwn(scenarios, path));
}

/** The title of a scenario, from its text. */
export function titleOf(path: string): string {
  const line = /^title\s*=\s*"(.*)"$/m.exec(scenarios[path] ?? "");
  return line?.[1] ?? path;
}
