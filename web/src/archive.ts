// The files of a zip archive (APPNOTE.TXT of PKWARE, without zip64 and encryption).

/** Longest content of a file: a few bytes can hold gigabytes. */
const MOST_BYTES = 256 << 20;
/** Signatures: of the end of the directory, of its entries, and of a file. */
const [END, ENTRY] = [0x06054b50, 0x02014b50];
/** Lengths of these records without their texts; a comment of 64 kB may follow the end. */
const [END_BYTES, ENTRY_BYTES, FILE_BYTES, MOST_COMMENT] = [22, 46, 30, 0xffff];
const [STORED, DEFLATED] = [0, 8];

interface Entry {
  method: number;
  packed: number;
  size: number;
  at: number;
}

/** The names of an archive, each with its content on demand. */
export async function archiveOf(file: Blob): Promise<Map<string, () => Promise<Blob>>> {
  const from = Math.max(0, file.size - END_BYTES - MOST_COMMENT);
  const tail = new DataView(await file.slice(from).arrayBuffer());
  let end = tail.byteLength - END_BYTES;
  while (end >= 0 && tail.getUint32(end, true) !== END) end -= 1;
  if (end < 0) throw new Error(`it has no directory: the archive is cut, or no zip`);
  const [length, at] = [tail.getUint32(end + 12, true), tail.getUint32(end + 16, true)];
  const directory = await file.slice(at, at + length).arrayBuffer();
  const found = new Map<string, () => Promise<Blob>>();
  for (const [name, entry] of entriesOf(new DataView(directory))) found.set(name, () => contentOf(file, name, entry));
  return found;
}

function* entriesOf(view: DataView): Generator<[string, Entry]> {
  for (let at = 0; at + ENTRY_BYTES <= view.byteLength && view.getUint32(at, true) === ENTRY; ) {
    const [name, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true)) as [number, number, number];
    const text = new TextDecoder().decode(new Uint8Array(view.buffer, at + ENTRY_BYTES, name));
    const long = (place: number) => view.getUint32(at + place, true);
    yield [text, { method: view.getUint16(at + 10, true), packed: long(20), size: long(24), at: long(42) }];
    at += ENTRY_BYTES + name + extra + comment;
  }
}

async function contentOf(file: Blob, name: string, { method, packed, size, at }: Entry): Promise<Blob> {
  if (size > MOST_BYTES) throw new Error(`${name} has more than ${MOST_BYTES >> 20} MiB`);
  if (method !== STORED && method !== DEFLATED) throw new Error(`${name} is packed by method ${method}; use deflate`);
  const head = new DataView(await file.slice(at, at + FILE_BYTES).arrayBuffer());
  const begin = at + FILE_BYTES + head.getUint16(26, true) + head.getUint16(28, true);
  const content = file.slice(begin, begin + packed);
  if (method === STORED) return content;
  return cut(content.stream().pipeThrough(new DecompressionStream("deflate-raw")), size);
}

/** The bytes of a stream, which may not be more than these. */
export async function cut(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  most: number,
  fault = "a file of the archive is longer than its directory says",
): Promise<Blob> {
  const reader = stream.getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let left = most; ; ) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts);
    left -= value.length;
    if (left < 0) {
      await reader.cancel();
      throw new Error(fault);
    }
    parts.push(value);
  }
}
