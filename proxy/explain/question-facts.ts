// What conditions may ask of a request that is explained.
import type { Facts } from '../../domain/conditions/facts.ts';
import { foldUserPath } from '../../domain/user-path.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { Question } from './question.ts';

/** `userPath`: the consumer's. Of a request that is not sent, what the question does not say is not known. */
export function factsOf(question: Question, userPath: string, { localTime }: Pick<Snapshot, 'localTime'>): Facts {
  const { facts, key, endpoint, stream, nowMs, inputTokens, said = {} } = question;
  if (facts !== undefined) return facts;
  const { hour, weekday } = localTime.at(nowMs);
  return {
    path: foldUserPath(userPath),
    labels: key?.labels ?? [],
    endpoint: endpoint?.path,
    stream,
    tools: said.tools,
    images: said.images,
    tokens: inputTokens,
    hour,
    weekday,
    header: (name) => said.headers?.get(name),
  };
}
