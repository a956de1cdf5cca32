// A key as it is being written: the texts of the fields, and the bodies that they make. Pure.
import type { Role } from '../../../../../domain/keys/role.ts';
import { entriesOf } from '../../parts/fields.ts';
import { localField, parseLocal, parseTime, utcTime } from '../../time.ts';
import type { Key } from './key.ts';

/** The texts of the fields, by the names of the members that they fill in. */
export interface Draft {
  readonly name: string;
  readonly description: string;
  readonly user_path: string;
  readonly any_user_path: boolean;
  readonly labels: string;
  readonly allowed_models: string;
  readonly dashboard_access: boolean;
  /** Counts with access alone. */
  readonly role: Role;
  /** `` for none, `at` for a moment, else a length such as `30d`. */
  readonly end: string;
  readonly endAt: string;
}

export const roleTexts: readonly (readonly [value: Role, text: string])[] = [
  ['viewer', 'Viewer: reads'],
  ['operator', 'Operator: also limits, budgets, resets, cache, targets'],
  ['admin', 'Admin: also keys, aliases and guardrails'],
];

export const ends: readonly (readonly [value: string, text: string])[] = [
  ['', 'Does not expire'],
  ['1d', 'In a day'],
  ['30d', 'In 30 days'],
  ['90d', 'In 90 days'],
  ['365d', 'In a year'],
  ['at', 'At a time'],
];

export function draftOf(key: Key | undefined, userPath: string): Draft {
  const { expires_at } = key ?? {};
  return {
    name: key?.name ?? '',
    description: key?.description ?? '',
    user_path: key === undefined ? (userPath === '/' ? '' : userPath) : (key.user_path ?? ''),
    any_user_path: key?.any_user_path ?? false,
    labels: (key?.labels ?? []).join(', '),
    allowed_models: (key?.allowed_models ?? []).join('\n'),
    dashboard_access: key?.dashboard_access ?? false,
    role: key?.role ?? 'viewer',
    end: expires_at === undefined ? '' : 'at',
    endAt: expires_at === undefined ? '' : localField(parseTime(expires_at)),
  };
}

/** The first mistake, found before anything is sent: the field and a sentence. */
export function mistakeIn({ name, end, endAt }: Draft): readonly [field: string, message: string] | undefined {
  if (name.trim() === '') return ['name', 'Give the key a name, so that others know what it is for.'];
  if (end === 'at' && Number.isNaN(parseLocal(endAt))) return ['endAt', 'Say when the key expires.'];
  return undefined;
}

/** The body of a POST. */
export function newBody(draft: Draft): object {
  const { name, description, user_path, any_user_path, labels, allowed_models } = draft;
  return {
    name,
    ...(description.trim() === '' ? {} : { description }),
    ...(any_user_path || user_path.trim() === '' ? { any_user_path } : { user_path }),
    labels: entriesOf(labels),
    allowed_models: entriesOf(allowed_models),
    ...accessOf(draft),
    ...endOf(draft),
  };
}

/** The body of a PATCH: what differs from the key. */
export function changeBody(draft: Draft, key: Key): object {
  const before = draftOf(key, '/');
  const { name, description, user_path, labels, allowed_models, end, endAt } = draft;
  return {
    ...(name === before.name ? {} : { name }),
    ...(description === before.description ? {} : { description: description.trim() === '' ? null : description }),
    ...(user_path === before.user_path ? {} : { user_path: user_path.trim() === '' ? null : user_path }),
    ...(labels === before.labels ? {} : { labels: entriesOf(labels) }),
    ...(allowed_models === before.allowed_models ? {} : { allowed_models: entriesOf(allowed_models) }),
    ...(end === before.end && endAt === before.endAt ? {} : end === '' ? { expires_at: null } : endOf(draft)),
  };
}

/** The body of a PUT of dashboard access. */
export function accessOf({ dashboard_access, role }: Pick<Draft, 'dashboard_access' | 'role'>): object {
  return dashboard_access ? { dashboard_access, role } : { dashboard_access };
}

function endOf({ end, endAt }: Draft): object {
  if (end === '') return {};
  return end === 'at' ? { expires_at: utcTime(parseLocal(endAt)) } : { expires_in: end };
}
