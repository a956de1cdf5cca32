// What a changed value does to callers: they may do more (loosened), or less (tightened). Pure.
import { isWithin, normaliseUserPath } from '../../domain/user-path.ts';
import { sizeBytes } from '../../schemas/formats/units.ts';

export type Effect = 'loosened' | 'tightened';

/**
 * How a value bounds callers: its values from the loosest to the tightest, or what more of it does. Without a value, numbers, sizes, lists and
 * paths bound nothing.
 */
export type Scale = readonly unknown[] | { readonly more: Effect; readonly of: keyof typeof holds };
export type Scales = Readonly<Record<string, Scale>>;
type Values = ReadonlyMap<string, unknown>;

const opposite = { loosened: 'tightened', tightened: 'loosened' } as const;

/** Whether the first value has all that the second one has. */
const holds = {
  number: (all: unknown, part: unknown): boolean => amountOf(all) >= amountOf(part),
  size: (all: unknown, part: unknown): boolean => bytesOf(all) >= bytesOf(part),
  list: (all: unknown, part: unknown): boolean =>
    isEverything(all) || (!isEverything(part) && listOf(part).every((item) => listOf(all).includes(item))),
  paths: (all: unknown, part: unknown): boolean =>
    all === undefined || (part !== undefined && pathsOf(part).every((path) => isAmong(path, pathsOf(all)))),
  presence: (all: unknown, part: unknown): boolean => all !== undefined || part === undefined,
};

/** The effect of all changed values together; undefined: there is none, or they have opposite ones. */
export function effectOf(scales: Scales, before: Values, after: Values): Effect | undefined {
  const found = new Set(
    Object.entries(scales).flatMap(([name, scale]) => effectsOf(scale, before.get(name), after.get(name))),
  );
  const [effect] = found.size === 1 ? found : [];
  return effect;
}

/** Both effects, where a list lost some entries and got others. */
function effectsOf(scale: Scale, from: unknown, to: unknown): Effect[] {
  if ('of' in scale) {
    const [lost, got] = [!holds[scale.of](to, from), !holds[scale.of](from, to)];
    return [...(lost ? [opposite[scale.more]] : []), ...(got ? [scale.more] : [])];
  }
  const [old, present] = [scale.indexOf(from), scale.indexOf(to)];
  // What holds without a value depends on how the gateway is run.
  if (old === -1 || present === -1 || old === present) return [];
  return [present > old ? 'tightened' : 'loosened'];
}

function amountOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.POSITIVE_INFINITY;
}

function bytesOf(value: unknown): number {
  return typeof value === 'string' ? sizeBytes(value) : Number.POSITIVE_INFINITY;
}

function isEverything(value: unknown): boolean {
  return value === undefined || listOf(value).includes('*');
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function pathsOf(value: unknown): string[] {
  return listOf(value).map((text) => normaliseUserPath(String(text)).path ?? String(text));
}

function isAmong(path: string, others: readonly string[]): boolean {
  return others.some((other) => isWithin(path, other));
}
