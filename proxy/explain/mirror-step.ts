// Whether a request would be copied to the mirror of its alias once it is answered.
import { allowsTarget } from '../../domain/keys/model-access.ts';
import type { Target } from '../snapshot/snapshot.ts';
import type { MirrorStep } from './explanation.ts';
import type { ExplainSources, Question } from './question.ts';
import type { Resolved } from './resolution.ts';
import { judged, nameOf } from './target-steps.ts';

/** Undefined: there is no mirror, or nothing that is asked at the endpoint is copied. */
export function mirrorStep(
  { granted }: Pick<Resolved, 'granted'>,
  question: Question,
  parts: ExplainSources,
): MirrorStep | undefined {
  const { mirror } = granted ?? {};
  const [target] = mirror?.route.targets ?? [];
  if (mirror === undefined || target === undefined || mirror.share === 0) return undefined;
  if (question.endpoint?.isMirrored === false) return undefined;
  const obstacle = obstacleOf(target, question, parts);
  const says = obstacle ?? `${Number((mirror.share * 100).toFixed(4))} % of such requests are copied to it`;
  return { target: nameOf(target), share: mirror.share, would: obstacle === undefined ? 'copy' : 'skip', says };
}

function obstacleOf(target: Target, question: Question, parts: ExplainSources): string | undefined {
  const access = question.key?.modelAccess;
  const { upstream, model } = target;
  const mayUse = access === undefined || allowsTarget(access, upstream.name, model, parts.snapshot.providers);
  if (!mayUse) return 'the key may not use it by its own name';
  const { would, says } = judged(target, question, parts);
  return would === 'ask' ? undefined : says;
}
