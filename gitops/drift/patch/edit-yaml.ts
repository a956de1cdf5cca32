// Changes of YAML as splices, so that comments and layout stay. What it cannot change by itself it leaves alone. Pure.
import { isDeepStrictEqual } from 'node:util';
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parse,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { Splice } from './splice.ts';

/** A file that is changed. */
export interface EditedText {
  readonly text: string;
  readonly document: Document;
  /** What its lines end with. */
  readonly eol: '\n' | '\r\n';
}

/** It is written in a way that cannot be changed here; a sentence without a full stop. */
export class NotEditable extends Error {}

type Values = Readonly<Record<string, unknown>>;

/** The splices after which a mapping has these members and no others; those that are equal stay as they are written. */
export function editMap(of: EditedText, map: YAMLMap, wanted: Values): Splice[] {
  refuseNamed(map);
  const pairs = map.items.map((pair) => ({ pair, key: keyOf(pair), value: plainValue(pair, of.document) }));
  const splices: Splice[] = [];
  const kept = pairs.filter(({ key }) => Object.hasOwn(wanted, key));
  if (kept.length === 0) throw new NotEditable('none of its members would stay');
  for (const [index, { pair, key, value }] of pairs.entries()) {
    if (!Object.hasOwn(wanted, key)) splices.push(removal(of, map, index));
    else if (!isDeepStrictEqual(value, wanted[key])) splices.push(replacement(of, map, pair, wanted[key]));
  }
  const known = new Set(pairs.map(({ key }) => key));
  const added = Object.entries(wanted).filter(([key]) => !known.has(key));
  if (added.length > 0) splices.push(addition(of, map, Object.fromEntries(added)));
  return splices;
}

/** The splice that adds an entry to a list, at its end, or before its first one. `above`: comments, a line each. */
export function insertItem(
  of: EditedText,
  list: YAMLSeq,
  [entry, above]: readonly [Values, readonly string[]],
  isFirst: boolean,
): Splice {
  refuseNamed(list);
  const [start, end] = rangeOf(list);
  const first = list.items[0];
  if (list.flow === true) {
    const text = flowText(entry);
    if (first === undefined) return { from: start + 1, to: start + 1, text };
    const place = isFirst ? rangeOf(first)[0] : rangeOf(list.items.at(-1))[1];
    return { from: place, to: place, text: isFirst ? `${text}, ` : `, ${text}` };
  }
  const indent = ' '.repeat(columnAt(of.text, start));
  const isFlow = list.items.length > 0 && list.items.every((item) => isMap(item) && item.flow === true);
  const said = above.map((line) => `${indent}# ${line}`);
  const body = isFlow ? [flowText(entry)] : blockLines(entry);
  const lines = [...said, ...body.map((line, index) => `${indent}${index === 0 ? '- ' : '  '}${line}`.trimEnd())];
  if (isFirst) return whole(of, lineStart(of.text, start), lines);
  return whole(of, end, lines);
}

/** The splice that takes an entry out of a list in block style that has others. */
export function removeItem(of: EditedText, list: YAMLSeq, index: number): Splice {
  refuseNamed(list);
  if (list.flow === true || list.items.length < 2)
    throw new NotEditable('its entry stands in a list that is written in one line');
  const [from] = rangeOf(list.items[index]);
  const dash = of.text.lastIndexOf('-', from);
  return {
    from: lineStart(of.text, dash),
    to: lineEnd(of.text, contentEnd(of.text, rangeOf(list.items[index])[1])),
    text: '',
  };
}

/** Whole lines at the beginning of a line, or behind a last line without an end. */
function whole({ text, eol }: EditedText, place: number, lines: readonly string[]): Splice {
  const isOpen = place > 0 && text[place - 1] !== '\n';
  return { from: place, to: place, text: isOpen ? `${eol}${lines.join(eol)}` : `${lines.join(eol)}${eol}` };
}

function replacement(of: EditedText, map: YAMLMap, pair: Pair, value: unknown): Splice {
  const node = nodeOf(pair);
  refuseNamed(node);
  const [from, rawEnd] = rangeOf(node);
  const to = contentEnd(of.text, rawEnd);
  const isLine = isScalar(node) && !of.text.slice(from, to).includes('\n');
  if (typeof value !== 'object' && isLine) return { from, to, text: scalarText(value) };
  if (map.flow === true || (!isScalar(node) && (node as YAMLMap).flow === true))
    return { from, to, text: flowText(value) };
  if (typeof value !== 'object') return { from, to, text: scalarText(value) };
  // What stood behind the key, or below it.
  const [, keyEnd] = rangeOf(pair.key);
  const colon = of.text.indexOf(':', keyEnd) + 1;
  if (of.text.slice(colon, from).includes('#')) throw new NotEditable('a comment stands between a key and its value');
  const indent = ' '.repeat(columnAt(of.text, rangeOf(map)[0]) + 2);
  const lines = blockLines(value as Values).map((line) => `${indent}${line}`.trimEnd());
  return { from: colon, to, text: `${of.eol}${lines.join(of.eol)}` };
}

function addition(of: EditedText, map: YAMLMap, members: Values): Splice {
  const last = map.items.at(-1);
  const end = rangeOf(last === undefined ? map : nodeOf(last))[1];
  if (map.flow === true) {
    const place = contentEnd(of.text, end);
    return { from: place, to: place, text: `, ${flowText(members).slice(2, -2)}` };
  }
  const indent = ' '.repeat(columnAt(of.text, rangeOf(map)[0]));
  const lines = blockLines(members).map((line) => `${indent}${line}`.trimEnd());
  return whole(of, rangeOf(map)[1], lines);
}

function removal(of: EditedText, map: YAMLMap, index: number): Splice {
  const pair = map.items[index] as Pair;
  const [from] = rangeOf(pair.key);
  const next = map.items[index + 1];
  // The first one may stand behind the hyphen of its entry.
  if (index === 0 && next !== undefined) return { from, to: rangeOf(next.key)[0], text: '' };
  const end = contentEnd(of.text, rangeOf(nodeOf(pair))[1]);
  if (map.flow !== true) return { from: lineStart(of.text, from), to: lineEnd(of.text, end), text: '' };
  return { from: rangeOf(nodeOf(map.items[index - 1] as Pair))[1], to: end, text: '' };
}

/** A text that has a name (`&name`) or stands for another one (`*name`) may be meant elsewhere, too. */
function refuseNamed(node: unknown): void {
  const of = node as { readonly anchor?: string; readonly source?: string } | null;
  if (of?.anchor !== undefined) throw new NotEditable(`it has a name (&${of.anchor}), so it may be used elsewhere`);
  if (!isMap(node) && !isSeq(node) && !isScalar(node)) throw new NotEditable('it stands for another text (*name)');
}

function keyOf({ key }: Pair): string {
  return isScalar(key) ? String(key.value) : '';
}

function nodeOf({ value }: Pair): Node {
  if (value === null || value === undefined) throw new NotEditable('a key of it has no value');
  return value as Node;
}

function plainValue({ value }: Pair, document: Document): unknown {
  return value === null || value === undefined ? null : (value as Node).toJS(document);
}

function rangeOf(node: unknown): readonly [start: number, end: number] {
  const { range } = node as Node;
  if (range === null || range === undefined) throw new NotEditable('its place is not known');
  return [range[0], range[1]];
}

/** Without the blanks and line ends behind a value. */
function contentEnd(text: string, end: number): number {
  let place = end;
  while (place > 0 && /\s/.test(text[place - 1] ?? '')) place -= 1;
  return place;
}

function lineStart(text: string, place: number): number {
  return text.lastIndexOf('\n', place - 1) + 1;
}

/** Behind the end of the line. */
function lineEnd(text: string, place: number): number {
  const end = text.indexOf('\n', place);
  return end === -1 ? text.length : end + 1;
}

function columnAt(text: string, place: number): number {
  return place - lineStart(text, place);
}

function blockLines(value: Values): string[] {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd().split('\n');
}

/** In one line. */
function flowText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flowText).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return scalarText(value);
  return `{ ${Object.entries(value)
    .map(([key, inner]) => `${scalarText(key)}: ${flowText(inner)}`)
    .join(', ')} }`;
}

function scalarText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  const isPlain = /^[A-Za-z/][\w./ -]*$/.test(value) && !value.endsWith(' ') && parse(value) === value;
  return isPlain ? value : JSON.stringify(value);
}
