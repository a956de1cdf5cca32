// One provider's key, while a directory is followed: it stops no start, and no edit ends a provider that works.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { formatProblem } from '../../gitops/read/problem.ts';
import { broken, folder, limit, soonMs, start, until } from './following.ts';

void test('a provider whose key cannot be used does not stop a start, and an edit cannot end one that works', async (t) => {
  const provider = (name: string, key: string, more = ''): string =>
    `  ${name}: { type: openai, api_key: "${key}", models: [m]${more} }\n`;
  const files = (...providers: string[]): string => `providers:\n${providers.join('')}`;
  const unusable = [provider('unset', `\${NOBODY_SETS_THIS}`), provider('broken', `\${WITH_BREAK}`)];
  const aws = `  aws: { type: bedrock, base_url: "https://bedrock-runtime.us-east-1.amazonaws.com", api_key: "\${A:-}:\${B:-}", models: [m] }\n`;
  const good = provider('good', `\${OPENAI_API_KEY}`);
  const directory = folder(t, { 'a.yaml': limit(10), 'b.yaml': files(good, ...unusable, aws) });
  const environment = { OPENAI_API_KEY: 'sk-canary-key', WITH_BREAK: 'sk-canary\nkey' };
  const lastGoodFolder = folder(t);
  const { follower, applied, events, cap, kinds } = await start(t, directory, { environment, lastGoodFolder });
  t.same(Object.keys(applied.at(-1)?.providers ?? {}), ['good']);
  t.same(kinds(), ['warning', 'applied']);
  t.match(events[0]?.problems.map(formatProblem), [
    /providers\.unset\.api_key {2}the environment variable NOBODY_SETS_THIS is not set; .*; until then the provider "unset" is left out$/,
    /providers\.broken\.api_key {2}cannot be sent in a header: .*, so the provider "broken" is left out$/,
    /providers\.aws\.api_key {2}expands to nothing, so the provider "aws" is left out$/,
  ]);
  t.notMatch(JSON.stringify(events), /canary/);
  t.match(applied.at(-1), { keyProblems: { length: 2 } }, 'an empty key is no mistake');

  writeFileSync(join(directory, 'a.yaml'), limit(11));
  t.ok(await until(() => cap() === 11, soonMs), 'edits go on while it is left out');
  writeFileSync(join(directory, 'b.yaml'), files(provider('good', `\${NOBODY_SETS_THIS}`), ...unusable, aws));
  t.ok(await until(() => !follower.status().lastReloadSuccessful, soonMs));
  t.match(follower.status().problems, [{ path: 'providers.good.api_key', message: /NOBODY_SETS_THIS is not set/ }]);
  await follower.close();

  writeFileSync(join(directory, 'a.yaml'), broken);
  const again = await start(t, directory, { environment, lastGoodFolder });
  t.same([again.follower.status().source, again.cap()], ['last-good', 11], 'nor does it stop a start on the copy');
});
