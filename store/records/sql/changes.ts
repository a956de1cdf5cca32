// Which records are changes: writes of operators and reloads of the configuration, which stand under /admin, where no client asks a model.
import type { RequestRecord } from '../../../domain/records/request-record.ts';
import { type Condition, condition } from './condition.ts';

const place = '/admin/';

export function isChange({ path }: Pick<RequestRecord, 'path'>): boolean {
  return path.startsWith(place);
}

/** Of the table `combo`: changes alone, or all but them. */
export function areChanges(are: boolean): Condition {
  return condition(`substr(combo.path, 1, ${place.length}) ${are ? '=' : '<>'} '${place}'`);
}
