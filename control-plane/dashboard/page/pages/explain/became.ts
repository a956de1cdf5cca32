// The outcome of a request that asked for its explanation (X-Gateway-Explain: 1).
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { TimeText } from '../../parts/time-text.ts';
import { linkTo } from '../../router.ts';
import type { Explanation } from './explanation.ts';

interface Ending {
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
}

/** The answer of /admin/explain/{id}. */
export interface ExplainedRequest {
  readonly request_id: string;
  readonly endpoint: string;
  readonly received_at: string;
  readonly is_over: boolean;
  readonly duration_ms?: number;
  readonly answer?: Ending;
  readonly attempts: readonly (Ending & {
    readonly target: string;
    readonly outcome: 'accepted' | 'failed';
    readonly started_at: string;
    readonly duration_ms: number;
  })[];
  readonly explanation?: Explanation;
}

export function Became({ of: request }: { readonly of: ExplainedRequest }): View {
  const { request_id, endpoint, received_at, is_over, duration_ms, answer, attempts } = request;
  return html`<section class="card">
    <h2>What became of it</h2>
    <p>
      <code class="foreign">${endpoint}</code>, received <${TimeText} at=${received_at} />:
      ${is_over ? html` answered with <${Status} of=${answer} /> after ${duration_ms} ms.` : ' its answer has not ended yet.'}
    </p>
    ${answer?.message !== undefined && html`<p class="foreign">${answer.message}</p>`}
    ${
      attempts.length > 0 &&
      html`<ol class="targets">
        ${attempts.map(
          (attempt) => html`<li class="target" key=${`${attempt.target} ${attempt.started_at}`}>
            <div class="rule-head"><code class="foreign">${attempt.target}</code>
              <${Badge} tone=${attempt.outcome === 'accepted' ? 'good' : 'bad'}>${attempt.outcome}</${Badge}>
              <span class="small">${attempt.duration_ms} ms <span class="foreign">${attempt.message}</span></span></div>
          </li>`,
        )}
      </ol>`
    }
    <p class="small"><a href=${linkTo('/requests', { search: request_id })}>Find it among the requests</a></p>
  </section>`;
}

function Status({ of: ending }: { readonly of: Ending | undefined }): View {
  const { status = 0, code } = ending ?? {};
  return html`<${Badge} tone=${status < 400 ? 'good' : 'bad'}>${status}${code === undefined ? '' : ` ${code}`}</${Badge}>`;
}
