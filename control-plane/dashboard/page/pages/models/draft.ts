// An alias as it is being written: the texts of the fields, the body and the YAML that they make. Pure.
import { entriesOf } from '../../parts/fields.ts';
import { yamlScalar } from '../../parts/yaml-text.ts';
import type { Alias } from './fleet.ts';

export interface TargetDraft {
  readonly model: string;
  readonly weight: string;
  /** What the window has no field for: it stays as it was. */
  readonly kept?: Pick<Alias['targets'][number], 'tier' | 'when'>;
}

/** The texts of the fields, by the names of the members that they fill in. */
export interface Draft {
  readonly source: string;
  readonly strategy: string;
  readonly targets: readonly TargetDraft[];
  readonly user_paths: string;
  readonly when: string;
  readonly description: string;
  readonly enabled: boolean;
  /** A time or a percentile is kept until the field is changed. */
  readonly hedge: Alias['hedge'];
  /** What the window has no field for: it stays as it was. */
  readonly kept?: Pick<Alias, 'rescue' | 'mirror'>;
}

export const strategies: readonly (readonly [value: string, text: string])[] = [
  ['round_robin', 'In turn, by weight'],
  ['failover', 'The first that works'],
  ['least_latency', 'The fastest'],
  ['cost', 'The cheapest'],
  ['session_affinity', 'One for a conversation, by weight'],
  ['least_busy', 'The least busy'],
  ['quota', 'The one with the most room left at its provider'],
];

/** The strategies that weights count for. */
export const weighted: ReadonlySet<string> = new Set(['round_robin', 'session_affinity', 'least_busy', 'quota']);

export function draftOf(alias: Alias | undefined): Draft {
  return {
    source: alias?.source ?? '',
    strategy: alias?.strategy ?? 'round_robin',
    targets: (alias?.targets ?? [{ model: '', weight: 1 }]).map(({ model, weight, ...kept }) => ({
      model,
      weight: String(weight),
      kept,
    })),
    user_paths: (alias?.user_paths ?? []).join('\n'),
    when: alias?.when ?? '',
    description: alias?.description ?? '',
    enabled: alias?.enabled ?? true,
    hedge: alias?.hedge ?? false,
    kept: {
      ...(alias?.rescue === undefined ? {} : { rescue: alias.rescue }),
      ...(alias?.mirror === undefined ? {} : { mirror: alias.mirror }),
    },
  };
}

/** The first mistake, found before anything is sent: the field and a sentence. */
export function mistakeIn({ source, targets }: Draft): readonly [field: string, message: string] | undefined {
  if (source.trim() === '') return ['source', 'Say the name that clients ask for.'];
  if (targets.every(({ model }) => model.trim() === '')) return ['targets', 'Say at least one model that it leads to.'];
  if (targets.some(({ weight }) => !/^[1-9]\d{0,6}$/.test(weight.trim())))
    return ['targets', 'A weight is a whole number from 1.'];
  return undefined;
}

/** The body of a PUT. `alias`: what it replaces, whose other settings stay. */
export function bodyOf(draft: Draft, alias: Alias | undefined): object {
  const { source, strategy, when, description, enabled, hedge } = draft;
  const paths = entriesOf(draft.user_paths);
  return {
    source: source.trim(),
    strategy,
    targets: targetsOf(draft),
    ...(paths.length === 0 ? {} : { user_paths: paths }),
    ...(when.trim() === '' ? {} : { when: when.trim() }),
    ...(description.trim() === '' ? {} : { description: description.trim() }),
    ...(alias?.retry === undefined ? {} : { retry: alias.retry }),
    enabled,
    hedge,
    ...draft.kept,
  };
}

function targetsOf({ targets }: Draft): Alias['targets'][number][] {
  return targets
    .filter(({ model }) => model.trim() !== '')
    .map(({ model, weight, kept }) => ({ model: model.trim(), weight: Number(weight), ...kept }));
}

function membersOf({ model, weight, tier, when }: Alias['targets'][number]): string[] {
  return [
    `model: ${yamlScalar(model)}`,
    ...(weight === 1 ? [] : [`weight: ${weight}`]),
    ...(tier === undefined ? [] : [`tier: ${tier}`]),
    ...(when === undefined ? [] : [`when: ${JSON.stringify(when)}`]),
  ];
}

/** The YAML that declares it, to be put into git. What JSON writes is YAML, too. */
export function yamlOf(draft: Draft): string {
  const paths = entriesOf(draft.user_paths);
  const targets = targetsOf(draft);
  const [only, ...others] = targets;
  const lines = [
    'aliases:',
    `  - source: ${yamlScalar(draft.source.trim())}`,
    ...(only !== undefined && others.length === 0 && only.tier === undefined && only.when === undefined
      ? [`    target: ${yamlScalar(only.model)}`]
      : [
          `    strategy: ${draft.strategy}`,
          '    targets:',
          ...targets.map((target) => `      - { ${membersOf(target).join(', ')} }`),
        ]),
    ...(paths.length === 0 ? [] : [`    user_paths: [${paths.map(yamlScalar).join(', ')}]`]),
    ...(draft.description.trim() === '' ? [] : [`    description: ${JSON.stringify(draft.description.trim())}`]),
    ...(draft.when.trim() === '' ? [] : [`    when: ${JSON.stringify(draft.when.trim())}`]),
    ...(draft.enabled ? [] : ['    enabled: false']),
    ...(draft.hedge ? [`    hedge: ${JSON.stringify(draft.hedge)}`] : []),
    ...Object.entries(draft.kept ?? {}).map(([name, value]) => `    ${name}: ${JSON.stringify(value)}`),
  ];
  return `${lines.join('\n')}\n`;
}
