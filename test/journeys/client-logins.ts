// What vendors say to the clients that are logged in to them, and what these send.
import type { Behaviour } from '../support/fake-upstream.ts';
import { masterKey } from '../support/gateway.ts';

export const ann = 'sk-ant-oat01-of-ann-0123456789';

/** The headers of Claude Code with a login, and with the key of the gateway beside it. */
export const login = (token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'x-gateway-key': masterKey,
  'anthropic-beta': 'oauth-2025-04-20',
});
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'opus',
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, output_tokens: 5 },
};

/** An answer of Anthropic. */
export const said = (headers: [string, string][] = []): Behaviour => ({ kind: 'json', body: message, headers });

/** A refusal of Anthropic. */
export const refused = (status: number, type: string, text: string, headers: [string, string][] = []): Behaviour => {
  return { kind: 'json', status, headers, body: { type: 'error', error: { type, message: text } } };
};

/** A request for it. */
export const asking = (model: string) => ({ model, max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] });
