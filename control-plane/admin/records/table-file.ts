// A table as a file that spreadsheets open.
import { Readable } from 'node:stream';
import type { Days } from '../../../domain/records/buckets.ts';
import { dayText } from '../../../schemas/formats/calendar.ts';
import type { Table } from './table.ts';

export interface TableFile {
  readonly headers: Readonly<Record<string, string>>;
  /** An export that cannot be completed cuts the connection, so that it is never taken for a complete one. */
  readonly body: Readable;
}

export function tableFile(name: string, { first, last }: Days, { isTruncated, parts }: Table): TableFile {
  const file = `${name}-${dayText(first)}-${dayText(last)}.csv`;
  return {
    headers: {
      ...truncatedHeader(isTruncated),
      'content-disposition': `attachment; filename="${file}"`,
      'content-type': 'text/csv; charset=utf-8',
    },
    body: Readable.from(parts),
  };
}

/** Says that rows were left out. */
export function truncatedHeader(isTruncated: boolean): Record<string, string> {
  return isTruncated ? { 'x-gateway-truncated': 'true' } : {};
}
