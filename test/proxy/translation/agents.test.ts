// The requests of coding agents: as bytes to a provider that speaks their dialect, and translated to every other one without a refusal.
import { test } from 'tap';
import { readCall } from '../../../proxy/call/call.ts';
import { type JsonObject, writeJson } from '../../../proxy/dialects/json/json.ts';
import { nativeBody } from '../../../proxy/dialects/native-body.ts';
import type { Quirks } from '../../../proxy/dialects/quirks.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { clientDialects, providerDialects } from '../../../proxy/providers/dialects.ts';
import { rows } from '../../../proxy/providers/rows.ts';
import { conversationOf } from '../../../proxy/translation/conversation-of.ts';
import { translate } from '../../../proxy/translation/translated.ts';
import { codexRequest } from '../dialects/responses/agent-requests.ts';
import { claudeCodeRequest } from './claude-code-request.ts';

const agents = { messages: claudeCodeRequest, responses: codexRequest };
const models = {
  chat: 'gpt-5',
  responses: 'gpt-5',
  messages: 'claude-sonnet-4-5',
  gemini: 'gemini-3-pro',
  bedrock: 'm',
};

function callOf(body: JsonObject): ReturnType<typeof readCall> {
  return readCall(Buffer.from(writeJson(body)));
}

/** Every way in which some provider speaks a dialect. */
function* waysOf(dialect: keyof typeof models): Generator<[type: string, quirks: Quirks]> {
  for (const [type, { speeches }] of Object.entries(rows)) {
    const speech = speeches[dialect];
    if (speech !== undefined) yield [type, speech.quirks ?? {}];
  }
}

for (const [own, body] of Object.entries(agents) as [keyof typeof agents, JsonObject][]) {
  await test(`an agent that speaks ${own} is understood by every provider`, async (t) => {
    const client = clientDialects[own];
    if (client === undefined) throw new Error(`${own} is not served`);
    const sent = nativeBody(callOf(body), Buffer.from('"there"'), false);
    t.equal(sent.body.toString(), writeJson({ ...body, model: 'there' }), 'nothing but the model changes');
    const spoken = atOnce(conversationOf(callOf(body), client));
    for (const dialect of Object.keys(models) as (keyof typeof models)[]) {
      if (dialect === own) continue;
      const provider = providerDialects[dialect];
      if (provider === undefined) throw new Error(`${dialect} is not spoken`);
      for (const [type, quirks] of waysOf(dialect)) {
        const target = { model: models[dialect], upstream: { name: type, unsupported: undefined } };
        const ask = (): unknown => atOnce(translate(spoken, target, { quirks }, provider));
        // The requests show an image.
        if (quirks.hasOnlyTextContent) t.throws(ask, { code: 'unsupported_parameter' }, `${type} takes text alone`);
        else t.doesNotThrow(ask, `${dialect} of ${type}`);
      }
    }
  });
}
