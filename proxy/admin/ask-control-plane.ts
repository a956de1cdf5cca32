// Asks the control plane for what this proxy does not know itself, in its own name: quickly, of few requests at a time, and never for more
// than a bounded answer.

import { forward } from '../upstream/forward.ts';
import type { Pools } from '../upstream/pools.ts';
import type { ControlPlaneLink } from './control-plane-link.ts';

/** How long an answer may take, in milliseconds: a client is waiting. */
const deadlineMs = 1_000;
/** Questions at a time: beyond it, the control plane is not asked. */
const mostAtOnce = 64;
/** Of one answer. Bytes. */
const longestAnswer = 1024 * 1024;

/** An answer: JSON. */
export interface ControlPlaneAnswer {
  readonly status: number;
  readonly body: unknown;
}

let asking = 0;

/** GET of a path under /admin. Undefined when there is no whole answer in time. Never rejects. */
export async function askControlPlane(
  path: string,
  { pools, controlPlane }: { readonly controlPlane: ControlPlaneLink; readonly pools: Pools },
): Promise<ControlPlaneAnswer | undefined> {
  if (asking >= mostAtOnce) return undefined;
  asking += 1;
  const late = AbortSignal.timeout(deadlineMs);
  try {
    const asked = { method: 'GET', path, headers: controlPlane.authorisation(), body: Buffer.alloc(0) };
    const answer = await forward(pools.get(controlPlane), asked, Math.min(deadlineMs, controlPlane.timeoutMs), late);
    const pieces: Buffer[] = [];
    let length = 0;
    for await (const piece of answer.body as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > longestAnswer) return undefined;
      pieces.push(piece);
    }
    return { status: answer.statusCode, body: JSON.parse(Buffer.concat(pieces).toString()) as unknown };
  } catch {
    return undefined;
  } finally {
    asking -= 1;
  }
}
