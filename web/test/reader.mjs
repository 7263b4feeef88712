// Readers with a keyboard or a screen reader: checks of a document in any browser.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const AXE = readFileSync(fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");

/** The rules of WCAG 2.1 AA and of good practice that a document breaks, each with its first elements. */
export async function violations(tab) {
  await tab.evaluate(AXE);
  return tab.evaluate(async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
    const found = await axe.run(document, { runOnly: tags });
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).slice(0, 3)}`);
  });
}

/** The Tab key reaches each control, and each shows that it has the focus. */
export async function reachesAll(tab, name) {
  const reached = new Set();
  for (let press = 0; press < 200; press++) {
    await tab.keyboard.press("Tab");
    const state = await tab.evaluate(() => {
      const own = document.activeElement;
      if (own === document.body || own?.dataset.reached) return undefined;
      own.dataset.reached = "yes";
      const style = getComputedStyle(own);
      return own.shadowRoot || style.outlineStyle !== "none" ? "visible" : own.outerHTML.slice(0, 80);
    });
    if (state === undefined) break;
    reached.add(state);
  }
  assert.deepEqual([...reached], ["visible"], name);
  const missed = await tab.$$eval("button, input, select, a, summary, [tabindex='0']", (all) =>
    all
      .filter((one) => !one.disabled && one.checkVisibility({ visibilityProperty: true }) && !one.dataset.reached)
      .map((one) => one.outerHTML.slice(0, 80)),
  );
  assert.deepEqual(missed, [], name);
}
