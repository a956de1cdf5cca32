// Says what a translation took over, what it could not, what is to be decided, and which variables to set.
import type { Draft, DraftProvider, Note } from './draft.ts';
import { isDiscovering } from './provider-book.ts';
import { commentOf, sayable } from './write-yaml.ts';

/** The most lines of a part. */
const most = 200;

/** What was taken over, in a line. */
export function summarize(draft: Draft): string {
  const counts = [
    count(draft.providers.length, 'provider'),
    count(draft.aliases.length, 'alias', 'aliases'),
    count(draft.modelLimits.size + draft.pathLimits.size, 'rate limit'),
    count(draft.budgets.size, 'budget'),
    count(draft.guardrails.length, 'guardrail'),
    ...(draft.cache === undefined ? [] : ['the cache']),
  ].filter((each) => each !== '');
  return counts.length === 0 ? 'nothing' : counts.join(', ');
}

function count(number: number, one: string, many = `${one}s`): string {
  if (number === 0) return '';
  return `${number} ${number === 1 ? one : many}`;
}

/** The parts of the report, each with its title; empty parts are left out. */
export function report(draft: Draft): string[] {
  const notes = (kind: Note['kind']): string[] => draft.notes.filter((note) => note.kind === kind).map(commentOf);
  return [
    ...part('Taken over', [...draft.providers.map(sayProvider), ...draft.aliases.map(sayAlias)]),
    ...part('Without a counterpart', notes('lost')),
    ...part('To decide', notes('decide')),
    ...variablesOf(draft),
  ];
}

/** The variables that the proxy needs. */
export function variablesOf({ variables, providers }: Draft): string[] {
  const text = JSON.stringify(providers.map(({ traits }) => traits));
  const used = [...variables].filter(([name]) => text.includes(`\${${name}}`) || text.includes(`\${${name}:`));
  const lines = used.map(([name, { where, isWrittenOut }]) =>
    isWrittenOut ? `${name}: the secret that is written out at ${where}; remove it there` : `${name}: ${where}`,
  );
  return part('Variables to set for the proxy', lines);
}

function part(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const more = lines.length - most;
  return [
    `${title} (${lines.length})`,
    ...lines.slice(0, most).map((line) => `  ${sayable(line)}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
    '',
  ];
}

function sayProvider(provider: DraftProvider): string {
  const { name, traits, models } = provider;
  const listed = isDiscovering(provider) ? 'the models that it lists' : count(models.size, 'model');
  return `provider ${name} (${traits.type}): ${listed}`;
}

function sayAlias({ source, targets, strategy }: Draft['aliases'][number]): string {
  const shown = targets.slice(0, 5).map(({ model, weight }) => (weight === undefined ? model : `${model} ×${weight}`));
  const more = targets.length > 5 ? `, and ${targets.length - 5} more` : '';
  return `alias ${source} → ${shown.join(', ')}${more}${strategy === undefined ? '' : ` (${strategy})`}`;
}
