// No request at any door, up to the longest that is accepted, holds the event loop for longer than 50 ms; with and without guardrails.
import { t as suite, test } from 'tap';
import { isFull } from '../support/extent.ts';
import { issueKey } from '../support/issue-key.ts';
import { mostMs, startMeasuredGateway } from '../support/measured-gateway.ts';
import { doorRows } from './blocking-doors-cases.ts';

suite.setTimeout(isFull ? 3_600_000 : 240_000);

const guarded = { user_paths: ['/guarded'], on: ['input', 'output'] };
const measured = await startMeasuredGateway(suite, {
  server: { body_budget: '256MiB' },
  guardrails: [
    { name: 'masks', ...guarded, pii: { kinds: ['email', 'phone', 'iban', 'card'], action: 'mask' } },
    { name: 'words', ...guarded, keywords: { words: ['Bluebird'], action: 'redact' } },
    { name: 'patterns', ...guarded, regex: { patterns: ['EMP-[0-9]{6}'], action: 'redact' } },
  ],
});
const secrets = [
  await issueKey(suite, measured.gateway, { userPath: '/guarded' }),
  await issueKey(suite, measured.gateway, { userPath: '/t/a' }),
];
const nothing = { type: 'application/json', body: Buffer.from('{"id":"x"}') };

/** All of them; in a short run one for each row, another one for the next. */
function someOf<Entry>(all: readonly Entry[], index: number): readonly Entry[] {
  return isFull ? all : all.slice(index % all.length).slice(0, 1);
}

/** Of a short run: every so many rows. */
const stride = isFull ? 1 : 7;

for (const [index, [name, { path, models, inside, more }]] of Object.entries(doorRows).entries()) {
  if (index % stride !== 0) continue;
  await test(name, async (t) => {
    const made = inside();
    for (const secret of someOf(secrets, index / stride))
      for (const model of someOf(models ?? [''], index)) {
        const body = model === '' ? made : `{"model":"${model}",${String(made)}}`;
        t.ok(Buffer.byteLength(body) <= 32 * 2 ** 20);
        const { status, longestMs } = await measured.quickest({ path, body, secret, ...more }, nothing);
        t.ok(longestMs < mostMs, `${longestMs.toFixed(0)} ms, ${model}, answered ${status}`);
        t.ok(status > 0 && status !== 500, `answered ${status}`);
      }
  });
}
