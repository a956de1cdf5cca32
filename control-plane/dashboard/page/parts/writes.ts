// Changes that the viewer has made: each is done when every live proxy enforces it, and says until then on how many it is in force.
import { ask, type Question } from '../api.ts';
import { Cell, useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { nowMs } from '../time.ts';

/** The answer of /admin/convergence. */
interface Convergence {
  readonly proxies: { readonly live: number; readonly enforcing: number };
}

interface Write {
  readonly id: number;
  /** The effect of the write: `Override of /team-a`. */
  readonly what: string;
  readonly standing: 'waiting' | 'done' | 'late';
  readonly live: number;
  readonly enforcing: number;
}

const writes = new Cell<readonly Write[]>([]);
let last = 0;

/** Most proxies have a write after a fraction of a second. */
const [firstPauseMs, longestPauseMs] = [200, 1_000];
/** Afterwards the viewer is told who is behind, and it is asked no more. */
const patienceMs = 30_000;
/** How long what is done stays in view. */
const doneMs = 6_000;
const mostShown = 5;

/**
 * Sends a write, and follows it until every proxy has it. Resolves with the answer as soon as the control plane has stored it; rejects with
 * `ApiError` when it has not.
 */
export async function write<Body>(what: string, path: string, question: Question): Promise<Body> {
  const { body, headers } = await ask<Body>(path, question);
  const revision = headers.get('x-gateway-state-revision');
  if (revision !== null) void follow(what, revision);
  return body;
}

async function follow(what: string, revision: string): Promise<void> {
  last += 1;
  const id = last;
  const begunMs = nowMs();
  writes.set([...writes.value.slice(1 - mostShown), { id, what, standing: 'waiting', live: 0, enforcing: 0 }]);
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    const seen = await ask<Convergence>(`/admin/convergence?revision=${revision}`).catch(() => undefined);
    const { live, enforcing } = seen?.body.proxies ?? { live: 0, enforcing: 0 };
    if (live > 0 && enforcing === live) {
      put(id, { standing: 'done', live, enforcing });
      setTimeout(() => dismiss(id), doneMs);
      return;
    }
    const isLate = nowMs() - begunMs > patienceMs;
    put(id, { standing: isLate ? 'late' : 'waiting', live, enforcing });
    if (isLate || writes.value.every((each) => each.id !== id)) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

function put(id: number, change: Partial<Write>): void {
  writes.set(writes.value.map((each) => (each.id === id ? { ...each, ...change } : each)));
}

function dismiss(id: number): void {
  writes.set(writes.value.filter((each) => each.id !== id));
}

/** Stands in the frame, below every page. */
export function WriteList(): View {
  const shown = useCell(writes);
  return html`<div class="writes" role="status" aria-label="Your changes">
    ${shown.map(
      (each) => html`<div class=${`write ${each.standing}`} key=${each.id}>
        <span><strong>${each.what}</strong><br />${wordsFor(each)}</span>
        <button class="plain" aria-label=${`Dismiss: ${each.what}`} onClick=${() => dismiss(each.id)}>×</button>
      </div>`,
    )}
  </div>`;
}

function wordsFor({ standing, live, enforcing }: Write): string {
  if (standing === 'done') return live === 1 ? 'In force on the proxy.' : `In force on all ${live} proxies.`;
  if (live === 0)
    return standing === 'late' ? 'Stored. No proxy is live to enforce it.' : 'Stored. Waiting for the proxies…';
  const on = `In force on ${enforcing} of ${live}`;
  return standing === 'late' ? `${on}. The others do not follow: see the overview.` : `${on}…`;
}
