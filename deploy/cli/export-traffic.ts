// `model-gateway export traffic`: recorded requests as a file for `model-gateway plan`, on a laptop or in CI.
import { createWriteStream, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { createGzip } from 'node:zlib';
import { hashedLine, hasherOf } from '../../domain/records/hash-names.ts';
import type { TrafficHead, TrafficLine } from '../../domain/records/traffic.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { parseMomentOrLength } from '../../schemas/formats/moment-or-length.ts';
import { connectionOptions, readAdmin } from './admin-api.ts';
import type { Outcome } from './commands.ts';

const options = {
  ...connectionOptions,
  force: { type: 'boolean', default: false },
  since: { type: 'string' },
  until: { type: 'string' },
  share: { type: 'string' },
  'salt-file': { type: 'string' },
} as const;

/** Shorter ones can be guessed. Characters. */
const leastSalt = 16;

/** `args`: behind `export traffic`. */
export async function exportTraffic(args: readonly string[]): Promise<Outcome> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0)
    return {
      output: 'usage: model-gateway export traffic FILE [--since WHEN] [--until WHEN] [--share 0.1] [--salt-file FILE]',
      code: 2,
    };
  if (existsSync(file) && !values.force) return { output: `${file} exists; --force replaces it`, code: 1 };
  const salt = saltIn(values['salt-file']);
  const query = new URLSearchParams();
  if (values.since !== undefined) query.set('from', momentOf(values.since));
  if (values.until !== undefined) query.set('to', momentOf(values.until));
  if (values.share !== undefined) query.set('share', values.share);
  const stream = await readAdmin(values.url, `traffic?${query.toString()}`);
  const written = createWriteStream(file, { mode: 0o600 });
  const counted = { lines: 0 };
  const lines = countedLines(stream, salt, counted);
  await (file.endsWith('.gz') ? pipeline(lines, createGzip(), written) : pipeline(lines, written));
  const hidden = salt === undefined ? '' : '; user paths, keys, labels and sessions are hashes';
  return { output: `written: ${file}, ${counted.lines} requests${hidden}`, code: 0 };
}

function saltIn(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const salt = readFileSync(file, 'utf8').trim();
  if (salt.length < leastSalt)
    throw new Error(`${file} must hold at least ${leastSalt} characters, so that it cannot be guessed`);
  return salt;
}

function momentOf(text: string): string {
  const moment = parseMomentOrLength(text, Date.now());
  if (moment === undefined)
    throw new Error(`${text} is neither a moment (2026-03-31T00:00:00Z) nor a length (24h, 7d)`);
  return timestamp(moment);
}

async function* countedLines(
  stream: Readable,
  salt: string | undefined,
  counted: { lines: number },
): AsyncGenerator<string> {
  const hash = salt === undefined ? undefined : hasherOf(salt);
  let isHead = true;
  for await (const text of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (text === '') continue;
    if (!isHead) counted.lines += 1;
    if (hash === undefined) yield `${text}\n`;
    else if (isHead) yield `${JSON.stringify({ ...(JSON.parse(text) as TrafficHead), hashed: true })}\n`;
    else yield `${JSON.stringify(hashedLine(JSON.parse(text) as TrafficLine, hash))}\n`;
    isHead = false;
  }
}
