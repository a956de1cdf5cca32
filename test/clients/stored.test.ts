// A client that names what was answered before, as the AI SDK does unless it is told otherwise, with every provider: the gateway keeps it.
import { t as suite, test } from 'tap';
import { startScriptedModel } from '../support/scripted-model/server.ts';
import { shareGateway } from '../support/shared.ts';
import { exceptionsOf, unexpected } from './exceptions.ts';
import { providers } from './providers.ts';
import { differencesOf, talks } from './talks.ts';
import { vercelResponses, vercelStored } from './vercel.ts';

const started = await Promise.all(
  providers.map(async (provider) => ({ provider, model: await startScriptedModel(suite, provider.wire) })),
);
const gateway = await shareGateway({
  config: {
    providers: Object.fromEntries(
      started.map(({ provider, model: { url } }) => {
        const { wire } = provider;
        return [wire.name, { ...provider.settings(url), api_key: 'sk-of-the-provider', models: [wire.model] }];
      }),
    ),
    // The client looks at the name of a model to know what it can do.
    aliases: started.map(({ provider: { wire } }, index) => {
      return { source: `gpt-5-p${index}`, target: `${wire.name}/${wire.model}` };
    }),
  },
});
const turns = talks.filter(({ title }) => /tools|thinking/.test(title));

for (const [index, { provider, model }] of started.entries()) {
  await test(`${vercelStored.name} with ${provider.title}`, async (t) => {
    const place = { url: gateway.url, key: gateway.masterKey, model: `gpt-5-p${index}` };
    const cell = { client: vercelStored, provider, model, place };
    const found = await Promise.all(turns.map((talk) => differencesOf(talk, cell)));
    t.ok(turns.length > 4);
    const others = unexpected(found.flat(), exceptionsOf(vercelResponses, provider));
    // A provider that is believed to keep its thoughts is not asked for their proof.
    const isOwn = provider.wire.name === 'responses';
    t.same(
      others.filter((difference) => !isOwn || !difference.includes('proof of thoughts')),
      [],
    );
  });
}

await test('what it names was kept', async (t) => {
  t.ok(((await gateway.metric('gateway_stored_responses_total', { outcome: 'kept' })) ?? 0) > started.length);
});
