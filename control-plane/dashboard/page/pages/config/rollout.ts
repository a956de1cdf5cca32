// The rollout of a revision: how far it is, how it does on each proxy beside the limits, and its end before its time.
import { useState } from 'preact/hooks';
import { count, latency, plural, share } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { useLoad } from '../../load.ts';
import { Badge, type Tone } from '../../parts/badge.ts';
import { TextField } from '../../parts/fields.ts';
import { ForRole } from '../../parts/for-role.ts';
import { FieldMistake, FormDialog } from '../../parts/form-dialog.ts';
import { Loaded } from '../../parts/states.ts';
import { type Column, Table } from '../../parts/table.ts';
import { Countdown, TimeText } from '../../parts/time-text.ts';
import { write } from '../../parts/writes.ts';

type Phase = 'none' | 'waiting' | 'canary' | 'finished' | 'aborted' | 'withdrawn';

interface Figures {
  readonly requests: number;
  readonly error_share: number | null;
  readonly refusal_share: number | null;
  readonly p95_ms: number | null;
}

interface Settings {
  readonly proxies: number | string;
  readonly for: string;
  readonly error_share: number;
  readonly refusal_share: number | null;
  readonly p95_ms: number | null;
  readonly min_requests: number;
}

interface RolledProxy {
  readonly instance: string;
  readonly live: boolean;
  readonly first: boolean;
  readonly config_revision: string;
  readonly figures: Figures | null;
}

/** The answer of /admin/config/rollout. */
interface Rollout {
  readonly phase: Phase;
  readonly revision: string | null;
  readonly former_revision: string | null;
  readonly first: readonly string[];
  readonly began_at: string | null;
  readonly until: string | null;
  readonly reason: string | null;
  readonly by: string | null;
  readonly settings: Settings | null;
  readonly figures: Figures | null;
  readonly proxies: readonly RolledProxy[];
}

const path = '/admin/config/rollout';
/** In these an operator can end it. */
const openPhases: ReadonlySet<Phase> = new Set(['waiting', 'canary', 'aborted']);

const badges: Readonly<Record<Phase, readonly [tone: Tone, text: string]>> = {
  none: ['plain', 'Nothing was rolled out yet'],
  waiting: ['warn', 'Waiting'],
  canary: ['info', 'On the first proxies'],
  finished: ['good', 'Finished'],
  aborted: ['bad', 'Aborted'],
  withdrawn: ['plain', 'Withdrawn'],
};

/** Nothing, where no rollout is configured and none is open. */
export function RolloutCard(): View {
  const rollout = useLoad<Rollout>(path, 2_000);
  const { body, error, reload } = rollout;
  const isNone = body === undefined ? error === undefined : body.settings === null && !openPhases.has(body.phase);
  if (isNone) return null;
  return html`<${Loaded} of=${rollout} what="the rollout">${(of: Rollout) => html`<${Shown} of=${of} onChange=${reload} />`}</${Loaded}>`;
}

interface ShownProps {
  readonly of: Rollout;
  readonly onChange: () => void;
}

function Shown({ of, onChange }: ShownProps): View {
  const { phase, settings, reason, by, figures, proxies } = of;
  const [tone, text] = badges[phase];
  const isOpen = openPhases.has(phase);
  return html`<section class="card config-rollout" aria-labelledby="rollout">
    <div class="page-head">
      <h2 id="rollout">Rollout</h2>
      <div class="badges"><${Badge} tone=${tone}>${text}</${Badge}></div>
    </div>
    <${Stand} of=${of} />
    ${
      (reason !== null || by !== null) &&
      html`<p class=${phase === 'aborted' ? 'note warning' : 'note'}>${reason ?? 'No reason was given'}${by !== null && html` (by <code>${by}</code>)`}</p>`
    }
    ${phase === 'canary' && figures !== null && html`<${Together} figures=${figures} settings=${settings} />`}
    ${isOpen && html`<${Table} label="Proxies of the rollout" columns=${columnsFor(of)} rows=${proxies} keyOf=${({ instance }: RolledProxy) => instance} markOf=${({ live }: RolledProxy) => (live ? '' : 'faded')} minWidth="52rem" sort="rollout" />`}
    <p class="quiet small">${rulesOf(settings)}</p>
    ${isOpen && html`<${ForRole} needs="operator" isWhole><${Ends} of=${of} onChange=${onChange} /></${ForRole}>`}
  </section>`;
}

/** What is in force where, and since when. */
function Stand({ of: { phase, revision, former_revision: former, first, began_at: began, until } }: StandProps): View {
  if (phase === 'none') return null;
  const name = html`Revision <code>${revision}</code>`;
  const others = former === null ? 'the former revision' : html`<code>${former}</code>`;
  const since = html`since <${TimeText} at=${until ?? ''} />`;
  if (phase === 'waiting')
    return html`<p>${name} waits: no proxy that can go first is ready. All proxies have ${others}.</p>`;
  if (phase === 'canary')
    return html`<p>${name} is for ${first.join(', ')} since <${TimeText} at=${began ?? ''} />; the others stay with ${others}. All take it in <${Countdown} at=${until ?? ''} over="a moment" />.</p>`;
  if (phase === 'aborted')
    return html`<p>${name} is for no proxy, ${since}; all have ${others}. It waits until the directory has another one, or it is finished.</p>`;
  if (phase === 'withdrawn') return html`<p>${name} was withdrawn, ${since}.</p>`;
  return html`<p>${name} is for all proxies ${since}.</p>`;
}

interface StandProps {
  readonly of: Rollout;
}

interface TogetherProps {
  readonly figures: Figures;
  readonly settings: Settings | null;
}

/** The figures that are judged: of the first proxies together. */
function Together({ figures, settings }: TogetherProps): View {
  const { requests, error_share: errors, refusal_share: refusals, p95_ms: p95 } = figures;
  const tiles = [
    ['Requests', count(requests), settings === null ? '' : `judged from ${count(settings.min_requests)} on`],
    ['Errors', shareText(errors), limitText(settings?.error_share, share)],
    ['Refusals', shareText(refusals), limitText(settings?.refusal_share, share)],
    ['p95 to the first byte', msText(p95), limitText(settings?.p95_ms, msText)],
  ] as const;
  return html`<dl class="tiles" aria-label="The first proxies together">
    ${tiles.map(([name, value, note]) => html`<div class="tile" key=${name}><dt>${name}</dt><dd>${value} <span class="small quiet">${note}</span></dd></div>`)}
  </dl>`;
}

function columnsFor({ revision, settings }: Rollout): readonly Column<RolledProxy>[] {
  const figure = (name: string, of: (figures: Figures) => View | string): Column<RolledProxy> => ({
    title: name,
    isNumber: true,
    cell: ({ figures }) => (figures === null ? '–' : of(figures)),
  });
  return [
    {
      title: 'Proxy',
      sort: ({ instance }) => instance,
      cell: ({ instance, first, live }) => html`<span><span class="name">${instance}</span>
        ${first && html` <${Badge} tone="info">first</${Badge}>`}${!live && html` <${Badge} tone="bad">silent</${Badge}>`}</span>`,
    },
    {
      title: 'Configuration',
      cell: ({ config_revision: own }) =>
        html`<span><code title=${own === revision ? 'The revision that is rolled out' : 'Another revision'}>${own}</code>${own === revision && html` <${Badge}>new</${Badge}>`}</span>`,
    },
    figure('Requests', ({ requests }) => count(requests)),
    figure('Errors', (of) => beside(of.error_share, settings?.error_share, share)),
    figure('Refusals', (of) => beside(of.refusal_share, settings?.refusal_share, share)),
    figure('p95', (of) => beside(of.p95_ms, settings?.p95_ms, msText)),
  ];
}

/** `0.7% limit 5%`: a figure and its limit, marked where it is beyond. */
function beside(value: number | null, limit: number | null | undefined, textOf: (value: number) => string): View {
  if (value === null) return html`–`;
  if (limit === null || limit === undefined) return html`${textOf(value)}`;
  const isBeyond = value > limit;
  return html`<span><span class=${isBeyond ? 'beyond' : undefined} title=${isBeyond ? 'Beyond the limit' : 'Within the limit'}>${textOf(value)}</span> <span class="quiet small">limit ${textOf(limit)}</span></span>`;
}

function shareText(value: number | null): string {
  return value === null ? '–' : share(value);
}

function msText(value: number | null): string {
  return value === null ? '–' : latency(value * 1e6);
}

function limitText(limit: number | null | undefined, textOf: (value: number) => string): string {
  return limit === null || limit === undefined ? 'no limit' : `limit ${textOf(limit)}`;
}

function rulesOf(settings: Settings | null): string {
  if (settings === null)
    return 'The configuration in force has no rollout: the next revision is for all proxies at once.';
  const { proxies, for: length, min_requests: least } = settings;
  const who =
    typeof proxies === 'string' ? `${proxies} of the proxies` : proxies === 1 ? '1 proxy' : `${proxies} proxies`;
  return `A new revision goes to ${who} first, for ${length}; limits are judged from ${plural(least, 'request')} on.`;
}

/** What an end does, and its words. */
const ends = {
  finished: {
    button: 'Finish',
    title: 'Finish the rollout',
    done: 'The rollout: finished',
    effect: 'All proxies take the revision now.',
    hint: 'Optional; shown with the rollout.',
  },
  aborted: {
    button: 'Abort',
    title: 'Abort the rollout',
    done: 'The rollout: aborted',
    effect: 'The first proxies go back. The revision waits until the directory has another one, or it is finished.',
    hint: 'Shown with the rollout.',
  },
} as const;
type End = keyof typeof ends;

function Ends({ of: { phase, revision }, onChange }: ShownProps): View {
  // The revision that was on the page when the window opened.
  const [ending, end] = useState<{ readonly phase: End; readonly revision: string } | undefined>(undefined);
  const offered: readonly End[] = phase === 'canary' ? ['finished', 'aborted'] : ['finished'];
  return html`<div class="buttons">
    ${offered.map((each) => html`<button key=${each} onClick=${() => end({ phase: each, revision: revision ?? '' })}>${ends[each].button}</button>`)}
    ${ending !== undefined && html`<${EndDialog} ...${ending} onDone=${onChange} onClose=${() => end(undefined)} />`}
  </div>`;
}

interface EndDialogProps {
  readonly phase: End;
  readonly revision: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function EndDialog({ phase, revision, onDone, onClose }: EndDialogProps): View {
  const [reason, setReason] = useState('');
  const { title, done, button, effect, hint } = ends[phase];
  const submit = async (): Promise<void> => {
    const why = reason.trim();
    if (phase === 'aborted' && why === '') throw new FieldMistake('reason', 'Say why: it is shown with the rollout.');
    await write(done, path, { method: 'PUT', body: { phase, ...(why === '' ? {} : { reason: why }) } });
    onDone();
    onClose();
  };
  return html`<${FormDialog} title=${title} action=${button} isDangerous onSubmit=${submit} onClose=${onClose}>
    <p class="small">Revision <code>${revision}</code>: ${effect}</p>
    <${TextField} label="Reason" name="reason" value=${reason} onChange=${setReason} hint=${hint} isRequired=${phase === 'aborted'} />
  </${FormDialog}>`;
}
