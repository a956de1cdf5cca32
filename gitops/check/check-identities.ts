// Checks of identities that the schema cannot express: addresses, templates, conditions, and identities that claim the same tokens.
import { readClaimCondition } from '../../domain/conditions/condition.ts';
import { certificateIdentity } from '../../domain/identities/identity.ts';
import { type Filled, readPathTemplate, readTextTemplate } from '../../domain/identities/template.ts';
import { durationMs } from '../../schemas/formats/units.ts';
import type { Config, Identity } from '../../schemas/types.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';
import { hostKind } from './address-kind.ts';

type Giving = Partial<Pick<Identity, 'user_path' | 'labels' | 'allowed_models'>> &
  Partial<Pick<Identity['rights'][number], 'dashboard'>>;

interface Found {
  readonly problems: Problem[];
  readonly warnings: Problem[];
}

const longestSkewMs = 300_000;
/** The ids of other callers begin with them: those of keys of the configuration are `config:NAME`. */
const takenNames: ReadonlyMap<string, string> = new Map([
  ['config', 'keys of the configuration'],
  [certificateIdentity, 'client certificates'],
]);
/** Hosts of this machine, as `new URL` writes them. */
const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export function checkIdentities(identities: Config['identities'], sources: Sources): Found {
  const found: Found = { problems: [], warnings: [] };
  const audiences = new Map<string, string>();
  for (const [name, identity] of Object.entries(identities)) {
    const at = ['identities', name];
    const say = (path: Path, message: string): void => {
      if (!sources.isUnknown([...at, ...path])) found.problems.push(sources.problem([...at, ...path], message));
    };
    const taken = takenNames.get(name);
    if (taken !== undefined)
      found.problems.push(sources.problem(at, `is taken: the ids of ${taken} begin with it`, 'key'));
    for (const member of ['issuer', 'jwks_uri'] as const) {
      const problem = identity[member] === undefined ? undefined : problemOfUrl(identity[member], member, identity);
      if (problem !== undefined) say([member], problem);
    }
    if (!sources.isUnknown([...at, 'clock_skew']) && durationMs(identity.clock_skew) > longestSkewMs)
      say(['clock_skew'], 'is more than 5m, the most that clocks may differ');
    for (const audience of [identity.audience].flat()) {
      const key = JSON.stringify([identity.issuer, audience]);
      const first = audiences.get(key);
      audiences.set(key, first ?? name);
      if (first === undefined) continue;
      say(
        ['audience'],
        `${quote(audience)} of this issuer is an audience of ${sources.place(['identities', first], 'key')}, too; a token belongs to one identity`,
      );
    }
    checkGiving(identity, [], say);
    identity.rights.forEach((right, index) => {
      checkGiving(right, ['rights', index], say);
      checkCondition(right.when, [...at, 'rights', index, 'when'], sources, found);
    });
  }
  return found;
}

/** Templates and conditions of `server.tls.client_certificates`, and rights that certificates cannot have. */
export function checkCertificates({ tls }: Config['server'], sources: Sources): Found {
  const found: Found = { problems: [], warnings: [] };
  const clients = tls?.client_certificates;
  if (clients === undefined) return found;
  const at = ['server', 'tls', 'client_certificates'];
  const say = (path: Path, message: string): void => {
    if (!sources.isUnknown([...at, ...path])) found.problems.push(sources.problem([...at, ...path], message));
  };
  checkGiving(clients, [], say);
  clients.rights.forEach((right, index) => {
    checkGiving(right, ['rights', index], say);
    checkCondition(right.when, [...at, 'rights', index, 'when'], sources, found);
    if (right.dashboard !== undefined)
      say(
        ['rights', index, 'dashboard'],
        'is not for certificates: operators log in with a key, a token or by identities.<name>.sign_in',
      );
  });
  if (clients.user_path !== undefined || clients.rights.some((right) => right.user_path !== undefined)) return found;
  const useless = (['labels', 'allowed_models'] as const).find((member) => clients[member] !== undefined);
  if (useless !== undefined) say([useless], 'has no effect without user_path: a certificate alone lets nobody in then');
  return found;
}

/** What is wrong with templates. `at`: the place of the entry, told to `say`. */
function checkGiving(
  { user_path: path, labels = [], allowed_models: models = [], ...others }: Giving,
  at: Path,
  say: (path: Path, message: string) => void,
): void {
  const check = (read: Filled<unknown>, ...member: Path): void => {
    if (read.problem !== undefined) say([...at, ...member], read.problem);
  };
  if (path !== undefined) check(readPathTemplate(path), 'user_path');
  for (const [index, label] of labels.entries()) check(readTextTemplate(label), 'labels', index);
  for (const [index, model] of models.entries()) check(readTextTemplate(model), 'allowed_models', index);
  const scope = others.dashboard?.user_path;
  if (scope !== undefined) check(readPathTemplate(scope), 'dashboard', 'user_path');
}

function checkCondition(when: string | undefined, path: Path, sources: Sources, { problems, warnings }: Found): void {
  if (when === undefined || sources.isUnknown(path)) return;
  const { problem, foreseen } = { foreseen: undefined, ...readClaimCondition(when) };
  if (problem !== undefined) problems.push(sources.problem(path, problem));
  else if (foreseen === 'never') problems.push(sources.problem(path, 'is false for every token; leave the entry out'));
  else if (foreseen === 'always') warnings.push(sources.problem(path, 'is true for every token; leave it out'));
}

/** An issuer is dialled, and what it says gives rights: so nobody on the way may change it. */
function problemOfUrl(
  text: string,
  member: 'issuer' | 'jwks_uri',
  { allow_private: allowPrivate }: Identity,
): string | undefined {
  const url = URL.parse(text);
  if (url === null || /[\s\\]/.test(text))
    return 'is not a URL; expected something like "https://login.example.com/realms/main"';
  const isLocal = loopback.test(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal))
    return 'must begin with https://; http:// is for an issuer on this machine only';
  if (url.username !== '' || url.password !== '') return 'must not hold credentials';
  if (text.includes('#') || (member === 'issuer' && text.includes('?'))) return 'must not have a query or a fragment';
  const kind = hostKind(url.hostname);
  if (kind === 'forbidden')
    return 'is an address that the gateway never connects to: link-local, multicast, or the metadata of a cloud';
  if (kind !== 'private' || allowPrivate) return undefined;
  return 'is an address of a private network; write allow_private: true for this identity if it is meant';
}
