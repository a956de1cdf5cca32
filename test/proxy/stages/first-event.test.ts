// A stream that says nothing is asked for elsewhere, and waited for when there is nowhere else to ask.
import { Socket } from 'node:net';
import { t as suite, test } from 'tap';
import { readCall } from '../../../proxy/call/call.ts';
import type { Refusal } from '../../../proxy/errors.ts';
import { compile } from '../../../proxy/snapshot/compile.ts';
import type { Route } from '../../../proxy/snapshot/snapshot.ts';
import type { FailedAttempt } from '../../../proxy/stages/attempts.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { sampleConfig } from '../sample-config.ts';
import { admitted, attempted, exchangeOf, open, partsOf, routedOf } from '../stage-parts.ts';

const [silent, spare] = await Promise.all([startFakeUpstream({ t: suite }), startFakeUpstream({ t: suite })]);
const { routes } = compile(
  sampleConfig({
    providers: { silent: { base_url: silent.url }, spare: { base_url: spare.url } },
    aliases: [
      { source: 'two', strategy: 'failover', targets: [{ model: 'silent/m' }, { model: 'spare/m' }] },
      { source: 'one', targets: [{ model: 'silent/m' }] },
      {
        source: 'picky',
        strategy: 'failover',
        retry: { on: ['rate_limit'] },
        targets: [{ model: 'silent/m' }, { model: 'spare/m' }],
      },
    ],
  }),
  '',
  open,
);

/** The alias as it is, but for the 30 s and the 600 s of its targets. */
function quick(name: string): Route {
  const route = routes.get(name);
  if (route === undefined) throw new Error(`${name} leads nowhere`);
  const targets = route.targets.map((target) => {
    const patience = { ...target.upstream.patience, otherEventMs: 100, firstEventMs: 10_000, firstByteMs: 10_000 };
    const { model, price, facts, modelJson, speeches, upstream } = target;
    return { model, price, facts, modelJson, speeches, upstream: { ...upstream, patience } };
  });
  return { ...route, targets };
}

/** Who answered, or with which code the request failed, and how often each was asked. */
async function ask(name: string, stream: boolean): Promise<[string, number, number]> {
  const parts = partsOf();
  const before = [silent.ledger.length, spare.ledger.length] as const;
  const call = readCall(
    Buffer.from(JSON.stringify({ model: name, stream, messages: [{ role: 'user', content: 'Hi' }] })),
  );
  const failed: FailedAttempt[] = [];
  const end = await attempted(routedOf(call, quick(name), admitted(parts)), failed, exchangeOf({}, new Socket()), parts)
    .then(({ target, answer }) => {
      answer.cancel();
      return target.upstream.name;
    })
    .catch((error: unknown) => String((error as Refusal).code));
  parts.pools.closeFree();
  return [end, silent.ledger.length - before[0], spare.ledger.length - before[1]];
}

await test('the next target is asked when the first event is late; without one, first_byte counts', async (t) => {
  await silent.behave({ kind: 'hang' });
  t.same(await ask('two', true), ['spare', 1, 1]);
  await silent.behave({ kind: 'delay', ms: 250 });
  t.same(await ask('one', true), ['silent', 1, 0], 'the last target has its time');
  t.same(await ask('picky', true), ['silent', 1, 0], 'no other target is asked after a timeout');
  t.same(await ask('two', false), ['silent', 1, 0], 'an answer that is no stream');
});
