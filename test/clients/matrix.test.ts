// Every client with every provider, through one gateway: what the client's own types show is what the provider said.
import { t as suite, test } from 'tap';
import { startGateway } from '../support/gateway.ts';
import { startScriptedModel } from '../support/scripted-model/server.ts';
import { clients } from './clients.ts';
import { exceptionsOf, unexpected } from './exceptions.ts';
import { providers } from './providers.ts';
import { type Cell, type Difference, differencesOf, talks } from './talks.ts';

const started = await Promise.all(
  providers.map(async (provider) => ({ provider, model: await startScriptedModel(suite, provider.wire) })),
);
const names = [...new Set(clients.map(({ model }) => model))];
const gateway = await startGateway(suite, {
  config: {
    providers: Object.fromEntries(
      started.map(({ provider, model: { url } }) => {
        const { wire } = provider;
        return [wire.name, { ...provider.settings(url), api_key: 'sk-of-the-provider', models: [wire.model] }];
      }),
    ),
    // Clients look at the name of a model to know what it can do.
    aliases: started.flatMap(({ provider: { wire } }, index) => {
      return names.map((name) => ({ source: `${name}-p${index}`, target: `${wire.name}/${wire.model}` }));
    }),
  },
});

interface Tried extends Cell {
  readonly found: Promise<readonly Difference[]>;
}

const tried: Tried[] = started.flatMap(({ provider, model }, index) => {
  return clients.map((client) => {
    const place = { url: gateway.url, key: gateway.masterKey, model: `${client.model}-p${index}` };
    const cell = { client, provider, model, place };
    const found = Promise.all(talks.map((talk) => differencesOf(talk, cell))).then((lists) => lists.flat());
    return { ...cell, found };
  });
});

for (const { client, provider, found } of tried) {
  await test(`${client.name} with ${provider.title}`, async (t) => {
    t.same(unexpected(await found, exceptionsOf(client, provider)), []);
  });
}
