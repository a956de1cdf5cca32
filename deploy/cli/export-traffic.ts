// `model-gateway export traffic`: recorded requests as a file for `model-gateway plan`, on a laptop or in CI.
import { createWriteStream, existsSync, readFileSync, rmSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { createGzip } from 'node:zlib';
import { type HashName, hasherOf, renamedLine } from '../../domain/records/hash-names.ts';
import type { TrafficLine } from '../../domain/records/traffic.ts';
import { hashedHead } from '../../domain/replays/live-settings.ts';
import { readTrafficHead } from '../../domain/replays/traffic-head.ts';
import { trafficLines } from '../../domain/replays/traffic-lines.ts';
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
  'without-overrides': { type: 'boolean', default: false },
} as const;

/** Shorter ones can be guessed. Characters. */
const leastSalt = 16;

/** `args`: behind `export traffic`. */
export async function exportTraffic(args: readonly string[]): Promise<Outcome> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0)
    return {
      output:
        'usage: model-gateway export traffic FILE [--since WHEN] [--until WHEN] [--share 0.1] [--salt-file FILE] [--without-overrides]',
      code: 2,
    };
  if (existsSync(file) && !values.force) return { output: `${file} exists; --force replaces it`, code: 1 };
  const salt = saltIn(values['salt-file']);
  const query = new URLSearchParams({ around: 'true' });
  if (values.since !== undefined) query.set('from', momentOf(values.since));
  if (values.until !== undefined) query.set('to', momentOf(values.until));
  if (values.share !== undefined) query.set('share', values.share);
  const stream = await readAdmin(values.url, `traffic?${query.toString()}`);
  const form = {
    hash: salt === undefined ? undefined : hasherOf(salt),
    isWithoutOverrides: values['without-overrides'],
  };
  const counted = { lines: 0 };
  const lines = writtenLines(stream, form, counted);
  const written = createWriteStream(file, { mode: 0o600 });
  await (file.endsWith('.gz') ? pipeline(lines, createGzip(), written) : pipeline(lines, written)).catch(
    (error: Error) => {
      rmSync(file, { force: true });
      throw error instanceof RangeError
        ? new Error(`the answer of the gateway${error.message}`, { cause: error })
        : error;
    },
  );
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

interface Form {
  /** Undefined: names are written as they are. */
  readonly hash: HashName | undefined;
  readonly isWithoutOverrides: boolean;
}

async function* writtenLines(
  bytes: AsyncIterable<Uint8Array>,
  form: Form,
  counted: { lines: number },
): AsyncGenerator<string> {
  const { hash } = form;
  let isHead = true;
  for await (const texts of trafficLines(bytes)) {
    const lines = texts.filter((text) => text !== '');
    const [first = ''] = lines;
    const head: string[] = isHead && lines.length > 0 ? [writtenHead(first, form)] : [];
    const requests = lines.slice(head.length);
    isHead &&= head.length === 0;
    counted.lines += requests.length;
    const written =
      hash === undefined
        ? requests
        : requests.map((text) => JSON.stringify(renamedLine(JSON.parse(text) as TrafficLine, hash)));
    yield [...head, ...written].map((text) => `${text}\n`).join('');
  }
}

function writtenHead(text: string, { hash, isWithoutOverrides }: Form): string {
  const read = readTrafficHead(JSON.parse(text));
  if (typeof read === 'string') throw new Error(`the answer of the gateway ${read}`);
  const { live, ...others } = read;
  const head = live === undefined || isWithoutOverrides ? others : { ...others, live };
  return JSON.stringify(hash === undefined ? head : hashedHead(head, hash));
}
