// The scenarios that ship with Sojourn, and the files that they name.

import shipped from "shipped";

/** The texts of the scenarios, by their paths. */
export const scenarios: Record<string, string> = shipped.scenarios;

/** The texts of the files that they name. */
export const files: Record<string, string> = shipped.files;

/** The title of a scenario, from its text. */
export function titleOf(path: string): string {
  const line = /^title\s*=\s*"(.*)"$/m.exec(scenarios[path] ?? "");
  return line?.[1] ?? path;
}
