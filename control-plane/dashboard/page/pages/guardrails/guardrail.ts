// A guardrail as the API lists it, and the words for it. Pure.
import type { GuardrailKind } from '../../../../../domain/guardrails/merge-guardrails.ts';

export type Kind = GuardrailKind;

export interface Guardrail {
  readonly name: string;
  readonly kind: Kind;
  readonly mode: 'enforce' | 'shadow';
  readonly order: number;
  readonly on: readonly ('input' | 'output')[];
  readonly roles?: readonly string[];
  readonly user_paths?: readonly string[];
  readonly models?: readonly string[];
  readonly settings: Readonly<Record<string, unknown>>;
  readonly source: 'config' | 'manual';
  readonly overrides_config: boolean;
  readonly declared_at?: string;
  readonly verdicts: readonly { readonly phase: string; readonly outcome: string; readonly count: number }[];
  readonly updated_at?: string;
  readonly updated_by?: string;
}

export interface GuardrailListing {
  readonly guardrails: readonly Guardrail[];
  readonly stale?: true;
}

export const guardrailsPath = '/admin/guardrails';

export const kindWords: Readonly<Record<Kind, string>> = {
  system_prompt: 'System prompt',
  regex: 'Patterns',
  keywords: 'Words',
  pii: 'Personal data',
  schema: 'Form of the answer',
  limits: 'Limits of a request',
  webhook: 'Webhook',
  llm: 'Judging model',
};

/** A short summary of its effect. */
export function summaryOf({ kind, settings }: Pick<Guardrail, 'kind' | 'settings'>): string {
  const list = (name: string): readonly unknown[] =>
    Array.isArray(settings[name]) ? (settings[name] as unknown[]) : [];
  const text = (name: string): string => (typeof settings[name] === 'string' ? settings[name] : '');
  const some = (items: readonly unknown[]): string =>
    `${items.slice(0, 3).map(String).join(', ')}${items.length > 3 ? ` and ${items.length - 3} more` : ''}`;
  if (kind === 'keywords') return `${text('action')}: ${some(list('words'))}`;
  if (kind === 'regex') return `${text('action')}: ${some(list('patterns'))}`;
  if (kind === 'pii') return `${text('action')}: ${some(list('kinds'))}`;
  if (kind === 'system_prompt') return `${text('mode')}: ${text('text')}`;
  if (kind === 'webhook')
    return `asks ${text('origin') || 'an address from a variable'}, when it fails: ${text('fail')}`;
  if (kind === 'llm') return `${text('action')} by ${text('model')}, when it fails: ${text('fail')}`;
  if (kind === 'schema') return 'answers must fit a JSON Schema';
  return Object.entries(settings)
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${Array.isArray(value) ? some(value) : String(value)}`)
    .join(', ');
}
