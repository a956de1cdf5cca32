// A patch that puts what operators have set into the files of a configuration: a unified diff for `git apply`. Pure.
import { managedYaml } from '../../cli/managed-yaml.ts';
import type { SourceFile } from '../../read/read.ts';
import { isLimit, isListed, type Override, overrideNouns } from '../override.ts';
import { oneLine, saidOf } from '../said.ts';
import { NotEditable } from './edit-yaml.ts';
import { type Declarable, type Edit, editOf } from './edits.ts';
import { fileOf, keyOfEntry, type PatchedFile, type Places, placesIn, subjectKey } from './find-entries.ts';
import { meansTheSame } from './meaning.ts';
import { inTextOrder, spliced } from './splice.ts';
import { type DiffedText, diffedText, type Unshown, unifiedDiff } from './unified-diff.ts';

/** An override that the patch leaves out, and why: a sentence without a full stop. */
export interface LeftOut {
  readonly override: Override;
  readonly why: string;
}

export interface Patch {
  /** Empty: there is nothing to change. */
  readonly text: string;
  /** The names of the files that it changes or makes. */
  readonly changed: readonly string[];
  readonly taken: readonly Override[];
  readonly leftOut: readonly LeftOut[];
  /** All files as they are once it is applied. */
  readonly files: readonly SourceFile[];
}

/** Whether a line of a file, counted from 0, may be shown to whoever gets the patch. */
export type MayShow = (file: string, line: number) => boolean;

export interface PatchOptions {
  readonly mayShow: MayShow;
  /** The path of the directory in its repository, with a slash at its end; absent: that of the repository. */
  readonly prefix?: string;
}

/** Those that the configuration says by now, and those that it cannot say, are left out. */
export function patchOf(
  files: readonly SourceFile[],
  overrides: readonly Override[],
  { mayShow, prefix = '' }: PatchOptions,
): Patch {
  const leftOut: LeftOut[] = [];
  const wanted = overrides.filter((override): override is Declarable => {
    const why = override.in_git === true ? 'the configuration says the same by now' : override.kept_out;
    if (why !== undefined) leftOut.push({ override, why });
    return why === undefined && override.entry !== undefined;
  });
  const parsed = files.map(fileOf);
  const places = placesIn(parsed);
  const texts = new Map(parsed.map((file) => [file.name, diffedText(file.text)]));
  const edits: Edit[] = [];
  const fresh: Declarable[] = [];
  for (const override of wanted) {
    const edit = shownEdit(override, places, { texts, mayShow });
    if (typeof edit === 'string') leftOut.push({ override, why: edit });
    else if (edit === undefined) fresh.push(override);
    else if (edit.splices.length === 0) leftOut.push({ override, why: `${edit.file.name} says the same by now` });
    else edits.push(edit);
  }
  const diffs: string[] = [];
  const taken: Override[] = [];
  const after = new Map(files.map((file) => [file.name, file]));
  for (const [file, own] of Map.groupBy(edits, (edit) => edit.file)) {
    const changed = changeOf(file, own, { text: texts.get(file.name) ?? diffedText(file.text), mayShow, prefix });
    if (typeof changed === 'string') leftOut.push(...own.map(({ override }) => ({ override, why: changed })));
    else {
      diffs.push(changed.diff);
      taken.push(...own.map(({ override }) => override));
      after.set(file.name, {
        ...(after.get(file.name) ?? { name: file.name, path: file.name }),
        bytes: Buffer.from(changed.after),
      });
    }
  }
  if (fresh.length > 0) {
    const name = freeName(new Set(after.keys()));
    const text = managedYaml(fresh);
    diffs.push(
      unifiedDiff({ name: prefix + name, before: undefined, splices: [], after: text, mayShow: () => true }) as string,
    );
    taken.push(...fresh);
    after.set(name, { name, path: name, bytes: Buffer.from(text) });
  }
  const all = [...after.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  const changed = all.filter((file) => !files.includes(file)).map(({ name }) => name);
  return { text: diffs.length === 0 ? '' : `${headOf(taken)}${diffs.join('')}`, changed, taken, leftOut, files: all };
}

interface Shown {
  readonly texts: ReadonlyMap<string, DiffedText>;
  readonly mayShow: MayShow;
}

/** The edit whose lines may be shown; undefined: it needs a file of its own. A text: why there is none. */
function shownEdit(override: Declarable, places: Places, { texts, mayShow }: Shown): Edit | string | undefined {
  let unshown = '';
  for (const isFirst of [false, true]) {
    try {
      const edit = editOf(override, places, isFirst);
      const before = edit && texts.get(edit.file.name);
      if (edit === undefined || before === undefined) return undefined;
      const { name } = edit.file;
      const ordered = inTextOrder(edit.splices);
      if (ordered === undefined) return byHand(name, 'its changes overlap');
      const diff = unifiedDiff({ name, before, splices: ordered, after: '', mayShow: (line) => mayShow(name, line) });
      if (typeof diff === 'string') return edit;
      unshown = sayUnshown(name, diff);
    } catch (error) {
      if (!(error instanceof NotEditable)) throw error;
      return byHand(placeOf(override, places), error.message);
    }
  }
  return unshown;
}

function placeOf({ declared_at: place, entry }: Declarable, places: Places): string {
  const found = isLimit(entry) ? places.subjects.get(subjectKey(entry))?.[0] : places.entries.get(keyOfEntry(entry));
  return place ?? found?.file.name ?? 'the files';
}

function byHand(where: string, why: string): string {
  return `change ${where} by hand: ${why}`;
}

function sayUnshown(name: string, { line }: Unshown): string {
  return `line ${line} of ${name} may hold a secret or a comment, which is not shown; model-gateway export --patch DIR makes this change where the files lie`;
}

/** A file with the changes of several overrides; a text: why it cannot have them. */
function changeOf(
  file: PatchedFile,
  edits: readonly Edit[],
  { text, mayShow, prefix }: Required<PatchOptions> & { readonly text: DiffedText },
): { readonly diff: string; readonly after: string } | string {
  const { name } = file;
  const ordered = inTextOrder(edits.flatMap(({ splices }) => splices));
  if (ordered === undefined) return byHand(name, 'the changes overlap; take them one by one');
  const after = spliced(file.text, ordered);
  const result = fileOf({ name, bytes: Buffer.from(after) });
  if (result.document.errors.length > 0) return byHand(name, 'it is written in a way that cannot be changed here');
  const places = placesIn([result]);
  if (!edits.every(({ override }) => isSaid(override, places)))
    return byHand(name, 'it is written in a way that cannot be changed here');
  const diff = unifiedDiff({
    name: prefix + name,
    before: text,
    splices: ordered,
    after,
    mayShow: (line) => mayShow(name, line),
  });
  return typeof diff === 'string' ? { diff, after } : sayUnshown(name, diff);
}

/** Whether the files say what the operator has set. */
function isSaid({ entry }: Declarable, { limits, entries }: Places): boolean {
  const key = keyOfEntry(entry);
  const limit = limits.get(key);
  const found = isLimit(entry) ? limit && { file: limit.subject.file, map: limit.map } : entries.get(key);
  if (found === undefined) return false;
  const said = found.map.toJS(found.file.document) as Readonly<Record<string, unknown>>;
  if (isLimit(entry)) return limit?.subject.isTemplate === entry.per_child && meansTheSame(entry, said, entry.limit);
  if (isListed(entry)) return meansTheSame(entry, said, entry.entry);
  return Object.entries(entry.settings).every(([name, value]) => said[name] === value);
}

function freeName(taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? 'manual.yaml' : `manual-${number}.yaml`;
    if (!taken.has(name)) return name;
  }
}

/** The most overrides that the head names. */
const mostNamed = 100;

/** What git passes over: who has set what, and why. */
function headOf(taken: readonly Override[]): string {
  const lines = taken.slice(0, mostNamed).map((override) => {
    const { kind, name } = override;
    return `# ${overrideNouns[kind][0]} ${oneLine(name)}: ${saidOf(override).join('; ')}`;
  });
  const more = taken.length - mostNamed;
  return [...lines, ...(more > 0 ? [`# and ${more} more`] : []), ''].join('\n');
}
