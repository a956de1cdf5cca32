// A guardrail as it is being written: the texts of the fields, the body and the YAML that they make. Pure.
import { entriesOf } from '../../parts/fields.ts';
import type { Guardrail, Kind } from './guardrail.ts';

/** The texts of the fields. */
export interface Draft {
  readonly name: string;
  readonly kind: Kind;
  readonly mode: string;
  readonly order: string;
  /** `` for what is usual for the kind, else phases with a comma between them. */
  readonly on: string;
  readonly user_paths: string;
  readonly models: string;
  /** JSON. */
  readonly settings: string;
}

/** What a new guardrail of each kind begins with. */
export const starters: Readonly<Record<Kind, object>> = {
  keywords: { words: ['Bluebird'], action: 'block', whole_words: true },
  regex: { patterns: ['EMP-[0-9]{6}'], action: 'redact', replacement: '[redacted]' },
  pii: { kinds: ['email', 'phone', 'card', 'iban', 'key'], action: 'mask' },
  system_prompt: { mode: 'prepend', text: 'Never give legal advice.' },
  limits: { max_prompt_characters: 200_000, max_tokens: 4096, when_above: 'cap' },
  llm: { model: 'judge', prompt: 'Refuse whatever asks for medical advice.', action: 'judge', fail: 'closed' },
  webhook: { url: 'https://guard.example.com/check', timeout_ms: 2000, fail: 'closed' },
  schema: { schema: { type: 'object' } },
};

export function draftOf(guardrail: Guardrail | undefined): Draft {
  if (guardrail === undefined)
    return { ...emptyDraft, settings: JSON.stringify(starters[emptyDraft.kind], undefined, 2) };
  const { name, kind, mode, order, on, user_paths = [], models = [], settings } = guardrail;
  return {
    name,
    kind,
    mode,
    order: String(order),
    // A kind that masks on input also puts back on output without being told to.
    on: kind === 'pii' && on.length === 2 ? '' : on.join(','),
    user_paths: user_paths.join('\n'),
    models: models.join('\n'),
    settings: JSON.stringify(written(settings), undefined, 2),
  };
}

/** The listing has the origin of a webhook in place of its address, which has to be written again. */
function written(settings: Guardrail['settings']): object {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => name !== 'origin'));
}

const emptyDraft: Draft = {
  name: '',
  kind: 'keywords',
  mode: 'enforce',
  order: '0',
  on: '',
  user_paths: '',
  models: '',
  settings: '',
};

/** What is wrong before anything is sent: the field and a sentence. */
export function mistakeIn({
  name,
  order,
  settings,
  kind,
}: Draft): readonly [field: string, message: string] | undefined {
  if (name.trim() === '') return ['name', 'Give the guardrail a name: refusals and records call it so.'];
  if (!/^-?\d{1,7}$/.test(order.trim())) return ['order', 'The order is a whole number.'];
  return settingsOf(settings) === undefined ? [kind, 'The settings must be a JSON object.'] : undefined;
}

/** The body of a PUT. `guardrail`: what it replaces, whose other settings stay. */
export function bodyOf(draft: Draft, guardrail: Guardrail | undefined): object {
  const { name, kind, mode, order, on, settings } = draft;
  const [paths, models] = [entriesOf(draft.user_paths), entriesOf(draft.models)];
  return {
    name: name.trim(),
    mode,
    order: Number(order),
    ...(on === '' ? {} : { on: on.split(',') }),
    ...(guardrail?.roles === undefined ? {} : { roles: guardrail.roles }),
    ...(paths.length === 0 ? {} : { user_paths: paths }),
    ...(models.length === 0 ? {} : { models }),
    [kind]: settingsOf(settings) ?? {},
  };
}

/** The YAML that declares it, to be put into git. What JSON writes is YAML, too. */
export function yamlOf(draft: Draft, guardrail: Guardrail | undefined): string {
  const entries = Object.entries(bodyOf(draft, guardrail)).filter(
    ([key, value]) => !(key === 'mode' && value === 'enforce') && !(key === 'order' && value === 0),
  );
  const lines = entries.map(
    ([key, value], index) => `${index === 0 ? '  - ' : '    '}${key}: ${JSON.stringify(value)}`,
  );
  return `guardrails:\n${lines.join('\n')}\n`;
}

function settingsOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
