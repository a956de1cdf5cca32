// Every client with every provider, through one gateway: what the client's own types show is what the provider said.
import { t as suite, test } from 'tap';
import { startScriptedModel } from '../support/scripted-model/server.ts';
import { shareGateway } from '../support/shared.ts';
import type { Client } from './client.ts';
import { clients } from './clients.ts';
import { exceptionsOf, unexpected } from './exceptions.ts';
import { providers } from './providers.ts';
import { type Difference, differencesOf, talks } from './talks.ts';
import { unsayable } from './unsayable.ts';

const started = await Promise.all(
  providers.map(async (provider) => ({ provider, model: await startScriptedModel(suite, provider.wire) })),
);
const names = [...new Set(clients.map(({ model }) => model))];
const gateway = await shareGateway({
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

type Found = ReadonlyMap<Client, readonly Difference[]>;

/** One client after the other, with all its conversations at once. */
async function tryAll({ provider, model }: (typeof started)[number], index: number): Promise<Found> {
  const found = new Map<Client, readonly Difference[]>();
  for (const client of clients) {
    const place = { url: gateway.url, key: gateway.masterKey, model: `${client.model}-p${index}` };
    const lists = await Promise.all(talks.map((talk) => differencesOf(talk, { client, provider, model, place })));
    found.set(client, lists.flat());
  }
  return found;
}

const found = await Promise.all(started.map(tryAll));

for (const [index, { provider }] of started.entries()) {
  for (const client of clients) {
    await test(`${client.name} with ${provider.title}`, async (t) => {
      t.same(unexpected(found[index]?.get(client) ?? [], exceptionsOf(client, provider)), []);
    });
  }
}

for (const one of unsayable) {
  const { field, client, providers: those } = one;
  await test(`${client} is told that ${field} cannot be said to some providers`, async (t) => {
    await Promise.all(
      started.map(async ({ provider: { wire } }, index) => {
        if (!those.includes(wire.name)) return;
        const name = client.startsWith('openai') ? 'gpt-5' : 'claude-opus-4-5';
        const asked = one.ask({ url: gateway.url, key: gateway.masterKey, model: `${name}-p${index}` });
        const error: unknown = await Promise.resolve(asked).catch((thrown: unknown) => thrown);
        const { status, error: body } = error as {
          readonly status?: number;
          readonly error?: { readonly error?: object };
        };
        t.equal(status, 400, wire.name);
        t.match(body?.error ?? body, { code: 'unsupported_parameter', param: field, message: wire.name }, wire.name);
      }),
    );
  });
}
