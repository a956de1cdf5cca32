// The anchors of windows that operators have set, over those of the configuration, and their document in the state store.
import { type Anchors, defaultAnchors } from './window.ts';

/** The kind of the document; there is one. */
export const budgetSettingsKind = 'budget_settings';
export const budgetSettingsId = 'settings';

export interface ManualAnchors {
  /** Those that operators have set; the others are the configuration's. */
  readonly anchors: Partial<Anchors>;
}

export const anchorNames = Object.keys(defaultAnchors) as readonly (keyof Anchors)[];

/** From the first number to the second. */
const ranges: Readonly<Record<'hour' | 'minute' | 'weekday' | 'day', readonly [number, number]>> = {
  hour: [0, 23],
  minute: [0, 59],
  weekday: [0, 6],
  day: [1, 31],
};

/** The anchors of a document; undefined when one is out of range. Unknown members are ignored. */
export function readManualAnchors(id: string, body: unknown): ManualAnchors | undefined {
  if (id !== budgetSettingsId || typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const members = body as Readonly<Record<string, unknown>>;
  const anchors: Partial<Record<keyof Anchors, number>> = {};
  for (const name of anchorNames) {
    const value = members[name];
    if (value === undefined) continue;
    const [least, most] = ranges[name.split('_').at(-1) as keyof typeof ranges];
    if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) return undefined;
    anchors[name] = value as number;
  }
  return { anchors };
}

/** The anchors in force: those that operators set, else those of the configuration. */
export function anchorsInForce(declared: Anchors, manual: readonly ManualAnchors[]): Anchors {
  return { ...declared, ...manual[0]?.anchors };
}
