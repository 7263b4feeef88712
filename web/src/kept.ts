// Texts that the browser keeps between visits. A page that was opened as a file may have no place for them.

const KEY = "sojourn ";

export function keepText(name: string, text: string | undefined): void {
  try {
    if (text === undefined) localStorage.removeItem(KEY + name);
    else localStorage.setItem(KEY + name, text);
  } catch {
    // Full or forbidden: the text lives until the page is closed.
  }
}

export function keptText(name: string): string | undefined {
  try {
    return localStorage.getItem(KEY + name) ?? undefined;
  } catch {
    return undefined;
  }
}
