// Identities over reloads, sessions with the tags of callers, and what is known of their tokens.
import { test } from 'tap';
import { CloudIdentities } from '../../../proxy/cloud-identity/identities.ts';
import { tagsOfLabels } from '../../../proxy/cloud-identity/sessions.ts';
import type { IssuedCredential, TokenSource } from '../../../proxy/cloud-identity/token-source.ts';
import type { Provider } from '../../../schemas/types.ts';
import type { Teardown } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';

const settings = (more: object = {}): Provider =>
  ({
    type: 'bedrock',
    auth: 'aws',
    base_url: 'https://bedrock-runtime.eu-central-1.amazonaws.com',
    ...more,
  }) as Provider;

interface Stand {
  readonly identities: CloudIdentities;
  /** The tags of each question, as text. */
  readonly asked: string[];
  /** Added to the clock. Milliseconds. */
  readonly late: { ms: number };
  readonly broken: { is: boolean };
}

function open(t: Teardown, most = 2): Stand {
  const asked: string[] = [];
  const late = { ms: 0 };
  const broken = { is: false };
  const nowMs = (): number => Date.now() + late.ms;
  const sourceOf = (tags: Readonly<Record<string, string>>): TokenSource => ({
    describe: () => 'scripted',
    async fetch(): Promise<IssuedCredential> {
      asked.push(JSON.stringify(tags));
      if (broken.is) throw new Error('STS is down');
      const sessionToken = `${JSON.stringify(tags)} number ${asked.length}`;
      const credentials = { accessKeyId: 'ASIAFAKE', secretAccessKey: 'never sent', sessionToken };
      return { credential: { kind: 'aws', credentials }, expiresAtMs: nowMs() + 3_600_000, principal: 'role' };
    },
  });
  const identities = new CloudIdentities({
    sources: { variables: {}, wallMs: Date.now },
    nowMs,
    ended: () => undefined,
    pace: { attempt: 1_000, firstPause: 20, longestPause: 40, endless: 60_000 },
    planOf: ({ auth }) =>
      auth === undefined ? undefined : { source: sourceOf({}), tagged: { keys: ['team'], most, sourceOf } },
  });
  t.teardown(() => identities.close());
  return { identities, asked, late, broken };
}

await test('what is unchanged keeps its credential over reloads; what is gone stops', async (t) => {
  const { identities, asked } = open(t);
  const first = identities.of('eu', settings(), []);
  t.equal(identities.outageOf('eu'), undefined, 'it is not in force yet');
  t.strictSame(asked, [], 'nothing is asked before it is in force');
  identities.keep(['eu']);
  t.match(identities.outageOf('eu'), { isWithoutCredential: true, reason: 'its first credential has not come yet' });
  await identities.settled(1_000);
  t.equal(identities.outageOf('eu'), undefined);

  t.equal(identities.of('eu', settings({ headers: { 'x-a': 'b' } }), []), first, 'other settings do not matter');
  identities.keep(['eu']);
  t.equal(asked.length, 1);

  const other = identities.of('eu', settings({ aws: { region: 'us-east-1' } }), []);
  t.not(other, first);
  t.equal(identities.of('eu', settings(), []), first, 'a configuration that never came into force changes nothing');
  identities.keep(['eu']);
  t.equal(asked.length, 1);

  t.equal(identities.of('plain', { ...settings(), auth: undefined } as unknown as Provider, []), undefined);
  identities.keep([]);
  t.strictSame(identities.status(), []);
  t.strictSame(identities.counts(), []);
});

await test('each set of tags has a session, made off the path of its first request', async (t) => {
  const { identities, asked, late } = open(t);
  const identity = identities.of('eu', settings(), []);
  identities.keep(['eu']);
  await identities.settled(1_000);
  const tokenFor = (labels: readonly string[]): string | undefined => {
    const held = identity?.heldFor(labels);
    return held?.credential.kind === 'aws' ? held.credential.credentials.sessionToken : undefined;
  };
  const search = ['team:search', 'ci'];
  t.equal(tokenFor(search), '{} number 1', 'meanwhile it has no tags');
  await waitFor('the session', () => tokenFor(search)?.includes('search'));
  t.equal(tokenFor(['ci']), '{} number 1', 'no label, no session');
  t.equal(asked.length, 2);

  tokenFor(['team:shop']);
  await waitFor('the second session', () => tokenFor(['team:shop'])?.includes('shop'));
  tokenFor(['team:late']);
  t.equal(asked.length, 3, 'both are in use, so there is no room for a third one');
  late.ms = 120_000;
  tokenFor(['team:shop']);
  tokenFor(['team:late']);
  await waitFor('a third one', () => tokenFor(['team:late'])?.includes('late'));
  t.match(identities.status(), [{ sessions: 2, isValid: true, principal: 'role' }]);
  t.match(identity?.secrets, [/shop|search|late/, /shop|search|late/, /shop|search|late/, /^\{\} number 1/]);
});

await test('a provider without a valid credential is kept out, and says why', async (t) => {
  const { identities, broken } = open(t);
  broken.is = true;
  identities.of('eu', settings(), []);
  identities.keep(['eu']);
  await identities.settled(1_000);
  t.match(identities.outageOf('eu'), { reason: 'STS is down', provider: 'eu' });
  t.strictSame(identities.invalid(), ['eu']);
  broken.is = false;
  await waitFor('a credential', () => identities.outageOf('eu') === undefined);
  t.match(identities.counts(), [{ provider: 'eu', renewed: 1 }]);
});

await test('labels become tags where AWS takes them', async (t) => {
  const keys = ['team', 'cost-center'];
  t.strictSame(tagsOfLabels(['team: search', 'cost-center:42/a', 'other:x', 'ci'], keys), {
    team: 'search',
    'cost-center': '42/a',
  });
  t.strictSame(tagsOfLabels(['team:a', 'team:b'], keys), { team: 'a' }, 'the first one counts');
  t.strictSame(tagsOfLabels(['team', 'team:', 'team:a*b', `team:${'x'.repeat(257)}`], keys), {});
});
