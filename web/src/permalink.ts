// Links that hold a whole scenario, with its files, in the fragment of the address.

import type { Scenario } from "./messages.ts";

/** Longest fragment that is read, and longest text that it may hold. */
const MOST_LINK = 2_000_000;
const MOST_TEXT = 8_000_000;

interface Held {
  toml: string;
  files: Record<string, string>;
}

/** The scenario as a fragment without `#`. */
export async function fragmentOf(scenario: Scenario & { text: string }): Promise<string> {
  const held: Held = { toml: scenario.text, files: scenario.files };
  const stream = new Blob([JSON.stringify(held)]).stream();
  const packed = stream.pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The scenario of a fragment; undefined if the fragment is not valid. */
export async function scenarioOf(fragment: string): Promise<(Scenario & { text: string }) | undefined> {
  if (fragment.length > MOST_LINK || !/^[\w-]+$/.test(fragment)) return undefined;
  try {
    const text = atob(fragment.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (sign) => sign.charCodeAt(0));
    const held: unknown = JSON.parse(await unpacked(bytes));
    if (!isHeld(held)) return undefined;
    return { text: held.toml, files: held.files };
  } catch {
    return undefined;
  }
}

/** The text of packed bytes. It stops reading at the limit, since a few bytes can hold gigabytes. */
async function unpacked(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > MOST_TEXT) {
      await reader.cancel();
      throw new Error("the link holds too much");
    }
  }
}

function isHeld(held: unknown): held is Held {
  if (typeof held !== "object" || held === null) return false;
  const { toml, files } = held as Partial<Held>;
  const isTexts = (value: unknown) =>
    typeof value === "object" &&
    value !== null &&
    Object.values(value).every((one) => typeof one === "string");
  return typeof toml === "string" && isTexts(files);
}
