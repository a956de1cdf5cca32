// Audit entries as text from the thread of a store to the answer: their bodies are long, and nobody on the way has to read them.

/** An entry as the admin API shows it. */
export interface WrittenEntry {
  readonly id: string;
  readonly userPath: string;
  /** JSON in UTF-8. */
  readonly json: Uint8Array;
}

/** Entries in one piece of memory, which goes from one thread to another without a copy. */
export interface PackedEntries {
  readonly entries: readonly { readonly id: string; readonly userPath: string; readonly length: number }[];
  /** Their JSON, one after the other. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** An entry on its way into the piece. */
export interface EntryText {
  readonly id: string;
  readonly userPath: string;
  readonly text: string;
}

export function packEntries(texts: readonly EntryText[]): PackedEntries {
  const entries = texts.map(({ id, userPath, text }) => ({ id, userPath, length: Buffer.byteLength(text) }));
  // In memory of its own: other buffers share theirs, and would go with it.
  const bytes = Buffer.allocUnsafeSlow(entries.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const { text } of texts) at += bytes.write(text, at);
  return { entries, bytes };
}

/** `entries`: as `packEntries` has listed them. */
export function unpackEntries(entries: PackedEntries['entries'], bytes: Uint8Array): WrittenEntry[] {
  let end = 0;
  return entries.map(({ length, ...entry }) => {
    end += length;
    return { ...entry, json: bytes.subarray(end - length, end) };
  });
}
