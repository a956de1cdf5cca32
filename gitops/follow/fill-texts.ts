// Puts what was read elsewhere into a configuration, and leaves out what cannot work without it.

import { isTree, valueAt } from '../../schemas/validation/value-at.ts';
import type { AssembledConfig, SecretText } from '../assemble/assembled.ts';
import { leaveOut } from '../assemble/leave-out.ts';

export interface FilledText {
  readonly text: SecretText;
  /** Undefined: something of it was never read, or it cannot be used. */
  readonly value: string | undefined;
  /** The secrets in it that were in force before. */
  readonly former: readonly string[];
}

/** The configuration with all texts that have a value; without the providers that lack one. */
export function fillTexts(config: AssembledConfig, filled: readonly FilledText[]): AssembledConfig {
  if (filled.length === 0) return config;
  const providers = { ...config.providers };
  const guardrails = [...config.guardrails];
  const authorities: Record<string, string> = {};
  const formerKeys: Record<string, readonly string[]> = {};
  const incomplete = new Set<string>();
  const unread: string[] = [];
  for (const texts of Map.groupBy(filled, ({ text: { section, name } }) => JSON.stringify([section, name])).values()) {
    const { section, name } = texts[0]?.text ?? { section: 'providers', name: '' };
    if (section === 'guardrails') {
      const index = guardrails.findIndex((guardrail) => guardrail.name === name);
      const guardrail = guardrails[index];
      if (guardrail !== undefined) guardrails[index] = withTexts(guardrail, texts);
      if (texts.some(({ value }) => value === undefined)) unread.push(name);
      continue;
    }
    const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
    const certificates = texts.find(({ text }) => text.holds === 'certificates')?.value;
    if (certificates !== undefined) authorities[name] = certificates;
    formerKeys[name] = texts.filter(({ text }) => text.holds !== 'certificates').flatMap(({ former }) => former);
    const whole = provider === undefined ? undefined : withTexts(provider, texts);
    const { api_key, api_keys = api_key === undefined ? [] : [api_key] } = whole ?? {};
    const lacksKeys = api_keys.length > 0 && api_keys.every((key) => key === '');
    const lacksText = texts.some(({ text, value }) => value === undefined && !isKey(text));
    if (whole === undefined || lacksKeys || lacksText) incomplete.add(name);
    else providers[name] = whole;
  }
  const isUnread = unread.length > 0;
  return leaveOut(
    { ...config, providers, guardrails, formerKeys, authorities, ...(isUnread ? { unreadGuardrails: unread } : {}) },
    incomplete,
  );
}

/** A provider with several keys works without one of them. */
export function isKey({ section, at: [member] }: SecretText): boolean {
  return section === 'providers' && (member === 'api_key' || member === 'api_keys');
}

/** A copy of the entry. A key that is not there keeps its place, so that the others keep theirs; another text stays as it is written. */
function withTexts<Entry extends object>(entry: Entry, texts: readonly FilledText[]): Entry {
  const copy = structuredClone(entry);
  for (const { text, value = isKey(text) ? '' : undefined } of texts) {
    if (value === undefined || text.holds === 'certificates') continue;
    const way = text.at.slice(0, -1);
    const last = text.at.at(-1) ?? '';
    if (text.holds === 'key' && way.length === 1) Object.assign(copy, { api_keys: valueAt(copy, way) ?? [] });
    const owner = valueAt(copy, way);
    // Defined, not assigned: a header may be named "__proto__".
    if (isTree(owner))
      Object.defineProperty(owner, last, { value, enumerable: true, configurable: true, writable: true });
  }
  return copy;
}
