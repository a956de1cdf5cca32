// What comments say of an override: who set it, why, and until when. Pure.
import type { Override } from './override.ts';

/** A line each. */
export function saidOf({ updated_by: author, updated_at: since, reason, expires_at: end, ...of }: Override): string[] {
  const isKey = of.kind === 'key';
  const ends = isKey ? '' : '; an entry of the configuration has no end';
  return [
    isKey ? `issued as ${of.id}: ${of.name}` : '',
    author === undefined ? '' : `${isKey ? 'issued' : 'set'} by ${author}${since === undefined ? '' : ` on ${since}`}`,
    reason ?? '',
    end === undefined ? '' : `ends on ${end}${ends}`,
    of.declared_at === undefined ? '' : `stands in front of ${of.declared_at}`,
  ].flatMap((words) => (words === '' ? [] : [oneLine(words)]));
}

/** A text that stays within a comment. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}\p{Cs}]+/gu, ' ').trim();
}
