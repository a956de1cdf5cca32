// The facts of models as clients of both APIs read them, and as they decide where a request goes.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { masterKey } from '../../support/gateway.ts';
import { shareGateway } from '../../support/shared.ts';

const upstream = await startFakeUpstream({ t: suite });
const provider = { type: 'openai' as const, base_url: upstream.url, api_key: `\${TEST_PROVIDER_KEY}` };
const sized = (id: string, size: number, more: object) => ({
  id,
  context_window: size,
  max_output_tokens: 50,
  ...more,
});
const gateway = await shareGateway({
  config: {
    providers: {
      little: {
        ...provider,
        models: [
          sized('fake-small', 1_000, { tools: true, input_modalities: ['text'], deprecation_date: '2031-01-01' }),
        ],
      },
      big: {
        ...provider,
        models: [sized('fake-large', 9_000, { tools: false, input_modalities: ['text', 'image'], reasoning: true })],
      },
    },
    aliases: [
      { source: 'both', strategy: 'failover', targets: [{ model: 'little/fake-small' }, { model: 'big/fake-large' }] },
    ],
  },
});

const openai = new OpenAI({ apiKey: masterKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: masterKey, baseURL: gateway.url, maxRetries: 0 });
const ofBoth = { context_window: 1_000, max_output_tokens: 50, tools: false, input_modalities: ['text'] };

await test('official clients read the facts of a model, and of an alias those of all its targets', async (t) => {
  const listed = await openai.models.list();
  t.match(
    listed.data.find(({ id }) => id === 'both'),
    { object: 'model', ...ofBoth },
  );
  const { data } = await anthropic.models.list();
  t.match(
    data.find(({ id }) => id === 'both'),
    { type: 'model', ...ofBoth },
  );
  for (const known of [await openai.models.retrieve('both'), await anthropic.models.retrieve('both')]) {
    t.match(known, ofBoth);
    t.notOk('reasoning' in known || 'deprecation_date' in known, 'one target does not say it');
  }
  t.match(await anthropic.models.retrieve('little/fake-small'), { deprecation_date: '2031-01-01' });
});

await test('a long prompt passes over the model that is too small, and the explanation says why', async (t) => {
  const ask = async (words: number) => {
    const answer = await gateway.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'x-gateway-explain': '1' },
      body: { model: 'both', messages: [{ role: 'user', content: 'word '.repeat(words) }] },
    });
    t.equal(answer.status, 200);
    const told = await gateway.fetch(`/admin/explain/${answer.headers.get('x-gateway-explain-id')}`);
    const { explanation, attempts } = (await told.json()) as {
      explanation: { targets: { target: string; would: string; reason?: string; says: string }[] };
      attempts: { target: string }[];
    };
    return {
      asked: attempts.map(({ target }) => target),
      skipped: explanation.targets.filter(({ would }) => would === 'skip'),
    };
  };
  t.strictSame(await ask(10), { asked: ['little/fake-small'], skipped: [] });
  t.match(await ask(2_000), {
    asked: ['big/fake-large'],
    skipped: [
      {
        target: 'little/fake-small',
        reason: 'context_window_too_small',
        says: /1000 tokens; the prompt has at least \d{4}/,
      },
    ],
  });
  const foreseen = await gateway.fetch('/admin/explain?model=both&input_tokens=5000');
  t.match(await foreseen.json(), {
    request: { input_tokens: 5_000 },
    outcome: 'It would be sent to big/fake-large.',
    targets: [
      { target: 'big/fake-large' },
      { target: 'little/fake-small', would: 'skip', reason: 'context_window_too_small' },
    ],
  });
});
