// The form of an answer: JSON, or a table as CSV.
import { readChoice } from './read-query.ts';

/** `format` wins; without it CSV when `Accept` names it and does not prefer JSON. Throws 400 `invalid_query`. */
export function readForm(format: string | undefined, accept: string | undefined): 'json' | 'csv' {
  if (format !== undefined) return readChoice('format', format, ['json', 'csv']);
  const csv = weightOf('text/csv', accept);
  return csv > 0 && csv >= weightOf('application/json', accept) ? 'csv' : 'json';
}

/** How much a media type is wanted by name, from 0 to 1 (RFC 9110 12.5.1). */
function weightOf(type: string, accept: string = ''): number {
  for (const range of accept.toLowerCase().split(',')) {
    const [named, ...parameters] = range.split(';').map((part) => part.trim());
    if (named !== type) continue;
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return weight === undefined ? 1 : Number(weight) || 0;
  }
  return 0;
}
