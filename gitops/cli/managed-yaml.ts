// The YAML that declares what operators have set: entries as the schemas of the configuration have them. Pure.
import { Document, isMap, isSeq, type YAMLSeq } from 'yaml';
import { asWritten } from '../drift/literal.ts';
import {
  type Entry,
  isLimit,
  isListed,
  type LimitEntry,
  type Override,
  overrideNouns,
  subjectMembers,
} from '../drift/override.ts';
import { oneLine, saidOf } from '../drift/said.ts';

/** How YAML is written: no text over several lines, no names for what is there twice. */
export const plainYaml = { lineWidth: 0, aliasDuplicateObjects: false } as const;

type With<Of extends Entry> = Override & { readonly entry: Of };

/** A file of the configuration. What the configuration cannot say becomes a comment. */
export function managedYaml(overrides: readonly Override[]): string {
  const [own, others] = [overrides.filter(({ entry }) => entry), overrides.filter(({ entry }) => !entry)];
  const document = new Document({}, { aliasDuplicateObjects: false });
  document.commentBefore = ' What operators have set outside git.';
  for (const override of own) {
    const { entry } = override;
    if (entry === undefined || isLimit(entry)) continue;
    if (isListed(entry)) addListed(document, entry.section, { ...override, entry });
    else setWindows(document, { ...override, entry });
  }
  addLimits(
    document,
    own.filter((each): each is With<LimitEntry> => each.entry !== undefined && isLimit(each.entry)),
  );
  if (others.length > 0) document.comment = sayKeptOut(others).join('\n');
  return document.toString(plainYaml);
}

/** What the file does not declare, a line each; the lines begin with a blank. */
export function sayKeptOut(overrides: readonly Override[]): string[] {
  return [
    '',
    ' Not in this file, because the configuration cannot say it:',
    ...overrides.map(({ kind, name, kept_out: why = '', ...of }) => {
      const said = saidOf({ ...of, kind, name }).map((words) =>
        words.replace('; an entry of the configuration has no end', ''),
      );
      return ` - ${overrideNouns[kind][0]} ${oneLine(name)}: ${oneLine([why, ...said].join('; '))}`;
    }),
  ];
}

function addLimits(document: Document, overrides: readonly With<LimitEntry>[]): void {
  const bySubject = Map.groupBy(overrides, ({ entry: { section, list, subject, per_child: perChild } }) =>
    JSON.stringify([section, list, subject, perChild]),
  );
  const sections = new Map<string, Map<string, object[]>>();
  for (const own of bySubject.values()) {
    const [first] = own;
    if (first === undefined) continue;
    const { section, list, subject, per_child: perChild } = first.entry;
    const lists = sections.get(section) ?? new Map<string, object[]>();
    sections.set(section, lists);
    const node = document.createNode(
      asWritten({
        [subjectMembers[list]]: subject,
        ...(perChild ? { per_child: true } : {}),
        limits: own.map(({ entry }) => entry.limit),
      }),
    );
    const limits = node.get('limits');
    if (isSeq(limits)) for (const [index, each] of own.entries()) comment(limits.items[index], each);
    lists.set(list, [...(lists.get(list) ?? []), node]);
  }
  for (const [section, lists] of sections)
    for (const [list, nodes] of lists) {
      const seq = document.createNode([]) as YAMLSeq;
      seq.flow = false;
      seq.items = nodes;
      document.setIn([section, list], seq);
    }
}

function addListed(document: Document, section: string, override: Override & { readonly entry: Entry }): void {
  if (!isListed(override.entry)) return;
  if (!document.has(section)) document.set(section, document.createNode([]));
  const node = document.createNode(asWritten(override.entry.entry));
  comment(node, override);
  const list = document.get(section);
  if (isSeq(list)) list.add(node);
}

function setWindows(document: Document, override: Override & { readonly entry: Entry }): void {
  if (!('settings' in override.entry)) return;
  const node = document.createNode(override.entry.settings);
  comment(node, override);
  document.setIn(['budgets', 'settings'], node);
}

function comment(node: unknown, override: Override): void {
  const words = saidOf(override);
  if (words.length > 0 && isMap(node)) node.commentBefore = words.map((each) => ` ${each}`).join('\n');
}
