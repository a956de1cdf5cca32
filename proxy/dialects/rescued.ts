// The mark of an answer that several targets told: a member of its last event, which the SDKs of OpenAI and Anthropic pass on.
import type { Finish } from './conversation/conversation.ts';
import type { JsonObject } from './json/json.ts';

/** The member of a stream's last event; nothing where one target told all of the answer. */
export function writeRescued({ rescued }: Finish): JsonObject {
  return rescued === undefined ? {} : { x_gateway: { rescued } };
}
