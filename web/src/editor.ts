// The editor of scenarios: TOML, with completion, and errors from the simulator's own checker.

import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type Schema, completion } from "./completion.ts";
import type { Problem } from "./model.ts";

/** Longest text that the simulator reads. */
const MOST_TEXT = 4 << 20;

const COLOURS = HighlightStyle.define([
  { tag: tags.comment, color: "var(--soft)" },
  { tag: tags.string, color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--number)" },
  { tag: [tags.propertyName, tags.keyword], color: "var(--accent)" },
]);

const THEME = EditorView.theme({
  "&": { maxHeight: "70vh", fontSize: "14px", color: "var(--ink)", background: "var(--paper)" },
  ".cm-scroller": { overflow: "auto", fontFamily: "monospace" },
  ".cm-gutters": { background: "var(--panel)", color: "var(--soft)", borderColor: "var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { background: "var(--panel)" },
  ".cm-cursor": { borderColor: "var(--ink)" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-selectionBackground": { background: "var(--selection) !important" },
  ".cm-tooltip": {
    background: "var(--panel)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    maxWidth: "30rem",
    whiteSpace: "pre-wrap",
  },
});

/** An editor; `onEdit` follows each change, and `onRun` Ctrl-Enter. */
export class Editor {
  private readonly view: EditorView;
  private readonly root: Promise<Schema | undefined>;

  constructor(parent: HTMLElement, schema: Promise<Schema>, onEdit: () => void, onRun: () => void) {
    // A busy machine may not answer in time: the editor then completes nothing.
    this.root = schema.catch(() => undefined);
    const source = async (context: Parameters<ReturnType<typeof completion>>[0]) => {
      const root = await this.root;
      return root ? completion(root)(context) : null;
    };
    const run = () => {
      onRun();
      return true;
    };
    // The editor's style sheets are adopted by a shadow root; in a document they would be elements,
    // which the page's Content-Security-Policy refuses.
    const root = parent.attachShadow({ mode: "open" });
    this.view = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          closeBrackets(),
          StreamLanguage.define(toml),
          syntaxHighlighting(COLOURS),
          THEME,
          lintGutter(),
          autocompletion({ override: [source] }),
          // Tab leaves the editor, as a keyboard needs it.
          keymap.of([
            { key: "Mod-Enter", run },
            ...completionKeymap,
            ...historyKeymap,
            ...lintKeymap,
            ...defaultKeymap,
          ]),
          EditorView.contentAttributes.of({ "aria-label": "Scenario in TOML", tabindex: "0" }),
          EditorView.updateListener.of((update) => update.docChanged && onEdit()),
          EditorState.changeFilter.of((change) => change.newDoc.length <= MOST_TEXT),
        ],
      }),
    });
  }

  text(): string {
    return this.view.state.doc.toString();
  }

  set(text: string): void {
    const { length } = this.view.state.doc;
    this.view.dispatch({ changes: { from: 0, to: length, insert: text.slice(0, MOST_TEXT) } });
  }

  /** Mark the problems at their lines and columns. */
  mark(problems: readonly Problem[]): void {
    const { doc } = this.view.state;
    const diagnostics = problems.map((problem): Diagnostic => {
      const line = doc.line(Math.min(Math.max(problem.line ?? 1, 1), doc.lines));
      // The checker counts characters, and the editor UTF-16 units.
      const before = [...line.text].slice(0, (problem.column ?? 1) - 1).join("").length;
      const from = Math.min(line.from + before, line.to);
      const help = problem.help ? `\n${problem.help}` : "";
      return { from, to: line.to, severity: "error", message: `${problem.message}${help}` };
    });
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }
}
