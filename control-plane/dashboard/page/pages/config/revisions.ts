// The kept revisions of the configuration: when each came, from whom, who has it; and what differs between any two of them.
import { html, type View } from '../../html.ts';
import { useLoad } from '../../load.ts';
import { Badge, type Tone } from '../../parts/badge.ts';
import { fieldText } from '../../parts/dialog.ts';
import { Empty, Loaded } from '../../parts/states.ts';
import { TimeText } from '../../parts/time-text.ts';
import { setQuery } from '../../router.ts';
import { localTime, parseTime } from '../../time.ts';
import { type Change, Changes, type File, FileDifference } from './differences.ts';
import { PinButton } from './pin.ts';

interface Verdict {
  readonly instance: string;
  readonly live: boolean;
  readonly verdict: 'in_force' | 'rejected' | 'left';
  readonly since: string;
  readonly problems: readonly string[];
}

interface Revision {
  readonly revision: string;
  readonly time: string;
  readonly outcome: 'applied' | 'rejected';
  readonly in_force: boolean;
  readonly pinned: boolean;
  readonly commit: string | null;
  readonly author: string | null;
  readonly subject: string | null;
  readonly changes: Readonly<Record<string, number>> | null;
  readonly files: number | null;
  readonly problems: readonly string[];
  readonly problem_count: number;
  readonly proxies: readonly Verdict[];
}

/** The answer of /admin/config/revisions. */
interface RevisionList {
  readonly config_revision: string;
  readonly trouble: string | null;
  readonly revisions: readonly Revision[];
}

/** The answer of /admin/config/revisions/ID/changes. */
interface Differences {
  readonly revision: string;
  readonly against: string;
  readonly files: readonly File[];
  readonly complete: boolean;
  readonly changes?: readonly Change[];
  readonly set_aside?: readonly string[];
}

const path = '/admin/config/revisions';
/** Before all of them are asked for. */
const firstShown = 8;

export interface RevisionsProps {
  /** Of the address: the two that are compared. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** All of them are shown. */
  readonly isWhole: boolean;
}

export function Revisions(props: RevisionsProps): View {
  const list = useLoad<RevisionList>(path, 5_000);
  return html`<section class="card revisions">
    <h2>Revisions</h2>
    <${Loaded} of=${list} what="the revisions">${(body: RevisionList) => html`<${Shown} ...${props} of=${body} />`}</${Loaded}>
  </section>`;
}

function Shown({
  of: { config_revision, trouble, revisions },
  from,
  to,
  isWhole,
}: RevisionsProps & { readonly of: RevisionList }): View {
  if (revisions.length === 0)
    return html`<${Empty} title="No revision is kept yet."><p>Each change of the configuration is listed here, with its commit and what each proxy makes of it.</p></${Empty}>`;
  const shown = isWhole ? revisions : revisions.slice(0, firstShown);
  return html`${trouble !== null && html`<p class="note warning">The newest revisions are not kept yet: ${trouble}</p>`}
    <ol class="revision-list" aria-label="Revisions, the newest first">
      ${shown.map((each, at) => html`<${Row} key=${`${each.revision} ${each.time}`} of=${each} inForce=${config_revision} before=${olderThan(revisions, at)} isOpen=${each.revision === to} />`)}
    </ol>
    ${revisions.length > firstShown && html`<p><button class="plain" onClick=${() => setQuery({ revisions: isWhole ? undefined : 'all' })}>${isWhole ? 'Show fewer' : `Show all ${revisions.length}`}</button></p>`}
    ${to !== undefined && html`<${Compared} of=${revisions} from=${from} to=${to} />`}`;
}

/** The one that was in force before. */
function olderThan(revisions: readonly Revision[], at: number): string | undefined {
  const older = revisions.slice(at + 1);
  const { revision } = revisions[at] ?? {};
  return older.find((each) => each.outcome === 'applied' && each.files !== null && each.revision !== revision)
    ?.revision;
}

interface RowProps {
  readonly of: Revision;
  /** The revision in force: several entries may have it. */
  readonly inForce: string;
  readonly before: string | undefined;
  readonly isOpen: boolean;
}

function Row({ of, inForce, before, isOpen }: RowProps): View {
  const { revision, time, outcome, in_force, pinned, commit, author, subject, problems, problem_count, files } = of;
  const [tone, word]: readonly [Tone, string] = pinned
    ? ['warn', 'Pinned']
    : in_force
      ? ['good', 'In force']
      : outcome === 'rejected'
        ? ['bad', 'Rejected']
        : ['plain', 'Was in force'];
  const canReturn = outcome === 'applied' && files !== null && revision !== inForce;
  const compare = (): void => setQuery(isOpen ? { from: undefined, to: undefined } : { from: before, to: revision });
  return html`<li class=${isOpen ? 'open' : undefined}>
    <div class="revision-head">
      <${Badge} tone=${tone}>${word}</${Badge}>
      <code>${revision}</code>
      <span class="quiet small"><${TimeText} at=${time} /></span>
      <span class="revision-actions">
        ${canReturn && html`<${PinButton} revision=${revision} text="Roll back to this" />`}
        ${before !== undefined && files !== null && html`<button class="plain" aria-expanded=${isOpen} onClick=${compare}>${isOpen ? 'Close' : 'Compare'}</button>`}
      </span>
    </div>
    <p class="revision-subject">
      ${subject ?? html`<span class="quiet">${commit === null ? 'No commit is known.' : 'No subject is known.'}</span>`}
      ${author !== null && html` <span class="quiet small">${author}</span>`}
      ${commit !== null && html` <code class="quiet small" title=${commit}>${commit.slice(0, 10)}</code>`}
    </p>
    <div class="badges"><${Counts} of=${of} /><${Verdicts} of=${of} /></div>
    ${
      problems.length > 0 &&
      html`<ul class="list small revision-problems">${problems.map((problem) => html`<li key=${problem}>${problem}</li>`)}
        ${problem_count > problems.length && html`<li class="quiet">and ${problem_count - problems.length} more</li>`}</ul>`
    }
  </li>`;
}

const tones: Readonly<Record<string, Tone>> = { loosened: 'warn', tightened: 'good', removed: 'bad' };

function Counts({ of: { changes, outcome } }: { readonly of: Revision }): View {
  if (changes === null) return html``;
  const counts = Object.entries(changes);
  if (counts.length === 0 && outcome === 'applied') return html`<${Badge}>no entry changed</${Badge}>`;
  return html`${counts.map(([kind, count]) => html`<${Badge} key=${kind} tone=${tones[kind] ?? 'info'}>${`${count} ${kind}`}</${Badge}>`)}`;
}

/** Of live proxies; who they are when the pointer rests on it. */
function Verdicts({ of }: { readonly of: Revision }): View {
  const live = of.proxies.filter((each) => each.live);
  const said = (['in_force', 'rejected'] as const).map((verdict) => live.filter((each) => each.verdict === verdict));
  const titleOf = (each: Verdict): string =>
    [`${each.instance} since ${localTime(parseTime(each.since))}`, ...each.problems].join('\n');
  const [inForce = [], rejected = []] = said;
  return html`${inForce.length > 0 && html`<${Badge} tone="good" title=${inForce.map(titleOf).join('\n')}>${`on ${proxies(inForce.length)}`}</${Badge}>`}
    ${rejected.length > 0 && html`<${Badge} tone="bad" title=${rejected.map(titleOf).join('\n')}>${`rejected by ${proxies(rejected.length)}`}</${Badge}>`}`;
}

const proxies = (count: number): string => `${count} ${count === 1 ? 'proxy' : 'proxies'}`;

interface ComparedProps {
  readonly of: readonly Revision[];
  readonly from: string | undefined;
  readonly to: string;
}

function Compared({ of, from, to }: ComparedProps): View {
  const query = from === undefined ? '' : `?${new URLSearchParams({ against: from }).toString()}`;
  const found = useLoad<Differences>(`${path}/${encodeURIComponent(to)}/changes${query}`);
  return html`<div class="revision-diff">
    <h3>What differs</h3>
    <div class="revision-sides">
      <${Side} label="From" of=${of} value=${from ?? found.body?.against ?? ''} onChange=${(revision: string) => setQuery({ from: revision })} />
      <${Side} label="To" of=${of} value=${to} onChange=${(revision: string) => setQuery({ to: revision })} />
    </div>
    <${Loaded} of=${found} what="the differences">${(body: Differences) => html`<${Difference} of=${body} />`}</${Loaded}>
  </div>`;
}

interface SideProps {
  readonly label: string;
  readonly of: readonly Revision[];
  readonly value: string;
  readonly onChange: (revision: string) => void;
}

/** Each content once, by its newest entry. */
function Side({ label, of, value, onChange }: SideProps): View {
  const once = [...new Map(of.toReversed().map((each) => [each.revision, each])).values()].toReversed();
  const known = once.filter(({ files }) => files !== null);
  const words = ({ revision, time, subject }: Revision): string =>
    [revision, localTime(parseTime(time)), (subject ?? '').slice(0, 40)].filter((part) => part !== '').join(' · ');
  return html`<label class="field"><span>${label}</span>
    <select value=${value} onChange=${(event: Event) => onChange(fieldText(event))}>
      ${known.map((each) => html`<option key=${each.revision} value=${each.revision} selected=${each.revision === value}>${words(each)}</option>`)}
    </select>
  </label>`;
}

function Difference({ of }: { readonly of: Differences }): View {
  const { files, complete } = of;
  return html`<${Changes} of=${of} />
    ${files.map((file) => html`<${FileDifference} key=${file.file} of=${file} sides=${['From', 'To']} />`)}
    ${files.length === 0 && html`<p class="quiet">The files are the same.</p>`}
    ${!complete && html`<p class="note small">There are more than five hundred differences; the others are not shown.</p>`}`;
}
