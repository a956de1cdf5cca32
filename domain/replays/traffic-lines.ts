// Splits a file of traffic into its lines, however it comes. A line that is too long for the memory is an error, not a text.

/** Of the first line, which may hold 100,000 rules of operators, and of any other one. Bytes. */
const longestHead = 64 * 1024 * 1024;
const longestLine = 1024 * 1024;
const newline = 10;

/** Lists of whole lines, without their ends. Rejects with a RangeError that ends a sentence about the file and the line: ":12 is longer than …". */
export async function* trafficLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[], void> {
  const decoder = new TextDecoder();
  let begun: Uint8Array[] = [];
  let length = 0;
  let count = 0;
  for await (const chunk of bytes) {
    const end = chunk.lastIndexOf(newline) + 1;
    const most = count === 0 ? longestHead : longestLine;
    if (length + (end === 0 ? chunk.length : chunk.indexOf(newline)) > most)
      throw new RangeError(`:${count + 1} is longer than ${most / 1024 / 1024} MiB`);
    if (end === 0) {
      begun.push(chunk);
      length += chunk.length;
      continue;
    }
    const lines = decoder.decode(joined([...begun, chunk.subarray(0, end - 1)])).split('\n');
    begun = end === chunk.length ? [] : [chunk.subarray(end)];
    length = chunk.length - end;
    count += lines.length;
    yield lines;
  }
  if (length > 0) yield decoder.decode(joined(begun)).split('\n');
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first = new Uint8Array(), ...others] = parts;
  if (others.length === 0) return first;
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
