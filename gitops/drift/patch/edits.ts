// The changes of files by which they say what an operator has set. Pure.

import { asWritten } from '../literal.ts';
import type { Entry, LimitEntry, Override } from '../override.ts';
import { isLimit, isListed, subjectMembers } from '../override.ts';
import { saidOf } from '../said.ts';
import { editMap, insertItem, NotEditable, removeItem } from './edit-yaml.ts';
import { keyOfEntry, type PatchedFile, type Places, type SubjectPlace, subjectKey } from './find-entries.ts';
import { membersFor } from './meaning.ts';
import type { Splice } from './splice.ts';

export type Declarable = Override & { readonly entry: Entry };

/** The changes of one file for one override. */
export interface Edit {
  readonly override: Declarable;
  readonly file: PatchedFile;
  readonly splices: readonly Splice[];
}

/** The edit in the file that has the entry, or the subject of the limit; undefined: no file has it. `isFirst`: what is added comes before what is there. Throws `NotEditable`. */
export function editOf(override: Declarable, places: Places, isFirst: boolean): Edit | undefined {
  const { entry } = override;
  if (isLimit(entry)) return editOfLimit({ ...override, entry }, places, isFirst);
  const found = places.entries.get(keyOfEntry(entry));
  if (found === undefined) return undefined;
  const { file, map } = found;
  const written = map.toJS(file.document) as Readonly<Record<string, unknown>>;
  const wanted = isListed(entry) ? membersFor(entry, written, entry.entry) : { ...written, ...entry.settings };
  return { override, file, splices: editMap(file, map, wanted) };
}

function editOfLimit(
  override: Declarable & { readonly entry: LimitEntry },
  places: Places,
  isFirst: boolean,
): Edit | undefined {
  const { entry } = override;
  const { per_child: isTemplate, limit } = entry;
  const subjects = places.subjects.get(subjectKey(entry)) ?? [];
  const found = places.limits.get(keyOfEntry(entry));
  const problem = subjects.find((each) => each.problem !== undefined)?.problem;
  if (problem !== undefined) throw new NotEditable(problem);
  if (found === undefined) {
    const home = subjects.find((each) => each.isTemplate === isTemplate);
    const [beside] = subjects;
    if (home !== undefined) return added(override, home, isFirst);
    return beside && { override, file: beside.file, splices: [besideOf(override, beside, isFirst)] };
  }
  const { subject, map, index } = found;
  const { file } = subject;
  const written = map.toJS(file.document) as Readonly<Record<string, unknown>>;
  const edit = (): Splice[] => editMap(file, map, membersFor(entry, written, limit));
  if (subject.isTemplate === isTemplate) return { override, file, splices: edit() };
  const { limits } = subject;
  if (limits !== undefined && limits.items.length > 1) {
    const splices = [removeItem(file, limits, index), besideOf(override, subject, isFirst)];
    return { override, file, splices };
  }
  const of = subject.map.toJS(file.document) as Readonly<Record<string, unknown>>;
  const { per_child: _, ...plain } = of;
  return {
    override,
    file,
    splices: [...editMap(file, subject.map, isTemplate ? { ...of, per_child: true } : plain), ...edit()],
  };
}

function added(override: Declarable & { readonly entry: LimitEntry }, home: SubjectPlace, isFirst: boolean): Edit {
  if (home.limits === undefined) throw new NotEditable('its limits are not a list');
  const item = [asWritten(override.entry.limit), saidOf(override)] as const;
  return { override, file: home.file, splices: [insertItem(home.file, home.limits, item, isFirst)] };
}

/** Another entry of the same subject: one is a template, the other is none. */
function besideOf(
  override: Declarable & { readonly entry: LimitEntry },
  { file, list }: SubjectPlace,
  isFirst: boolean,
): Splice {
  const { list: name, subject, per_child: isTemplate, limit } = override.entry;
  const entry = asWritten({
    [subjectMembers[name]]: subject,
    ...(isTemplate ? { per_child: true } : {}),
    limits: [limit],
  });
  return insertItem(file, list, [entry, saidOf(override)], isFirst);
}
