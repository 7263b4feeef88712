// Samples as a Parquet file (the Apache Parquet format, version 2): one row group, plain encoding
// and no compression. Numbers are optional doubles, and texts are required strings.

/** A column: numbers, in which null is missing, or texts. */
export type Column = { name: string; numbers: ArrayLike<number | null> } | { name: string; texts: string[] };

const MAGIC = new TextEncoder().encode("PAR1");
// Types of the compact protocol of Thrift, and those of Parquet.
const [I32, I64, BINARY, LIST, STRUCT] = [5, 6, 8, 9, 12];
const [DOUBLE, BYTE_ARRAY] = [5, 6];
const [PLAIN, RLE] = [0, 3];
/** Schema element of a required or an optional column; strings have the converted type UTF8. */
const [REQUIRED, OPTIONAL, UTF8] = [0, 1, 0];

/** A growing row of bytes. */
class Bytes {
  private parts: Uint8Array<ArrayBuffer>[] = [];
  length = 0;

  add(part: Uint8Array<ArrayBuffer>): this {
    this.parts.push(part);
    this.length += part.length;
    return this;
  }

  byte(value: number): this {
    return this.add(Uint8Array.of(value));
  }

  u32(value: number): this {
    const four = new Uint8Array(4);
    new DataView(four.buffer).setUint32(0, value, true);
    return this.add(four);
  }

  /** An unsigned number in groups of seven bits (LEB128). */
  varint(value: number): this {
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    return this.byte(rest);
  }

  whole(): Uint8Array<ArrayBuffer> {
    const all = new Uint8Array(this.length);
    let at = 0;
    for (const part of this.parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}

/** A field of a struct: a number, a text, a struct or a list of one of these. */
type Value = { i32: number } | { i64: number } | { text: string } | Fields | { of: number; items: Value[] };
type Fields = [id: number, value: Value][];

function typeOf(value: Value): number {
  if (Array.isArray(value)) return STRUCT;
  if ("i32" in value) return I32;
  if ("i64" in value) return I64;
  return "text" in value ? BINARY : LIST;
}

/** Writes a value in the compact protocol of Thrift. */
function write(out: Bytes, value: Value): void {
  if (Array.isArray(value)) {
    let last = 0;
    for (const [id, own] of value) {
      out.byte(((id - last) << 4) | typeOf(own));
      write(out, own);
      last = id;
    }
    out.byte(0);
  } else if ("i32" in value || "i64" in value) {
    // Zigzag: all numbers here are positive.
    out.varint(2 * ("i32" in value ? value.i32 : value.i64));
  } else if ("text" in value) {
    const text = new TextEncoder().encode(value.text);
    out.varint(text.length).add(text);
  } else {
    const { of, items } = value;
    if (items.length < 15) out.byte((items.length << 4) | of);
    else out.byte(0xf0 | of).varint(items.length);
    for (const item of items) write(out, item);
  }
}

/** A bit for each value, which is 1 for a number, after its length (the RLE/bit-packed hybrid). */
function presence(values: ArrayLike<number | null>): Uint8Array<ArrayBuffer> {
  const groups = Math.ceil(values.length / 8);
  const bits = new Uint8Array(groups);
  for (let row = 0; row < values.length; row++) {
    if (values[row] !== null) bits[row >> 3] = (bits[row >> 3] ?? 0) | (1 << (row & 7));
  }
  const run = new Bytes().varint((groups << 1) | 1).add(bits).whole();
  return new Bytes().u32(run.length).add(run).whole();
}

/** The content of a column's page. */
function pageOf(column: Column): Uint8Array<ArrayBuffer> {
  const out = new Bytes();
  if ("texts" in column) {
    for (const text of column.texts) {
      const bytes = new TextEncoder().encode(text);
      out.u32(bytes.length).add(bytes);
    }
    return out.whole();
  }
  const known = Array.from(column.numbers).filter((value) => value !== null);
  const values = new DataView(new ArrayBuffer(8 * known.length));
  known.forEach((value, row) => values.setFloat64(8 * row, value, true));
  return out.add(presence(column.numbers)).add(new Uint8Array(values.buffer)).whole();
}

/** Columns of the same length as a Parquet file. */
export function parquetOf(columns: readonly Column[]): Uint8Array<ArrayBuffer> {
  const rows = { i64: countOf(columns[0]) };
  const file = new Bytes().add(MAGIC);
  const chunks: Value[] = columns.map((column) => {
    const [page, at] = [pageOf(column), file.length];
    const encodings: Fields = [[1, { i32: countOf(column) }], [2, { i32: PLAIN }], [3, { i32: RLE }], [4, { i32: RLE }]];
    const size = { i32: page.length };
    write(file, [[1, { i32: 0 }], [2, size], [3, size], [5, encodings]]);
    file.add(page);
    const total = { i64: file.length - at };
    const about: Fields = [
      [1, { i32: "texts" in column ? BYTE_ARRAY : DOUBLE }],
      [2, { of: I32, items: [{ i32: PLAIN }, { i32: RLE }] }],
      [3, { of: BINARY, items: [{ text: column.name }] }],
      [4, { i32: 0 }],
      [5, rows],
      [6, total],
      [7, total],
      [9, { i64: at }],
    ];
    return [[2, { i64: at }], [3, about]];
  });
  const schema: Value[] = [
    [[4, { text: "schema" }], [5, { i32: columns.length }]],
    ...columns.map((column): Fields => {
      const kind: Fields =
        "texts" in column
          ? [[1, { i32: BYTE_ARRAY }], [3, { i32: REQUIRED }], [4, { text: column.name }], [6, { i32: UTF8 }]]
          : [[1, { i32: DOUBLE }], [3, { i32: OPTIONAL }], [4, { text: column.name }]];
      return kind;
    }),
  ];
  const group: Fields = [[1, { of: STRUCT, items: chunks }], [2, { i64: file.length - MAGIC.length }], [3, rows]];
  const start = file.length;
  write(file, [
    [1, { i32: 1 }],
    [2, { of: STRUCT, items: schema }],
    [3, rows],
    [4, { of: STRUCT, items: [group] }],
    [6, { text: "Sojourn" }],
  ]);
  return file.u32(file.length - start).add(MAGIC).whole();
}

function countOf(column: Column | undefined): number {
  if (!column) return 0;
  return "texts" in column ? column.texts.length : column.numbers.length;
}
