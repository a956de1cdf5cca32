// The columns of the table of guardrails.
import { compact } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge, type Tone } from '../../parts/badge.ts';
import { RowButtons } from '../../parts/row-buttons.ts';
import { SourceCell } from '../../parts/source-cell.ts';
import type { Column } from '../../parts/table.ts';
import { type Guardrail, kindWords, summaryOf } from './guardrail.ts';

export type GuardrailAction = 'edit' | 'override' | 'delete';

export function columnsFor(act: (action: GuardrailAction, of: Guardrail) => void): readonly Column<Guardrail>[] {
  return [
    { title: 'Order', width: '5rem', isNumber: true, sort: ({ order }) => order, cell: ({ order }) => String(order) },
    { title: 'Guardrail', width: '21%', sort: ({ name }) => name, cell: (of) => html`<${Name} of=${of} />` },
    { title: 'What it does', width: '30%', cell: (of) => html`<${Does} of=${of} />` },
    {
      title: 'Verdicts',
      width: '21%',
      isLargestFirst: true,
      sort: ({ verdicts }) => verdicts.reduce((sum, { count }) => sum + count, 0),
      cell: (of) => html`<${Verdicts} of=${of} />`,
    },
    {
      title: 'Source',
      width: '17%',
      sort: ({ source }) => source,
      cell: (of) => html`<${SourceCell} of=${{ ...of, isDeclared: of.source === 'config' }} />`,
    },
    {
      title: 'Actions',
      isUntitled: true,
      cell: (of) =>
        html`<${RowButtons} name=${of.name} offered=${of.source === 'config' ? ofConfig : ofOperators} onChoose=${(action: GuardrailAction) => act(action, of)} />`,
    },
  ];
}

interface OfGuardrail {
  readonly of: Guardrail;
}

function Name({ of: { name, kind, mode } }: OfGuardrail): View {
  return html`<div class="cell">
    <span class="name" title=${name}>${name}</span>
    <span class="cell-line"><span class="quiet small">${kindWords[kind]}</span>
      ${mode === 'shadow' && html`<${Badge} tone="info" title="Its verdicts are counted; it changes and refuses nothing">shadow</${Badge}>`}
    </span>
  </div>`;
}

function Does({ of }: OfGuardrail): View {
  const { on, user_paths: paths = [], models = [] } = of;
  const phases = on.length === 2 ? 'requests and answers' : on[0] === 'output' ? 'answers' : 'requests';
  const summary = summaryOf(of);
  return html`<div class="cell">
    <span title=${summary}>${summary}</span>
    <span class="cell-line"><span class="quiet small">${phases}</span>
      ${paths.length > 0 && html`<${Badge} title=${paths.join('\n')}>${`for ${paths[0] ?? ''}${paths.length > 1 ? ` +${paths.length - 1}` : ''}`}</${Badge}>`}
      ${models.length > 0 && html`<${Badge} title=${models.join('\n')}>${`of ${models[0] ?? ''}${models.length > 1 ? ` +${models.length - 1}` : ''}`}</${Badge}>`}
    </span>
  </div>`;
}

const tones: Readonly<Record<string, Tone>> = {
  pass: 'plain',
  flag: 'warn',
  revise: 'info',
  block: 'bad',
  failed: 'warn',
};

function Verdicts({ of: { verdicts } }: OfGuardrail): View {
  const sums = new Map<string, number>();
  for (const { outcome, count } of verdicts) if (count > 0) sums.set(outcome, (sums.get(outcome) ?? 0) + count);
  if (sums.size === 0) return html`<span class="quiet">none yet</span>`;
  const title = 'On the live proxies, since each of them has started';
  return html`<div class="verdicts" title=${title}>
    ${[...sums].map(([outcome, count]) => html`<${Badge} key=${outcome} tone=${tones[outcome.replace('shadow_', '')] ?? 'plain'}>${`${compact(count)} ${wordsOf(outcome)}`}</${Badge}>`)}
  </div>`;
}

/** `block`, and of a shadow guardrail `would block`. It fails as others do. */
function wordsOf(outcome: string): string {
  return outcome === 'shadow_failed' ? 'failed' : outcome.replace('shadow_', 'would ');
}

const ofConfig = [['override', 'Override', 'admin']] as const;
const ofOperators = [
  ['edit', 'Edit', 'admin'],
  ['delete', 'Delete', 'admin'],
] as const;
