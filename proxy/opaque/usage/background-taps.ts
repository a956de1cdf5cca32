// Responses in the background that pass through: what one costs is told when it is read, and charged then, once.
import type { Tap } from '../../answer.ts';
import { type JsonObject, textOf, writeJson } from '../../dialects/json/json.ts';
import { isResponseId, isUnderWay } from '../../kept/kept-responses.ts';
import { ownerOf } from '../../kept/owner.ts';
import { responseTap } from '../../kept/responses/response-tap.ts';
import { mostKeptBytes } from '../../kept/responses/stored-responses.ts';
import { chargeBackground } from '../../stages/charge/charge-background.ts';
import type { UpstreamAnswer } from '../../upstream/upstream-answer.ts';
import type { DoorParts, Knock, OpaqueTarget } from '../door.ts';

/** An answer of a provider that keeps its responses itself. */
interface PassedAnswer {
  /** Below the base URL of the provider. */
  readonly endpoint: string;
  readonly target: OpaqueTarget;
  readonly knock: Pick<Knock, 'exchange' | 'method' | 'principal'>;
  readonly answer: UpstreamAnswer;
}

/** Reading one, or cancelling it. */
const later = /^responses\/([^/]+)(?:\/cancel)?$/i;

/** Empty: the answer is about no such response. */
export function backgroundTaps(passed: PassedAnswer, parts: DoorParts): readonly Tap[] {
  const { endpoint, knock, answer } = passed;
  const isBegin = endpoint.toLowerCase() === 'responses' && knock.method === 'POST' && !answer.stream;
  const id = later.exec(endpoint)?.[1];
  const isLater = id !== undefined && isResponseId(id) && knock.method !== 'DELETE';
  if (!isBegin && !isLater) return [];
  const take = (response: JsonObject): void => {
    if (id === undefined) remember(response, passed, parts);
    else void chargeBackground(readOf(id, response, passed), parts);
  };
  return [responseTap(answer, { needsOnlyId: false, mostBytes: mostKeptBytes, take, lost: () => undefined })];
}

function remember(response: JsonObject, { target, knock }: PassedAnswer, { storedResponses }: DoorParts): void {
  if (!isUnderWay(response)) return;
  storedResponses.remember(textOf(response['id']) ?? '', ownerOf(knock.principal), homeOf(target), target.model);
}

function readOf(
  id: string,
  response: JsonObject,
  { target, knock: { exchange, principal }, answer }: PassedAnswer,
): Parameters<typeof chargeBackground>[0] {
  const told = { status: answer.status, body: Buffer.from(writeJson(response)) };
  return { id, home: homeOf(target), answer: told, path: '/p/*', exchange, principal };
}

/** The key that it was asked with is not known here; keys of one account know the same responses. */
function homeOf({ upstream }: OpaqueTarget): { readonly provider: string; readonly key: string } {
  return { provider: upstream.name, key: '' };
}
