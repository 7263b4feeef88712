// Completion of a scenario's keys and values, from its JSON Schema.

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";

/** The part of JSON Schema that the scenario's schema uses. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  type?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  description?: string;
  default?: unknown;
}

/** The schemas that a value may match, with references and alternatives resolved. */
function alternatives(root: Schema, schema: Schema | undefined, depth = 0): Schema[] {
  if (!schema || depth > 8) return [];
  const name = schema.$ref?.replace("#/$defs/", "");
  const referred = name === undefined ? undefined : root.$defs?.[name];
  const others = [referred, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [schema, ...others.flatMap((one) => alternatives(root, one, depth + 1))];
}

/** The schemas below a key. */
function below(root: Schema, schemas: Schema[], key: string): Schema[] {
  return schemas.flatMap((schema) => {
    const more = schema.additionalProperties;
    const own =
      schema.properties && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined;
    const found = own ?? schema.items ?? (typeof more === "object" ? more : undefined);
    return alternatives(root, found);
  });
}

/** The schemas at a path of keys. */
export function schemasAt(root: Schema, path: readonly string[]): Schema[] {
  return path.reduce((found, key) => below(root, found, key), alternatives(root, root));
}

/** The keys of the table whose heading was last before a line. */
function tablePath(before: string): string[] {
  const headings = [...before.matchAll(/^\s*\[\[?([^\]\n]+)\]\]?/gm)];
  const last = headings.at(-1)?.[1] ?? "";
  return last === "" ? [] : last.split(".").map((key) => key.trim().replace(/^["']|["']$/g, ""));
}

/** The keys of the inline tables that are open at the end of a text such as `queue = { kind = `. */
function inlinePath(line: string): { path: string[]; isValue: boolean } {
  const path: string[] = [];
  let key = "";
  let isValue = false;
  for (const [token] of line.matchAll(/"[^"]*"?|'[^']*'?|[\w.-]+|[={},[\]]/g)) {
    if (token === "=") isValue = true;
    else if (token === "{") {
      path.push(key);
      isValue = false;
    } else if (token === "}") path.pop();
    else if (token === ",") isValue = false;
    else if (!isValue && /^[\w.-]+$/.test(token)) key = token;
  }
  return { path: isValue ? [...path, key] : path, isValue };
}

function ofValues(schemas: Schema[]): Completion[] {
  const values = schemas.flatMap((schema) => [
    ...(schema.enum ?? []),
    ...(schema.const === undefined ? [] : [schema.const]),
    ...(schema.type === "boolean" ? [true, false] : []),
  ]);
  const labels = [...new Set(values.map((value) => JSON.stringify(value)))];
  return labels.map((label) => ({ label, type: "constant" }));
}

function ofKeys(schemas: Schema[]): Completion[] {
  const found = new Map<string, Completion>();
  for (const schema of schemas) {
    for (const [label, property] of Object.entries(schema.properties ?? {})) {
      const info = property.description;
      found.set(label, { label, type: "property", apply: `${label} = `, ...(info ? { info } : {}) });
    }
  }
  return [...found.values()];
}

/** Completion by a schema, for the editor. */
export function completion(root: Schema) {
  return (context: CompletionContext): CompletionResult | null => {
    const line = context.state.doc.lineAt(context.pos);
    const before = context.state.sliceDoc(line.from, context.pos);
    const word = /["']?[\w+.-]*$/.exec(before)?.[0] ?? "";
    const start = before.slice(0, before.length - word.length);
    if (/^\s*\[|^\s*#/.test(before) || (word === "" && !context.explicit)) return null;
    const { path, isValue } = inlinePath(start);
    const schemas = schemasAt(root, [...tablePath(context.state.sliceDoc(0, line.from)), ...path]);
    const options = isValue ? ofValues(schemas) : ofKeys(schemas);
    return options.length > 0 ? { from: context.pos - word.length, options } : null;
  };
}
