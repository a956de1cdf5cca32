// Credentials are renewed ahead of their end, one question at a time; the last one holds while that fails.
import { test } from 'tap';
import { Renewal, type RenewalOutcome } from '../../../proxy/cloud-identity/renewal.ts';
import type { IssuedCredential, TokenSource } from '../../../proxy/cloud-identity/token-source.ts';
import type { Teardown } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';

const nowMs = (): number => Date.now();
const pace = { attempt: 200, firstPause: 20, longestPause: 40, endless: 60 };

/** A source that a test decides about; `asked` counts its questions. */
class Scripted implements TokenSource {
  asked = 0;
  open = 0;
  mostOpen = 0;
  answer: () => Promise<IssuedCredential> | IssuedCredential;

  constructor(answer: Scripted['answer']) {
    this.answer = answer;
  }

  describe(): string {
    return 'scripted';
  }

  async fetch(): Promise<IssuedCredential> {
    this.asked += 1;
    this.open += 1;
    this.mostOpen = Math.max(this.mostOpen, this.open);
    try {
      return await this.answer();
    } finally {
      this.open -= 1;
    }
  }
}

const issued = (token: string, expiresAtMs?: number, issuerNowMs?: number): IssuedCredential => ({
  credential: { kind: 'bearer', token },
  expiresAtMs,
  ...(issuerNowMs === undefined ? {} : { issuerNowMs }),
});

function start(t: Teardown, source: TokenSource): { renewal: Renewal; outcomes: RenewalOutcome[] } {
  const outcomes: RenewalOutcome[] = [];
  const renewal = new Renewal(source, {
    nowMs,
    random: () => 0,
    pace,
    ended: (outcome) => void outcomes.push(outcome),
  });
  t.teardown(() => renewal.stop());
  renewal.renew();
  return { renewal, outcomes };
}

const tokenOf = ({ held }: Renewal): string | undefined =>
  held?.credential.kind === 'bearer' ? held.credential.token : undefined;

await test('a credential is renewed before it ends', async (t) => {
  const source: Scripted = new Scripted(() => issued(`token-${source.asked}`, nowMs() + 1_500));
  const { renewal } = start(t, source);
  await renewal.settled;
  const first = renewal.held;
  t.equal(tokenOf(renewal), 'token-1');
  await waitFor('the second token', () => tokenOf(renewal) !== 'token-1');
  t.ok((first?.endsAtMs ?? 0) > nowMs(), 'the first one has not ended');
});

await test('the last one holds until its end while the source fails, then there is none, then there is one again', async (t) => {
  const source = new Scripted(() => issued('first', nowMs() + 1_500));
  const { renewal, outcomes } = start(t, source);
  await renewal.settled;
  source.answer = () => Promise.reject(new Error('STS is down'));
  renewal.renew();
  await waitFor('three failures', () => outcomes.filter(({ problem }) => problem === 'STS is down').length >= 3);
  t.equal(tokenOf(renewal), 'first');
  t.match(outcomes.at(-1)?.held, { endsAtMs: Number });
  await waitFor('its end', () => renewal.held === undefined);
  t.ok(renewal.last, 'the ended one is remembered');
  source.answer = () => issued('second', nowMs() + 60_000);
  await waitFor('another one', () => tokenOf(renewal) === 'second');
  t.equal(renewal.problem, undefined);
});

await test('one question at a time, which ends in time whatever the source does', async (t) => {
  const source = new Scripted(() => new Promise(() => undefined));
  const { renewal, outcomes } = start(t, source);
  for (let count = 0; count < 10; count += 1) renewal.renew();
  t.equal(source.asked, 1);
  await waitFor('it to be given up', () => outcomes.length > 0);
  t.equal(outcomes[0]?.problem, 'no answer within 0.2 s');
});

await test('a refused credential is renewed, but not over and over', async (t) => {
  const source = new Scripted(() => issued('first', nowMs() + 60_000));
  const { renewal } = start(t, source);
  await renewal.settled;
  for (let count = 0; count < 10; count += 1) renewal.refused();
  t.equal(source.asked, 1, 'it has just come');
});

await test('a wrong clock', async (t) => {
  const hour = 3_600_000;
  await t.test('the life counts by the clock of the issuer, however far ours is off', async (tt) => {
    for (const off of [-10 * hour, 10 * hour]) {
      const { renewal } = start(tt, new Scripted(() => issued('good', nowMs() + off + hour, nowMs() + off)));
      await renewal.settled;
      const leftMs = (renewal.held?.endsAtMs ?? 0) - nowMs();
      tt.ok(leftMs > hour - 5_000 && leftMs <= hour, `${leftMs}`);
      tt.equal(Math.round((renewal.held?.clockAheadMs ?? 0) / hour), off / hour);
    }
  });
  await t.test('what had ended by the clock of its issuer is no credential', async (tt) => {
    const { renewal } = start(tt, new Scripted(() => issued('ended', nowMs() - 1, nowMs())));
    await renewal.settled;
    tt.equal(renewal.held, undefined);
    tt.equal(renewal.problem, 'what was issued had ended already');
  });
  await t.test('what had ended by our clock alone is taken where there is nothing better', async (tt) => {
    const source = new Scripted(() => issued('doubtful', nowMs() - hour));
    const { renewal } = start(tt, source);
    await renewal.settled;
    tt.equal(tokenOf(renewal), 'doubtful');
    tt.ok((renewal.held?.endsAtMs ?? 0) - nowMs() <= 300_000);
  });
  await t.test('and never in place of one that holds', async (tt) => {
    const source = new Scripted(() => issued('good', nowMs() + 60_000));
    const { renewal, outcomes } = start(tt, source);
    await renewal.settled;
    source.answer = () => issued('doubtful', nowMs() - hour);
    renewal.renew();
    await waitFor('a failure', () => outcomes.some(({ problem }) => problem?.includes('clock of this machine')));
    tt.equal(tokenOf(renewal), 'good');
  });
});

await test('one without an end is asked for again, because its file may have changed', async (t) => {
  const source: Scripted = new Scripted(() => issued(`key-${source.asked}`));
  const { renewal } = start(t, source);
  await waitFor('the second one', () => tokenOf(renewal) === 'key-2');
  t.equal(renewal.held?.endsAtMs, Number.POSITIVE_INFINITY);
});

await test('nothing is asked after the end', async (t) => {
  const source = new Scripted(() => Promise.reject(new Error('down')));
  const { renewal, outcomes } = start(t, source);
  await renewal.settled;
  renewal.stop();
  renewal.renew();
  t.equal(source.asked, 1);
  t.equal(outcomes.length, 1);
});
