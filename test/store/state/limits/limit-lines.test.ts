// The lines of an engine of shared limits to its listener: when each ends, what is told, and how soon the next one begins.
import { test } from 'tap';
import type { AttachAnswer } from '../../../../domain/limits/exchange.ts';
import { type LimitCalls, LimitLines } from '../../../../store/state/limits/limit-lines.ts';
import type { LimitLine } from '../../../../store/state/limits/limit-store.ts';
import { StoreUnavailable } from '../../../../store/state/store-unavailable.ts';
import { attachMessage, exchangeMessage } from '../../../support/limit-messages.ts';

const answer = { session: 1 } as AttachAnswer;
const broken = new StoreUnavailable('unreachable', 'the connection broke');

class Stand {
  readonly lines: LimitLine[] = [];
  readonly lost: string[] = [];
  readonly engine = new LimitLines({
    ready: (line) => this.lines.push(line),
    lost: ({ message }) => this.lost.push(message),
    told: () => undefined,
  });
  ends = 0;

  begin(calls: Partial<LimitCalls> = {}): LimitLine {
    this.engine.begin('run', {
      attach: () => Promise.resolve(answer),
      exchange: () => Promise.resolve({ status: 'stale' }),
      detach: () => Promise.resolve(),
      ended: () => {
        this.ends += 1;
      },
      ...calls,
    });
    const line = this.lines.at(-1);
    if (line === undefined) throw new Error('there is no line');
    return line;
  }
}

await test('a line ends once, whatever fails on it, and says why to all who ask later', async (t) => {
  const stand = new Stand();
  const line = stand.begin({ exchange: () => Promise.reject(new Error('no such script')) });
  const asked = [line.exchange(exchangeMessage(1)), line.exchange(exchangeMessage(1))];
  for (const each of asked)
    await t.rejects(each, { name: 'StoreUnavailable', message: /shared limits: no such script/ });
  stand.engine.failed(broken);
  await t.rejects(line.attach(attachMessage('a')), { message: /no such script/ });
  t.equal(stand.ends, 1);
  t.match(stand.lost, [/no such script/, /the connection broke/], 'the connection ended beside it');
  t.equal(stand.lost.length, 2);
});

await test('an answer that comes behind the end is none', async (t) => {
  const stand = new Stand();
  const { promise, resolve } = Promise.withResolvers<AttachAnswer>();
  const line = stand.begin({ attach: () => promise });
  const asked = line.attach(attachMessage('a'));
  stand.engine.failed(broken);
  resolve(answer);
  await t.rejects(asked, broken);
  t.same(stand.lost, ['the connection broke']);
});

await test('the same trouble is told once until there was an answer', async (t) => {
  const stand = new Stand();
  for (let attempt = 0; attempt < 3; attempt += 1) stand.engine.failed(broken);
  stand.engine.failed(new StoreUnavailable('denied', 'the password is wrong'));
  t.same(stand.lost, ['the connection broke', 'the password is wrong']);
  await stand.begin().attach(attachMessage('a'));
  stand.engine.failed(broken);
  t.equal(stand.lost.length, 3);
});

await test('lines that give no answer begin less and less often, and one answer ends that', async (t) => {
  const stand = new Stand();
  t.equal(stand.engine.pauseMs, 0);
  const pauses: number[] = [];
  for (let attempt = 0; attempt < 7; attempt += 1) {
    const line = stand.begin({ attach: () => Promise.reject(broken) });
    await t.rejects(line.attach(attachMessage('a')), broken);
    pauses.push(stand.engine.pauseMs);
  }
  t.same(pauses, [50, 100, 200, 400, 800, 1_000, 1_000]);
  t.equal(stand.lost.length, 7, 'each end is told');
  await stand.begin().attach(attachMessage('a'));
  t.equal(stand.engine.pauseMs, 0);
});
