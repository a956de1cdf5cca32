// Guardrails of a running gateway: what they refuse, mask and change, in JSON and in streams, and what they leave alone.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';

const upstream = await startFakeUpstream({ t: suite });
const gateway = await startGateway(suite, {
  upstream,
  files: {
    'guardrails.yaml': {
      guardrails: [
        { name: 'mask', user_paths: ['/masked'], pii: { action: 'mask' } },
        {
          name: 'no-cards',
          user_paths: ['/strict'],
          on: ['input', 'output'],
          pii: { kinds: ['card'], action: 'block' },
        },
      ],
    },
  },
});

const headers = (path: string) => ({ 'x-gateway-user-path': path });
const asked = (content: string, more: object = {}) => ({
  model: 'fake-small',
  messages: [{ role: 'user', content }],
  ...more,
});

await test('what a guardrail blocks is refused with its name, and not sent', async (t) => {
  const body = asked('my card is 4111 1111 1111 1111');
  const sent = upstream.ledger.length;
  const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', body, headers: headers('/strict') });
  t.equal(response.status, 400);
  const said = await response.text();
  t.match(said, /"code":"guardrail_blocked"/);
  t.match(said, /no-cards \(card\)/);
  t.equal(upstream.ledger.length, sent);
});
