// The official clients with answers that were kept: a stream shows what JSON showed, and the other way round, with every provider.
import { t as suite, test } from 'tap';
import { untilIdle } from '../support/gateway.ts';
import type { ScenarioName } from '../support/scripted-model/scenarios.ts';
import { startScriptedModel } from '../support/scripted-model/server.ts';
import { shareGateway } from '../support/shared.ts';
import { anthropic } from './anthropic.ts';
import type { Client, How, Reply } from './client.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { providers } from './providers.ts';

const clients = [openaiChat, openaiResponses, anthropic];
const started = await Promise.all(
  providers.map(async (provider) => ({ provider, model: await startScriptedModel(suite, provider.wire) })),
);
const names = [...new Set(clients.map(({ model }) => model))];
const gateway = await shareGateway({
  config: {
    cache: { enabled: true },
    providers: Object.fromEntries(
      started.map(({ provider, model: { url } }) => {
        const { wire } = provider;
        return [wire.name, { ...provider.settings(url), api_key: 'sk-of-the-provider', models: [wire.model] }];
      }),
    ),
    aliases: started.flatMap(({ provider: { wire } }, index) => {
      return names.map((name) => ({ source: `${name}-p${index}`, target: `${wire.name}/${wire.model}` }));
    }),
  },
});

interface Talk {
  readonly says: ScenarioName;
  readonly how?: Partial<How>;
}

interface CachedQuestion {
  readonly index: number;
  readonly system: string;
  readonly stream: boolean;
}

const talks: readonly Talk[] = [
  { says: 'say something plain' },
  { says: 'use several tools', how: { tools: true } },
  { says: 'think before you call', how: { tools: true, thinks: true } },
];

/** The reply to a new conversation. */
async function ask(client: Client, talk: Talk, { index, system, stream }: CachedQuestion): Promise<Reply> {
  const place = { url: gateway.url, key: gateway.masterKey, model: `${client.model}-p${index}` };
  const conversation = client.begin(place, system);
  conversation.hear(talk.says);
  const { signal } = new AbortController();
  return conversation.ask({
    tools: false,
    form: false,
    thinks: false,
    signal,
    onText: () => undefined,
    ...talk.how,
    stream,
  });
}

for (const [index, { provider, model }] of started.entries()) {
  for (const client of clients) {
    await test(`${client.name} with ${provider.title}`, async (t) => {
      for (const talk of talks) {
        for (const first of [false, true]) {
          const claim = `${talk.says}, ${first ? 'a stream' : 'JSON'} first`;
          const system = `${client.name} ${claim}`;
          const before = model.requests.length;
          const made = await ask(client, talk, { index, system, stream: first });
          // A client may have its answer before the provider has ended it.
          await untilIdle(gateway);
          const kept = await ask(client, talk, { index, system, stream: !first });
          t.same(kept, made, claim);
          t.equal(model.requests.length, before + 1, `${claim}: it was kept`);
        }
      }
    });
  }
}
