// The log line of an applied configuration: what changed, by name and in words, bounded.
import { test } from 'tap';
import type { ConfigChange } from '../../gitops/diff/config-change.ts';
import { logConfigEvent } from '../../plane/log-events.ts';

function lineFor(changes: readonly ConfigChange[]): object | undefined {
  const lines: { fields: object | string; text: string | undefined }[] = [];
  const write = (fields: object | string, text?: string): void => void lines.push({ fields, text });
  const log = { info: write, warn: write, error: write };
  logConfigEvent(log, { kind: 'applied', revision: 'abc', problems: [], changes });
  return lines[0];
}

const loosened = (name: string): ConfigChange => ({
  kind: 'rule',
  name,
  change: 'loosened',
  effect: 'loosened',
  words: `loosened: rule ${name}`,
});

await test('an applied configuration says what changed, by name and in words', async (t) => {
  const added: ConfigChange = { kind: 'alias', name: 'chat', change: 'added', words: 'added: alias chat: a/m' };
  t.strictSame(lineFor([added, loosened('user_path /a minute')]), {
    fields: {
      config_revision: 'abc',
      added: ['alias chat'],
      loosened: ['rule user_path /a minute'],
      changes: 'added: alias chat: a/m; loosened: rule user_path /a minute',
    },
    text: 'config applied',
  });
  t.strictSame(lineFor([]), { fields: { config_revision: 'abc' }, text: 'config applied' });
});

await test('thousands of changes are twenty names and a number', async (t) => {
  const names = Array.from({ length: 5_000 }, (_, index) => `user_path /${index} minute`);
  const line = lineFor(names.map(loosened)) as { fields: { loosened: string[]; changes: string } };
  t.strictSame(line.fields.loosened, [...names.slice(0, 20).map((name) => `rule ${name}`), 'and 4980 more']);
  t.match(line.fields.changes, /^loosened: rule user_path \/0 minute; .*; and 4980 more$/);
});
