// Who counts a rule: all proxies together or each alone, how exactly now, and the part of each proxy.
import { compact, count } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge, type Tone } from '../../parts/badge.ts';
import { type Column, Table } from '../../parts/table.ts';
import { type Rule, titleOf } from './rule.ts';

type Exactness = NonNullable<Rule['exactness']>;
type Part = NonNullable<Rule['proxies']>[number];

export const lossWords = {
  share: 'each proxy its part',
  closed: 'nothing is admitted',
  open: 'each proxy the whole cap',
} as const;

const lost = 'The state store does not answer some proxy';
/** Of counts that are not exact: the word, and what it means. */
const inexact: Readonly<Record<Exclude<Exactness, 'exact'>, readonly [Tone, string, string]>> = {
  share: [
    'warn',
    'store lost: a part each',
    `${lost}: it admits its part of the cap, and the fleet may admit more than the cap.`,
  ],
  closed: ['bad', 'store lost: closed', `${lost}: it admits nothing under this rule.`],
  open: ['warn', 'store lost: open', `${lost}: it admits the whole cap.`],
  recovering: [
    'info',
    'recovering',
    'The state store waits until all proxies have told what they have used, for two seconds at most.',
  ],
};

interface SharingProps {
  readonly rule: Rule;
  /** Shows the part of each proxy. */
  readonly onShow: () => void;
}

/** One line below the use of a rule. */
export function Sharing({ rule, onShow }: SharingProps): View {
  const { counted, exactness = 'exact', replicas = 0, proxies } = rule;
  if (counted === undefined) return null;
  if (counted === 'replica') {
    const title = `rate_limits.scope is replica: each proxy admits ${ownCaps(rule)}, and this is the sum of all`;
    return html`<span class="cell-line small">
      <span class="quiet" title=${title}>${replicas < 2 ? 'each proxy counts alone' : `${count(replicas)} proxies, each alone`}</span>
      ${proxies !== undefined && proxies.length > 0 && html`<${ShowParts} rule=${rule} onShow=${onShow} />`}
    </span>`;
  }
  const words = replicas === 1 ? '1 proxy' : `${count(replicas)} proxies together`;
  return html`<span class="cell-line small">
    ${exactness === 'exact' ? html`<span class="quiet">${words}</span>` : html`<${Inexact} exactness=${exactness} />`}
    ${heldOf(rule) > 0 && html`<span class="quiet" title="Held in advance by proxies, and not used: it can be called back">${compact(heldOf(rule))} held</span>`}
    ${proxies !== undefined && html`<${ShowParts} rule=${rule} onShow=${onShow} />`}
  </span>`;
}

function ShowParts({ rule, onShow }: SharingProps): View {
  return html`<button class="row" aria-label=${`Proxies: ${titleOf(rule)}`} onClick=${onShow}>Proxies</button>`;
}

/** What one proxy admits. */
function ownCaps({ max_requests, max_tokens, period_seconds }: Rule): string {
  return [
    ...(max_requests === undefined
      ? []
      : [`${compact(max_requests)} ${period_seconds === 0 ? 'in flight' : 'requests'}`]),
    ...(max_tokens === undefined ? [] : [`${compact(max_tokens)} tokens`]),
  ].join(', ');
}

function Inexact({ exactness }: { readonly exactness: Exclude<Exactness, 'exact'> }): View {
  const [tone, word, title] = inexact[exactness];
  return html`<${Badge} tone=${tone} title=${title}>${word}</${Badge}>`;
}

function heldOf({ held = 0, tokens_held = 0, max_requests }: Rule): number {
  return max_requests === undefined ? tokens_held : held;
}

/** The part of each proxy: what it has counted itself, what its open requests hold, and what it holds in advance. */
export function ProxyParts({ rule }: { readonly rule: Rule }): View {
  const { proxies = [], exactness = 'exact', replicas = 0, counted } = rule;
  const parts = html`<${Table} label="Proxies" columns=${partColumns(rule)} rows=${proxies} keyOf=${({ instance }: Part) => instance} rowHeight=${36} />`;
  if (counted === 'replica')
    return html`<p class="small">Each proxy counts alone and admits ${ownCaps(rule)}. An explanation is of the proxy that answers it.</p>
    ${parts}`;
  const who = replicas === 1 ? 'One proxy counts this rule' : `${count(replicas)} proxies count this rule together`;
  const says = exactness === 'exact' ? `${who}, to the last unit.` : inexact[exactness][2];
  return html`<p class="small">${says} What is held in advance is not used: it goes back when others need it.</p>
    ${parts}`;
}

function partColumns({ period_seconds, max_requests, max_tokens, counted }: Rule): readonly Column<Part>[] {
  const isShared = counted === 'fleet';
  const number = (title: string, of: (part: Part) => number | undefined): Column<Part> => ({
    title,
    isNumber: true,
    cell: (part) => html`<span>${count(of(part) ?? 0)}</span>`,
  });
  const requests =
    period_seconds === 0
      ? number('In flight', (part) => part.in_flight)
      : number('Requests', (part) => part.requests_used);
  return [
    { title: 'Proxy', cell: ({ instance }) => html`<code>${instance}</code>` },
    ...(max_requests === undefined ? [] : [requests, ...(isShared ? [number('Held', (part) => part.held)] : [])]),
    ...(max_tokens === undefined
      ? []
      : [
          number('Tokens', (part) => part.tokens_used),
          number('Set aside', (part) => part.tokens_reserved),
          ...(isShared ? [number('Tokens held', (part) => part.tokens_held)] : []),
        ]),
  ];
}
