// The colour of each line: those of python/sojourn/legend.py, lighter on a dark page.

const KNOWN: Record<string, string> = {
  reno: "#b9629a",
  cubic: "#0072b2",
  bbr: "#d55e00",
  bbr3: "#3d1fe0",
  copa: "#4c7a34",
  dctcp: "#009e73",
  prague: "#00798c",
  vegas: "#7a6a00",
  "ledbat++": "#8a5a44",
  lola: "#7b52ab",
  rapid: "#a23b3b",
  ideal: "#222222",
};
const OTHERS = ["#b87900", "#2f8fc4", "#5b6abf", "#b0446e", "#3f7f6b", "#8d6aa0", "#6b7f1e", "#b0563b"];

/** Whether the page is dark now. */
export const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

/** The colours of lines, in their order. */
export function coloursOf(labels: readonly string[]): string[] {
  let next = 0;
  return labels.map((label) => {
    const colour = KNOWN[label] ?? OTHERS[next++ % OTHERS.length] ?? "#777777";
    return isDark() ? lighter(colour) : colour;
  });
}

/** The colour mixed with white, so that it contrasts with a dark page. */
function lighter(colour: string): string {
  const parts = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  const [r = 0, g = 0, b = 0] = parts;
  const luminance = (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  const white = luminance < 0.2 ? 0.72 : 0.42;
  return `rgb(${parts.map((part) => Math.round(part + (255 - part) * white)).join(" ")})`;
}
