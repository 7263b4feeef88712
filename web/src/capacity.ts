// The link whose capacity the charts show.

import type { Document } from "./model.ts";

/** The link that the charts show: one whose capacity changes, else the first with a rate. */
export function focusLink(document: Document): string {
  const links = Object.entries(document.link);
  const changing = links.find(([, link]) => typeof link["rate"] === "object");
  const limited = links.find(([, link]) => link["rate"] !== undefined);
  return (changing ?? limited ?? links[0])?.[0] ?? "";
}
