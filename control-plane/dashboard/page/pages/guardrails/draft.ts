// A guardrail as it is being written: the texts of the fields, the body and the YAML that they make. Pure.
import { entriesOf } from '../../parts/fields.ts';
import type { Guardrail, Kind } from './guardrail.ts';
import { beginningOf, mistakeInSettings, settingsOf, type Written, writtenOf } from './settings-text.ts';

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
  readonly settings: Written;
}

export function draftOf(guardrail: Guardrail | undefined): Draft {
  if (guardrail === undefined) return emptyDraft;
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
    // The listing has the origin of a webhook in place of its address, which has to be written again.
    settings: writtenOf(kind, settings),
  };
}

/** The settings that a new guardrail of a kind begins with. */
export function newSettings(kind: Kind): Written {
  return { texts: beginningOf(kind), asJson: [] };
}

const emptyDraft: Draft = {
  name: '',
  kind: 'keywords',
  mode: 'enforce',
  order: '0',
  on: '',
  user_paths: '',
  models: '',
  settings: newSettings('keywords'),
};

/** The first mistake, found before anything is sent: the field and a sentence. */
export function mistakeIn({
  name,
  order,
  settings,
  kind,
}: Draft): readonly [field: string, message: string] | undefined {
  if (name.trim() === '') return ['name', 'Give the guardrail a name: refusals and records call it so.'];
  if (!/^-?\d{1,7}$/.test(order.trim())) return ['order', 'The order is a whole number.'];
  const mistake = mistakeInSettings(kind, settings);
  return mistake === undefined ? undefined : [`${kind}.${mistake[0]}`, mistake[1]];
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
    [kind]: settingsOf(kind, settings),
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
