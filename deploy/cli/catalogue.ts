// `model-gateway catalogue diff`: what a newer file of facts of models would change.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type CatalogueChange, compareCatalogues } from '../../domain/models/compare-catalogues.ts';
import { type Catalogue, type ModelFacts, modelCatalogue } from '../../domain/models/model-facts.ts';
import { config as isConfig } from '../../schemas/validation/generated/config.js';
import type { Outcome } from './commands.ts';

export const catalogueUsage = 'diff FILE [--json]';
export const catalogueHelp = `usage: model-gateway catalogue ${catalogueUsage}

Says what the catalogue in FILE, such as domain/models/model-catalogue.json of a newer version, would add, remove or change of what this
version knows of models: context window, longest answer, modalities, tools, reasoning and the day on which their provider ends them. Nothing is
changed.

  --json   one object: from, to and changes[] with type, id, before and after

exit code: 0 done, 1 the file cannot be read, 2 the command itself is wrong`;

const options = { json: { type: 'boolean', default: false } } as const;

export function catalogue(args: readonly string[]): Outcome {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [verb, file, ...others] = positionals;
  if (verb !== 'diff' || file === undefined || others.length > 0)
    return { output: `usage: model-gateway catalogue ${catalogueUsage}`, code: 2 };
  const other = readCatalogue(file);
  const changes = compareCatalogues(modelCatalogue, other);
  const from = modelCatalogue.date;
  if (values.json) return { output: JSON.stringify({ from, to: other.date, changes }, null, 2), code: 0 };
  const lines = changes.map(inWords);
  return { output: [`${from} to ${other.date}: ${changes.length} models differ`, ...lines].join('\n'), code: 0 };
}

/** Throws an `Error` that names the file and what is wrong with it. */
function readCatalogue(file: string): Catalogue {
  let read: Partial<Catalogue>;
  try {
    read = JSON.parse(readFileSync(file, 'utf8')) as Partial<Catalogue>;
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
  const { date, models } = read ?? {};
  if (typeof date !== 'string' || typeof models !== 'object' || models === null)
    throw new Error(
      `${file} is no catalogue of models: it has no date and models, as domain/models/model-catalogue.json has`,
    );
  for (const [type, groups] of Object.entries(models)) {
    if (!Array.isArray(groups)) throw new Error(`${file}: models.${type} must be a list`);
    for (const [index, group] of groups.entries()) {
      const problem = problemOf(type, group);
      if (problem !== undefined) throw new Error(`${file}: models.${type}[${index}] ${problem}`);
    }
  }
  return { date, source: read.source ?? '', models };
}

/** Facts are those that a configuration may have. */
function problemOf(type: string, group: unknown): string | undefined {
  const { ids, ...facts } = (group ?? {}) as { ids?: unknown };
  if (!Array.isArray(ids) || ids.length === 0) return 'must have the ids of its models';
  const models = ids.map((id: unknown) => ({ id, ...facts }));
  if (isConfig({ providers: { checked: { type, models } } })) return undefined;
  const { instancePath = '', message = '' } = isConfig.errors?.[0] ?? {};
  return `${instancePath.replace(/^\/providers\/checked\/?(models\/\d+\/?)?/, '')} ${message}`.trim();
}

function inWords({ type, id, before, after }: CatalogueChange): string {
  if (before === undefined) return `+ ${type}/${id}: ${wordsOf(after ?? {})}`;
  if (after === undefined) return `- ${type}/${id}`;
  const names = new Set([...Object.keys(before), ...Object.keys(after)] as (keyof ModelFacts)[]);
  return `~ ${type}/${id}: ${[...names].map((name) => `${name} ${said(before[name])} → ${said(after[name])}`).join(', ')}`;
}

function wordsOf(facts: ModelFacts): string {
  return Object.entries(facts)
    .map(([name, fact]) => `${name} ${said(fact)}`)
    .join(', ');
}

function said(fact: ModelFacts[keyof ModelFacts]): string {
  return fact === undefined ? 'unknown' : String(fact);
}
