// The scripted models alone: the clients of their makers, without a gateway between, find nothing wrong with them.
import { t as suite, test } from 'tap';
import { startScriptedModel } from '../support/scripted-model/server.ts';
import { clients } from './clients.ts';
import { exceptionsOf, unexpected } from './exceptions.ts';
import { providers } from './providers.ts';
import { differencesOf, talks } from './talks.ts';

const own = { chat: /chat/, responses: /responses/, messages: /messages|nthropic$/ } as const;

for (const provider of providers) {
  const { wire } = provider;
  if (wire.name === 'gemini' || wire.name === 'bedrock') continue;
  const model = await startScriptedModel(suite, wire);
  for (const client of clients.filter(({ name }) => own[wire.name as keyof typeof own].test(name))) {
    await test(`${client.name} talks to a model that speaks its format`, async (t) => {
      const cell = { client, provider, model, place: { url: model.url, key: 'sk-direct', model: client.model } };
      const found = await Promise.all(talks.map((talk) => differencesOf(talk, cell)));
      t.same(unexpected(found.flat(), exceptionsOf(client, provider)), []);
    });
  }
}
