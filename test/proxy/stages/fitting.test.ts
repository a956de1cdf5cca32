// A target whose context window is surely too small is passed over, as long as another one is left.
import { test } from 'tap';
import { readCall } from '../../../proxy/call/call.ts';
import type { Operation } from '../../../proxy/dialects/dialect.ts';
import { compile } from '../../../proxy/snapshot/compile.ts';
import { fitting } from '../../../proxy/stages/fitting.ts';
import { sampleConfig } from '../sample-config.ts';
import { open } from '../stage-parts.ts';

const { routes } = compile(
  sampleConfig({
    providers: {
      small: { models: [{ id: 'm', context_window: 1_000 }] },
      served: { type: 'vllm', models: [{ id: 'm', context_window: 1_000 }] },
      large: { models: [{ id: 'm', context_window: 100_000 }] },
      unknown: {},
    },
    aliases: [
      { source: 'all', targets: ['small/m', 'served/m', 'large/m', 'unknown/m'].map((model) => ({ model })) },
      { source: 'low', targets: ['small/m', 'served/m'].map((model) => ({ model })) },
    ],
  }),
  '',
  open,
);

function providersFor(name: string, body: object, operation: Operation = 'chat'): string[] {
  const route = routes.get(name);
  if (route === undefined) throw new Error(`${name} leads nowhere`);
  const call = readCall(Buffer.from(JSON.stringify({ model: name, ...body })));
  return fitting(route, call, operation).targets.map(({ upstream }) => upstream.name);
}

const prompt = (words: number) => ({ messages: [{ role: 'user', content: 'two words '.repeat(words / 2) }] });
const every = ['small', 'served', 'large', 'unknown'];

await test('a prompt that may fit goes anywhere, one that surely does not only where there is room', (t) => {
  t.strictSame(providersFor('all', prompt(900)), every);
  t.strictSame(providersFor('all', prompt(1_200)), ['large', 'unknown']);
  t.strictSame(providersFor('all', prompt(110_000)), ['unknown'], 'one of unknown size is left');
  t.end();
});

await test('when no target has room, the provider decides', (t) => {
  t.strictSame(providersFor('low', prompt(1_200)), ['small', 'served']);
  t.end();
});

await test('the answer that is asked for counts where the provider refuses it', (t) => {
  t.strictSame(providersFor('all', { ...prompt(10), max_tokens: 995 }), ['small', 'large', 'unknown']);
  t.strictSame(providersFor('all', { ...prompt(10), max_tokens: 900 }), every);
  t.end();
});

await test('what the provider shortens, and what is no conversation, goes anywhere', (t) => {
  t.strictSame(providersFor('all', { ...prompt(1_200), truncation: 'auto' }, 'responses'), every);
  t.strictSame(providersFor('all', { input: ['two words '.repeat(600)] }, 'embeddings'), every);
  t.end();
});
