// `model-gateway restore-state SOURCE`: puts an older state of rules and keys in force on purpose. Without it a store that went back is repaired.
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { managedKeys, managedKinds } from '../domain/documents/kinds.ts';
import { recallState } from '../store/state/last-good-state.ts';
import { openStateStore, type StoreSettings } from '../store/state/open.ts';
import { accessOf, parseRedisUrl } from '../store/state/redis/address.ts';
import { type Difference, differences, restoredState } from '../store/state/restored-state.ts';
import { type SealedStore, sealDocuments } from '../store/state/sealed-store.ts';
import { stateFilePath } from '../store/state/sqlite/file.ts';
import type { Document, StoredState } from '../store/state/state-store.ts';
import { callerDirectory, readEnvironment } from './environment.ts';

const usage = 'usage: model-gateway restore-state SOURCE [--yes]';
const help = `${usage}

Puts the rules, keys, aliases, budgets and guardrails of SOURCE in force in every process, in the place of those of now. Keys that were
revoked since then work again. Resets of counters, budgets and the cache are not undone. The state store is the one that GATEWAY_DATA or
REDIS_URL names; GATEWAY_MASTER_KEY is the one that sealed the documents.

  SOURCE  a copy of state.sqlite, or a last-good-state.json; or the address of a Redis (redis://…) that holds a snapshot;
          or "store": what the state store itself says now, after it was restored while no gateway ran
  --yes   do it; without it, the changes are listed and nothing is done

exit code: 0 done, or listed; 1 it cannot be done; 2 the command itself is wrong`;

/** A person waits for the command: a busy store has time to answer. Milliseconds. */
const timeoutMs = 10_000;

interface Outcome {
  readonly output: string;
  /** 0 done or listed, 1 not possible, 2 wrong command. */
  readonly code: 0 | 1 | 2;
}

function asksHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h');
}

/** `settings`: of the control plane of that store. Paths are relative to `from`. Never rejects for what a person can mend. */
export async function restoreState(args: readonly string[], settings: StoreSettings, from: string): Promise<Outcome> {
  const options = args.filter((arg) => arg.startsWith('-'));
  const [name, another] = args.filter((arg) => !arg.startsWith('-'));
  if (asksHelp(args)) return { output: help, code: 0 };
  const strange = options.find((option) => option !== '--yes');
  if (strange !== undefined) return { output: `the option ${strange} is unknown\n${usage}`, code: 2 };
  if (name === undefined || another !== undefined) return { output: `name one source\n${usage}`, code: 2 };
  const store = openStore(settings);
  try {
    return await restore(store, await readSource(name, settings, from), options.includes('--yes'));
  } catch (error) {
    return { output: error instanceof Error ? error.message : String(error), code: 1 };
  } finally {
    await store.close();
  }
}

/** `read`: the source; undefined: the store itself. */
async function restore(store: SealedStore, read: StoredState | undefined, isMeant: boolean): Promise<Outcome> {
  const current = await store.read();
  const source = read ?? current;
  const restored = restoredState(current, source);
  const found = differences(current, restored);
  const lines = [
    ...found.map(sentence),
    ...source.skipped.map(
      ({ kind, id }) => `  ${kind} "${id}" is left out: it has no seal of this master key, or cannot be read`,
    ),
    `${source.documents.length} documents, ${found.length} of them differ from what the state store says now`,
  ];
  if (!isMeant)
    return { output: [...lines, 'nothing was changed; with --yes this is put in force'].join('\n'), code: 0 };
  if (!(await store.rewrite(restored, current))) {
    return { output: 'the state store has changed meanwhile, nothing was restored; run the command again', code: 1 };
  }
  return { output: [...lines, 'restored: every process puts it in force within a second'].join('\n'), code: 0 };
}

/** Undefined: the store itself. Throws an error that says what is wrong with the source. */
async function readSource(name: string, settings: StoreSettings, from: string): Promise<StoredState | undefined> {
  if (name === 'store') return undefined;
  if (parseRedisUrl(name) !== undefined) {
    // What lets in to the one Redis, such as certificates, is tried on the other, too.
    const access = settings.redisUrl === undefined ? {} : accessOf(settings.redisUrl);
    return readOnce({ ...settings, redisUrl: { ...access, url: name } });
  }
  const path = resolve(from, name);
  if (!existsSync(path)) throw new Error(`there is no file ${path}`);
  const folder = mkdtempSync(join(tmpdir(), 'restore-state-'));
  try {
    if (readFileSync(path).subarray(0, 6).toString('latin1') === 'SQLite') {
      // Opening it would change it.
      for (const side of ['', '-wal'])
        if (existsSync(path + side)) copyFileSync(path + side, stateFilePath(folder) + side);
      return await readOnce({ ...settings, redisUrl: undefined, dataDirectory: folder });
    }
    const { state, warning } = await recallState(path);
    if (state === undefined) throw new Error(warning ?? `${path} is no copy of the managed state`);
    return await readWith({ ...settings, redisUrl: undefined, dataDirectory: folder }, (opener) => opener.open(state));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function readOnce(settings: StoreSettings): Promise<StoredState> {
  const state = await readWith(settings, (store) => store.read());
  if (state.storeId === undefined) throw new Error('the source holds no managed state');
  return state;
}

function openStore(settings: StoreSettings): SealedStore {
  const { dataDirectory: directory, redisUrl, redisPrefix: prefix, masterKey, previousMasterKey } = settings;
  const redis = redisUrl === undefined ? {} : { redisUrl, prefix };
  return sealDocuments(openStateStore({ directory, timeoutMs, ...redis }), { masterKey, previousMasterKey });
}

async function readWith(
  settings: StoreSettings,
  work: (store: SealedStore) => Promise<StoredState>,
): Promise<StoredState> {
  const store = openStore(settings);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

function sentence({ effect, before, after }: Difference): string {
  const document = after ?? before;
  return `  ${nounOf(document)} ${effect}${isRevived(before, after) ? ', AND WORKS AGAIN' : ''}`;
}

function nounOf(document: Document | undefined): string {
  const { kind = '', id = '' } = document ?? {};
  const noun = managedKinds.find((each) => each.kind === kind)?.noun(id) ?? `${kind} "${id}"`;
  const name = kind === managedKeys.kind ? managedKeys.read(id, document?.body)?.name : undefined;
  return name === undefined ? noun : `${noun} (${name})`;
}

/** A key that is refused now, and not after the restore. */
function isRevived(before: Document | undefined, after: Document | undefined): boolean {
  const isOn = (document: Document | undefined): boolean =>
    document?.kind === managedKeys.kind && managedKeys.read(document.id, document.body)?.enabled === true;
  return isOn(after) && !isOn(before);
}

if (import.meta.main) {
  const args = process.argv.slice(2);
  const reading = readEnvironment();
  const { output, code } = asksHelp(args)
    ? { output: help, code: 0 as const }
    : 'problems' in reading
      ? { output: reading.problems.join('\n'), code: 1 as const }
      : await restoreState(args, reading.environment, callerDirectory());
  process.stdout.write(`${output}\n`);
  process.exitCode = code;
}
