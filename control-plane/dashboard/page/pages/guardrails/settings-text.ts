// Between the settings of a guardrail and the texts of their fields. Pure.
import type { Kind } from './guardrail.ts';
import { type SettingField, settingFields } from './settings.ts';

/** Texts by the name of the setting. */
export type Texts = Readonly<Record<string, string>>;

/** The fields of a kind, in their order. `asJson`: settings that are written as JSON, whatever their type. */
export function fieldsOf(kind: Kind, asJson: readonly string[]): readonly (readonly [name: string, SettingField])[] {
  const fields: Readonly<Record<string, SettingField>> = settingFields[kind];
  return Object.entries(fields).map(([name, field]) => [
    name,
    asJson.includes(name) ? { ...field, type: 'json', label: `${field.label}, as JSON` } : field,
  ]);
}

/** The initial texts of a new guardrail of a kind. */
export function beginningOf(kind: Kind): Texts {
  return Object.fromEntries(fieldsOf(kind, []).map(([name, { begin = '' }]) => [name, begin]));
}

export interface Written {
  readonly texts: Texts;
  /** The settings that their fields cannot show, such as an entry with a line break. */
  readonly asJson: readonly string[];
}

/** The initial texts of an existing guardrail. */
export function writtenOf(kind: Kind, settings: Readonly<Record<string, unknown>>): Written {
  const given = fieldsOf(kind, []).filter(([name]) => settings[name] !== undefined);
  const isSaid = ([name, field]: (typeof given)[number]): boolean =>
    JSON.stringify(settingOf(field, settingText(field, settings[name]))) === JSON.stringify(settings[name]);
  const asJson = given.filter((each) => !isSaid(each)).map(([name]) => name);
  const texts = fieldsOf(kind, asJson).map(([name, field]) => [name, settingText(field, settings[name])]);
  return { texts: Object.fromEntries(texts) as Texts, asJson };
}

/** The settings that the texts make. */
export function settingsOf(kind: Kind, { texts, asJson }: Written): Readonly<Record<string, unknown>> {
  const values = fieldsOf(kind, asJson).map(([name, field]) => [name, settingOf(field, texts[name] ?? '')] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** The first mistake, found before anything is sent: the name of the setting and a sentence. */
export function mistakeInSettings(
  kind: Kind,
  { texts, asJson }: Written,
): readonly [name: string, message: string] | undefined {
  for (const [name, field] of fieldsOf(kind, asJson)) {
    const text = (texts[name] ?? '').trim();
    if (text === '' && field.isRequired === true) return [name, `${field.label}: this is needed.`];
    if (field.type === 'number' && !/^\d{0,15}$/.test(text)) return [name, 'Write a whole number.'];
    if (field.type === 'json' && text !== '' && settingOf(field, text) === undefined) return [name, 'This is no JSON.'];
  }
  return undefined;
}

function settingText({ type }: SettingField, value: unknown): string {
  if (value === undefined) return '';
  if (type === 'json') return JSON.stringify(value, undefined, 2);
  if (Array.isArray(value)) return value.join('\n');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Undefined: the setting is not given. */
function settingOf({ type }: SettingField, text: string): unknown {
  if (type === 'check') return text === 'true';
  if (type === 'text' || type === 'words') return text;
  if (text.trim() === '') return undefined;
  if (type === 'number') return Number(text);
  if (type === 'json') return parsed(text);
  return type === 'choice' ? text : linesOf(text);
}

/** Blanks around a line are no part of an entry. */
function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
