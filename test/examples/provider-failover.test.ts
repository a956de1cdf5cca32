// The README of examples/provider-failover, as its reader does it: its commands, in their order, pasted into one shell.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { readMetric } from '../support/gateway.ts';
import { freePort } from '../support/ports.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { blocksIn, exampleOf, openTerminal, startLocal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';

const top = join(import.meta.dirname, '../..');
const readme = readFileSync(join(top, 'examples/provider-failover/README.md'), 'utf8');
const [start = '', ...commands] = blocksIn(readme, 'sh');
const model = 'demo-small';

interface Status {
  readonly proxies: readonly { readonly unusable_targets: readonly { provider: string; reason: string }[] }[];
}

interface Explanation {
  readonly outcome: string;
  readonly targets: readonly { readonly target: string; readonly reason?: string }[];
}

/** `200` and how often, for each loop of questions. */
const answers = (printed: string): string[] => printed.match(/^ +\d+ \d{3}$/gm)?.map((line) => line.trim()) ?? [];

await test('one of two providers is killed, hangs and comes back, and every question is answered', async (t) => {
  const home = temporaryDirectory(t, 'failover');
  const port = await freePort();
  const example = exampleOf(start);
  const config = join(home, 'config');
  cpSync(join(top, `examples/${example}/config`), config, { recursive: true });
  const providers = join(config, 'providers.yaml');
  writeFileSync(providers, readFileSync(providers, 'utf8').replaceAll(/: 1s$/gm, ': 700ms'));
  const env = {
    GATEWAY_CONFIG: config,
    MAIN_PROVIDER_URL: `http://127.0.0.1:${port}/v1`,
    GATEWAY_METRICS_MAX_AGE_MS: '0',
  };
  const { gateway, places } = await startLocal(t, home, env, example);
  // Metrics are always new here.
  const paste = openTerminal(t, { ...places, 8183: String(port), 'sleep 1; ': '' });
  const [startMain = '', define = '', ask = '', kill = '', look = '', startAgain = '', hang = ''] = commands;
  const [sized = '', defineFaults = '', cut = '', tooLong = '', noCredit = ''] = commands.slice(7);
  t.equal(commands.length, 12, 'every command of the README is pasted here');
  const attempts = (printed: string, provider: string, outcome: string): number =>
    readMetric(printed, 'gateway_upstream_attempts_total', { provider, model, outcome }) ?? 0;
  const breaker = (printed: string): number | undefined =>
    readMetric(printed, 'gateway_target_breaker_state', { provider: 'main', model });

  await paste(startMain + define);
  await waitFor('main to listen', () =>
    fetch(`http://127.0.0.1:${port}/v1/models`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  const before = await paste(ask);
  t.strictSame(answers(before), ['20 200']);
  t.equal(breaker(before), 0);
  t.ok(attempts(before, 'main', 'success') > 0);

  const killed = await paste(kill);
  t.strictSame(answers(killed).toSorted(), ['20 200', '20 200', '60 200'], 'no request is lost');
  t.ok((breaker(killed) ?? 0) > 0, 'its breaker is not closed');
  t.ok(attempts(killed, 'main', 'unreachable') >= 5);
  t.ok(attempts(killed, 'backup', 'success') >= 5);
  t.ok((readMetric(killed, 'gateway_retries_total', { kind: 'failover' }) ?? 0) >= 5);
  await gateway.waitForLine('main/demo-small fails');

  const [status = '', explanation = ''] = (
    await waitFor('the status to name it', async () => {
      const printed = await paste(look);
      return printed.split('\n')[0]?.includes('"reason"') && printed;
    })
  ).split('\n');
  const { proxies } = JSON.parse(`{"proxies":[{${status}}]}`) as Status;
  t.match(proxies[0]?.unusable_targets, [{ provider: 'main', reason: /^breaker_(open|half_open)$/ }]);
  const { outcome, targets } = JSON.parse(explanation) as Explanation;
  t.match(targets.find(({ target }) => target === 'main/demo-small')?.reason, /^breaker_/);
  t.match(outcome, /^It would be sent to .*backup\/demo-small\.$/);

  const again = await paste(startAgain);
  t.strictSame(new Set(answers(again).map((line) => line.slice(-3))), new Set(['200']));
  t.equal(breaker(again), 0);
  t.ok(attempts(again, 'main', 'success') > attempts(killed, 'main', 'success'), 'it is used again');

  t.strictSame(answers(await paste(hang)), ['1 200']);
  t.ok(attempts(await paste('figures'), 'main', 'timeout') >= 1);

  const toMain = '"outcome":"It would be sent to main/demo-small; when that fails, to backup/demo-small."';
  t.strictSame((await paste(sized)).trim().split('\n'), [toMain, '"outcome":"It would be sent to backup/demo-small."']);

  await paste(defineFaults);
  const told = await paste(cut);
  t.match(told, /^\w.*\[DONE\]$/m, 'a stream that is cut goes on elsewhere');
  t.notMatch(told, /error/);
  t.ok(attempts(await paste('figures'), 'main', 'cut') >= 1);
  t.strictSame(answers(await paste(tooLong)), ['1 200'], 'a prompt that is too long');
  t.strictSame(answers(await paste(noCredit)), ['1 200'], 'an account without credit');
  const lookAgain = noCredit.slice(noCredit.indexOf('admin'));
  await waitFor('the status to say why', async () => (await paste(lookAgain)).includes('"reason":"account_used_up"'));
});
