// What a Redis store holds that the planes have not written: damaged documents, documents out of place, and those of a newer version.
import { sealed } from '../support/sealed.ts';

/** A document as the control plane writes it, its body changed. */
export function documentOf(path: string, changes: object, more = ''): [field: string, value: string] {
  const moment = '2026-01-01T00:00:00.000Z';
  const rule = { scope: 'user_path', subject: path, per_child: false, period_seconds: 86_400, max_requests: 2 };
  const body = {
    ...rule,
    mode: 'enforce',
    created_at: moment,
    updated_at: moment,
    updated_by: 'master_key',
    ...changes,
  };
  return sealedDocument('rate_limit', `user_path 86400 ${path}`, body, more);
}

function sealedDocument(kind: string, id: string, body: object, more = ''): [field: string, value: string] {
  return [
    `document:${JSON.stringify([kind, id])}`,
    `{"revision":1,"body":${JSON.stringify(sealed({ kind, id }, body))}${more}}`,
  ];
}

export const poisoned: [field: string, value: string][] = [
  ['document:["rate_limit","half"]', '{"revision":1,"body":{'],
  ['document:["rate_limit","binary"]', '\u0000\u0001\u00ff'],
  ['document:["rate_limit","empty"]', ''],
  ['document:["rate_limit","number"]', '7'],
  ['document:["rate_limit","no body"]', '{"revision":1}'],
  ['document:["rate_limit","no revision"]', '{"body":{}}'],
  ['document:["rate_limit"]', '{"revision":1,"body":{}}'],
  ['document:["rate_limit",5]', '{"revision":1,"body":{}}'],
  ['document:nothing', '{"revision":1,"body":{}}'],
  ['document:["rate_limit","null"]', '{"revision":1,"body":null}'],
  ['document:["rate_limit","list"]', '{"revision":1,"body":[]}'],
  ['document:["rate_limit","deep"]', `{"revision":1,"body":${'['.repeat(5_000)}${']'.repeat(5_000)}}`],
  ['document:["rate_limit","user_path 86400 /another"]', documentOf('/poison/elsewhere', {})[1]],
  documentOf('/poison/zero', { max_requests: 0 }),
  documentOf('/poison/infinite', { max_requests: 1e300 }),
  documentOf('/poison/text', { max_requests: '2' }),
  documentOf('/poison/scope', { scope: 'planet' }),
  documentOf('/poison/child', { per_child: 'yes' }),
  documentOf('/poison/mode', { mode: 'maybe' }),
  documentOf('/poison/moment', { updated_at: 'yesterday' }),
  sealedDocument('auth_key', 'garbage', { digest: 'x', enabled: true }),
  sealedDocument('reset_epoch', 'user_path 86400 /poison', { epoch: 'many' }),
  ['document:["of a kind to come","a"]', '{"revision":1,"body":{}}'],
  ['kind:of a kind to come', 'NaN'],
];

/** Documents of which the log says by name that they cannot be read. */
export const namesOfPoisoned = [
  'half',
  'binary',
  'empty',
  'no body',
  '/poison/zero',
  '/poison/infinite',
  '/poison/child',
];
